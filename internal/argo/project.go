package argo

import (
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// DefaultProject is the project of Applications that name none. Argo CD makes it, with all rights, if it is not there.
const DefaultProject = "default"

// Project evaluates the rules of an AppProject, as Argo CD 3.2 does (pkg/apis/application/v1alpha1/app_project_types.go).
type Project struct {
	Name string
	// spec is the spec of the AppProject.
	spec map[string]any
}

// NewProject reads an AppProject.
func NewProject(o manifest.Object) Project {
	return Project{manifest.String(o, "metadata", "name"), manifest.Map(o, "spec")}
}

// IsAppProject reports whether o is an AppProject of Argo CD.
func IsAppProject(o manifest.Object) bool {
	return manifest.Group(o) == Group && manifest.String(o, "kind") == KindAppProject
}

// ScopedClusters reports whether the project allows only clusters that are its own.
func (p Project) ScopedClusters() bool { return p.spec["permitOnlyProjectScopedClusters"] == true }

// answer is what the patterns of a project say: none matches, one does, or one with ! forbids, which nothing else outweighs.
type answer int

const (
	absent answer = iota
	allowed
	denied
)

// AllowsSource reports whether the rules of the project allow a repository.
func (p Project) AllowsSource(repository string) bool { return p.source(repository) == allowed }

func (p Project) source(repository string) answer {
	repository = giturl.Compared(repository)
	found := absent
	for _, pattern := range stringList(p.spec["sourceRepos"]) {
		rest, deny := strings.CutPrefix(pattern, "!")
		if deny {
			// Argo CD looks for the ! again after it has made the URL lower case.
			pattern = "!" + giturl.Compared(rest)
		} else {
			pattern = giturl.Compared(pattern)
		}
		switch {
		case matches(pattern, repository, "/"):
			found = allowed
		case strings.HasPrefix(pattern, "!"):
			return denied
		}
	}
	return found
}

// AllowsDestination reports whether the rules of the project allow a namespace of a cluster.
func (p Project) AllowsDestination(server, name, namespace string) bool {
	return p.destination(server, name, namespace) == allowed
}

func (p Project) destination(server, name, namespace string) answer {
	found := absent
	list, _ := p.spec["destinations"].([]any)
	for _, item := range list {
		d, _ := item.(map[string]any)
		names, servers, namespaces := manifest.String(d, "name"), manifest.String(d, "server"), manifest.String(d, "namespace")
		byName := name != "" && matches(names, name, "")
		byServer := server != "" && matches(servers, server, "")
		inside := matches(namespaces, namespace, "")
		switch {
		case (byServer || byName) && inside:
			found = allowed
		case !byName && isDeny(names), !byServer && isDeny(servers) && inside, !inside && isDeny(namespaces) && byServer:
			return denied
		}
	}
	return found
}

// AllowsKind reports whether the project allows a kind.
func (p Project) AllowsKind(group, kind string, namespaced bool) bool {
	if namespaced {
		white, stated := p.spec["namespaceResourceWhitelist"].([]any)
		return (!stated || inKinds(white, group, kind)) && !inKinds(p.spec["namespaceResourceBlacklist"], group, kind)
	}
	return inKinds(p.spec["clusterResourceWhitelist"], group, kind) && !inKinds(p.spec["clusterResourceBlacklist"], group, kind)
}

// AllowsNamespace reports whether Applications in a namespace, which is not Argo CD's, may use the project.
func (p Project) AllowsNamespace(namespace string) bool {
	return slices.ContainsFunc(stringList(p.spec["sourceNamespaces"]), func(pattern string) bool {
		if len(pattern) > 1 && strings.HasPrefix(pattern, "/") && strings.HasSuffix(pattern, "/") {
			re, err := regexp.Compile(pattern[1 : len(pattern)-1])
			if err != nil || re.MatchString(namespace) { // Argo CD has another library, which may know the pattern
				return true
			}
		}
		return globMatches(pattern, namespace, "")
	})
}

// inKinds reports whether a list has a kind, by patterns for files.
func inKinds(v any, group, kind string) bool {
	list, _ := v.([]any)
	return slices.ContainsFunc(list, func(item any) bool {
		m, _ := item.(map[string]any)
		byKind, err := path.Match(manifest.String(m, "kind"), kind)
		byGroup, err2 := path.Match(manifest.String(m, "group"), group)
		return byKind && byGroup && err == nil && err2 == nil
	})
}

func isDeny(pattern string) bool { return strings.HasPrefix(pattern, "!") }

// matches matches a pattern that may begin with ! for everything else.
func matches(pattern, s, separators string) bool {
	switch {
	case isDeny(pattern):
		return !globMatches(pattern[1:], s, separators)
	case pattern == "*":
		return true
	}
	return globMatches(pattern, s, separators)
}

// globMatches matches a pattern; an invalid one matches nothing.
func globMatches(pattern, s, separators string) bool {
	re, err := Glob(pattern, separators)
	return err == nil && re.MatchString(s)
}

func stringList(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		s, _ := item.(string)
		out = append(out, s)
	}
	return out
}
