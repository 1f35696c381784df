package argo_test

import (
	"testing"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

func TestPermits(t *testing.T) {
	const (
		all       = "{sourceRepos: ['*'], destinations: [{server: '*', namespace: '*'}]}"
		noSource  = "{sourceRepos: ['https://other/*'], destinations: [{server: '*', namespace: '*'}]}"
		noPlace   = "{sourceRepos: ['*'], destinations: [{server: '*', namespace: other}]}"
		byName    = "{sourceRepos: ['*'], destinations: [{name: other, namespace: '*'}, {name: '!bad', namespace: '*'}]}"
		ownOnly   = "{sourceRepos: ['*'], destinations: [{server: '*', namespace: '*'}], permitOnlyProjectScopedClusters: true}"
		badSource = "{sourceRepos: ['*', '!https://git/x'], destinations: [{server: '*', namespace: other}]}"
		badPlace  = "{destinations: [{server: '*', namespace: '*'}, {server: '*', namespace: '!web'}]}"
		secrets   = "its rules do not, but a Secret of Argo CD may, and Secrets are not read"
		global    = "its own rules do not, but globalProjects may"
		another   = "it is another cluster, of which only the name or the URL is known"
		scoped    = "it permits only its own clusters, which are in Secrets of Argo CD"
	)
	owned := func(what string) func(string, argo.SecretType, string) bool {
		return func(project string, kind argo.SecretType, url string) bool {
			return project+" "+string(kind)+" "+url == what
		}
	}
	here := argo.Destination{Server: argo.InClusterServer, Name: argo.InClusterName, Known: true, Namespace: "web"}
	far := argo.Destination{Server: "https://far", Namespace: "web"}
	for name, c := range map[string]struct {
		spec      string
		namespace string
		to        argo.Destination
		in        argo.Installation
		want      argo.Permission
	}{
		"everything":                       {spec: all},
		"Argo CD's namespace":              {spec: all, namespace: "argocd"},
		"another namespace":                {spec: all, namespace: "team", want: argo.Permission{Refused: argo.PartNamespace}},
		"another namespace, global rules":  {spec: all, namespace: "team", in: argo.Installation{GlobalProjects: true}, want: argo.Permission{Refused: argo.PartNamespace}},
		"a repository":                     {spec: noSource, in: argo.Installation{Owned: owned("")}, want: argo.Permission{Refused: argo.PartRepository}},
		"a repository, unknown Secrets":    {spec: noSource, want: argo.Permission{Refused: argo.PartRepository, Doubt: secrets}},
		"a repository, global rules":       {spec: noSource, in: argo.Installation{GlobalProjects: true, Owned: owned("")}, want: argo.Permission{Refused: argo.PartRepository, Doubt: global}},
		"its own repository":               {spec: noSource, in: argo.Installation{Owned: owned("p repository https://git/x")}},
		"another project's repository":     {spec: noSource, in: argo.Installation{Owned: owned("q repository https://git/x")}, want: argo.Permission{Refused: argo.PartRepository}},
		"a repository that is denied":      {spec: badSource, want: argo.Permission{Refused: argo.PartRepository}},
		"denied beats global and own":      {spec: badSource, in: argo.Installation{GlobalProjects: true, Owned: owned("p repository https://git/x")}, want: argo.Permission{Refused: argo.PartRepository}},
		"a destination":                    {spec: noPlace, in: argo.Installation{Owned: owned("")}, want: argo.Permission{Refused: argo.PartDestination}},
		"a destination, unknown Secrets":   {spec: noPlace, want: argo.Permission{Refused: argo.PartDestination, Doubt: secrets}},
		"its own cluster":                  {spec: noPlace, in: argo.Installation{Owned: owned("p cluster " + argo.InClusterServer)}},
		"only own clusters":                {spec: ownOnly, want: argo.Permission{Refused: argo.PartDestination, Doubt: scoped}},
		"another cluster":                  {spec: all, to: far},
		"another cluster, without a name":  {spec: byName, to: far, want: argo.Permission{Refused: argo.PartDestination, Doubt: another}},
		"a certain refusal beats a doubt":  {spec: badPlace, want: argo.Permission{Refused: argo.PartDestination}},
		"the first doubt":                  {spec: "{}", want: argo.Permission{Refused: argo.PartRepository, Doubt: secrets}},
		"no rules, and Secrets are known":  {spec: "{}", in: argo.Installation{Owned: owned("")}, want: argo.Permission{Refused: argo.PartRepository}},
		"sourceNamespaces permit the team": {spec: "{sourceRepos: ['*'], destinations: [{server: '*', namespace: '*'}], sourceNamespaces: ['te*']}", namespace: "team"},
	} {
		t.Run(name, func(t *testing.T) {
			o := object(t, "{apiVersion: argoproj.io/v1alpha1, kind: AppProject, metadata: {name: p}, spec: "+c.spec+"}")
			s := argo.Subject{Namespace: c.namespace, Sources: []map[string]any{{"repoURL": "https://git/x"}}, Destination: c.to}
			if c.to == (argo.Destination{}) {
				s.Destination = here
			}
			c.in.Namespace = "argocd"
			if got := argo.NewProject(o).Permits(s, c.in); got != c.want {
				t.Errorf("%+v", got)
			}
		})
	}
}

// object decodes a manifest.
func object(t *testing.T, text string) manifest.Object {
	t.Helper()
	docs, err := manifest.Decode("x.yaml", []byte(text))
	if err != nil || len(docs) != 1 {
		t.Fatal(err, len(docs))
	}
	return docs[0].Object
}
