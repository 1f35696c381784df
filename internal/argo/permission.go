package argo

import "github.com/argosy-cd/argosy/internal/manifest"

// Part is a part of an Application that its project permits or not, for messages.
type Part string

// Parts of an Application.
const (
	PartNamespace   Part = "Applications in the namespace"
	PartRepository  Part = "the repository of a source" // not which: a URL may have a password in it
	PartDestination Part = "the destination"
)

// Permission is whether a project permits something: it is permitted, refused, or that is not known. The zero Permission is: permitted.
type Permission struct {
	// Refused is what the rules of the project do not permit, "" if they permit everything.
	Refused Part
	// Doubt says why Argo CD may permit Refused after all, "" if it does not.
	Doubt string
}

// Installation is what Argo CD adds to the rules of its projects.
type Installation struct {
	// Namespace is that of Argo CD.
	Namespace string
	// GlobalProjects says that projects inherit from others (globalProjects), which are not read.
	GlobalProjects bool
	// Owned reports whether a Secret gives a project the repository or the cluster with a URL. Nil if the Secrets are not known.
	Owned func(project string, kind SecretType, url string) bool
}

// owned reports whether a Secret is known to give a project something.
func (in Installation) owned(p Project, kind SecretType, url string) bool {
	return in.Owned != nil && in.Owned(p.Name, kind, url)
}

// refuse is the answer for a part that no rule of a project permits.
func (in Installation) refuse(part Part) Permission {
	switch {
	case in.GlobalProjects:
		return Permission{part, "its own rules do not, but globalProjects may"}
	case in.Owned == nil:
		return Permission{part, "its rules do not, but a Secret of Argo CD may, and Secrets are not read"}
	}
	return Permission{Refused: part}
}

// Destination is where an Application or an object is deployed to.
type Destination struct {
	// Server and Name are the URL and the name of the cluster.
	Server, Name string
	// Known says that both of them are known. Otherwise one may be "".
	Known bool
	// Namespace is in the cluster.
	Namespace string
}

// Subject is what a project must permit of an Application.
type Subject struct {
	// Namespace is that of the Application, "" is that of Argo CD.
	Namespace string
	// Sources are those that Argo CD deploys.
	Sources     []map[string]any
	Destination Destination
}

// Permits says whether the project permits an Application, as Argo CD 3.2 does (GetAppProject and ValidatePermissions in
// util/argo/argo.go): repositories and clusters of the project's own Secrets, and the rules of global projects, are added to its rules.
// A refusal that is certain comes before a doubt. Rules of global projects that forbid are not considered.
func (p Project) Permits(s Subject, in Installation) Permission {
	if s.Namespace != "" && s.Namespace != in.Namespace && !p.AllowsNamespace(s.Namespace) {
		return Permission{Refused: PartNamespace}
	}
	var doubt Permission
	for _, source := range s.Sources {
		switch answer := p.permitsSource(manifest.String(source, "repoURL"), in); {
		case answer.Refused != "" && answer.Doubt == "":
			return answer
		case doubt.Refused == "":
			doubt = answer
		}
	}
	if answer := p.PermitsDestination(s.Destination, in); doubt.Refused == "" || answer.Refused != "" && answer.Doubt == "" {
		return answer
	}
	return doubt
}

func (p Project) permitsSource(repository string, in Installation) Permission {
	switch answer := p.source(repository); {
	case answer == denied:
		return Permission{Refused: PartRepository}
	case answer == allowed || in.owned(p, SecretRepository, repository):
		return Permission{}
	}
	return in.refuse(PartRepository)
}

// PermitsDestination says whether the project permits a destination.
func (p Project) PermitsDestination(d Destination, in Installation) Permission {
	switch answer := p.destination(d.Server, d.Name, d.Namespace); {
	case p.ScopedClusters():
		return Permission{PartDestination, "it permits only its own clusters, which are in Secrets of Argo CD"}
	case answer == allowed:
		return Permission{}
	case !d.Known:
		return Permission{PartDestination, "it is another cluster, of which only the name or the URL is known"}
	case answer == denied:
		return Permission{Refused: PartDestination}
	case in.owned(p, SecretCluster, d.Server):
		return Permission{}
	}
	return in.refuse(PartDestination)
}
