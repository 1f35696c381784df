package lint

import (
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

var fieldDestination = []string{"spec", "destination"}

var ruleDestinationInvalid = Rule{
	Rule: plan.Rule{
		Name: "destination-invalid", Kind: plan.Ordering, Severity: plan.Error,
		Means: "The destination of an Application has both a server and a name, or neither. Argo CD refuses the Application " +
			"(InvalidSpecError), and never syncs it.",
		Cure: "Set one of destination.server and destination.name.",
	},
	Family: Prerequisites,
	Why:    "GetDestinationCluster in util/argo/argo.go, read in 3.2.11 to 3.5.6.",
	check: func(p *pass) {
		for _, app := range p.applications() {
			switch name, server := destination(app); {
			case name != "" && server != "":
				p.find(app, fieldDestination, "the destination has both the name %s and the server %s", name, server)
			case name == "" && server == "":
				p.find(app, fieldDestination, "the destination has neither a name nor a server")
			}
		}
	},
}

func destination(app *plan.Application) (name, server string) {
	d := manifest.Map(app.Object, "spec", "destination")
	return manifest.String(d, "name"), manifest.String(d, "server")
}

var ruleDestinationUnknown = Rule{
	Rule: plan.Rule{
		Name: "destination-unknown", Kind: plan.Ordering, Severity: plan.Error,
		Means: "Argo CD does not know the cluster that an Application is for. It refuses the Application (InvalidSpecError) until " +
			"somebody adds the cluster.",
		Cure: "Correct the name or the server, add the cluster, or list it in the file of --clusters.",
	},
	Family: Prerequisites,
	Why: "A destination must be the cluster that Argo CD runs in, or one with a Secret (GetDestinationCluster in util/argo/argo.go, read " +
		"in 3.2.11). The clusters are those of --clusters.",
	check: func(p *pass) {
		for _, app := range p.applications() {
			name, server := destination(app)
			if name != "" && server != "" || p.Clusters.Local(name, server) || listed(p.Clusters, name, server) {
				continue
			}
			if p.has(plan.RuleClusterUnknown, app.Name) {
				continue
			}
			if !p.ClustersKnown {
				p.miss("%s is for the cluster %s; list all clusters with --clusters", app.Name, name+server)
				continue
			}
			p.find(app, fieldDestination, "no cluster %s is known", name+server)
		}
	},
}

// listed reports whether a cluster is in a list.
func listed(clusters generator.ClusterList, name, server string) bool {
	return slices.ContainsFunc(clusters, func(c generator.Cluster) bool {
		return name != "" && c.Name == name || server != "" && strings.TrimSuffix(c.Server, "/") == strings.TrimSuffix(server, "/")
	})
}
