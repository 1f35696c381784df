package policy

import (
	"cmp"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/words"
)

// ApplicationRule allows Applications to be generated.
type ApplicationRule struct {
	Projects     []string      `field:"projects,required" doc:"projects that the Applications may be in; * stands for any characters"`
	Namespaces   []string      `field:"namespaces" doc:"namespaces that the Applications themselves may be in; * stands for any characters. Default: the parent's own"`
	Destinations []Destination `field:"destinations" doc:"where the Applications may deploy to. Default: anywhere that their project may"`
	Repositories []string      `field:"repositories" doc:"repositories that the Applications and Git generators may read: a URL, or the beginning of one up to a slash; * stands for any characters but /, and alone for all. Default: all"`
	APIs         []string      `field:"apis" doc:"APIs that generators may call with Secrets: the URL of an API and an owner below it, as in https://api.github.com/acme, or the beginning of such a URL up to a slash; configmap/NAME for a plugin or a clusterDecisionResource; * stands for any characters but /. Default: nothing"`
}

// Destination is a place that Applications may deploy to.
type Destination struct {
	Server    string `field:"server" doc:"URL of a cluster; * stands for any characters but /. Default: any"`
	Name      string `field:"name" doc:"name of a cluster; * stands for any characters. Default: any"`
	Namespace string `field:"namespace" doc:"a namespace; * stands for any characters. Default: any"`
}

// Parent is an application for which Applications are generated.
type Parent struct {
	Project   string
	Namespace string // its own
	// Admin says that its project is one of administrators.
	Admin bool
}

// ParentOf is the application of a call. Namespace is Argo CD's own, and admins are the projects of administrators; a project that is not
// known is not one of them.
func ParentOf(c argo.Call, namespace string, admins []string) Parent {
	return Parent{
		Project: c.Project, Namespace: cmp.Or(c.AppNamespace, namespace),
		Admin: c.Project != "" && slices.Contains(admins, c.Project),
	}
}

// Child is an Application that is generated.
type Child struct {
	Name, Namespace, Project string
	Server, Cluster          string // of its destination
	Destination              string // the namespace
	Repositories             []string
}

// ruled reports whether the file has rules about Applications.
func (p *Policy) ruled() bool {
	return p != nil && slices.ContainsFunc(p.Projects, func(project Project) bool { return len(project.Applications) > 0 })
}

// Unrestricted reports whether everything may be generated for a parent.
func (p *Policy) Unrestricted(parent Parent) bool { return parent.Admin && !p.ruled() }

// Application returns nil if an Application may be generated for a parent.
func (p *Policy) Application(parent Parent, c Child) error {
	err := p.application(parent, c)
	if err != nil {
		return fmt.Errorf("Application %s: %w", quote(c.Name), err)
	}
	return nil
}

func (p *Policy) application(parent Parent, c Child) error {
	if !p.ruled() {
		switch {
		case parent.Admin:
			return nil
		case parent.Project == "":
			return errors.New("refused: the parent's project is not known, ARGOCD_APP_PROJECT_NAME is not set")
		case c.Project != parent.Project:
			return fmt.Errorf("project %s is refused: its parent is in project %[2]q, which may generate for itself only; allow more by a "+
				"rule in projects[].applications of the policy file (--policy), or by %[2]q in --admin-projects", quote(c.Project),
				parent.Project)
		case c.Namespace != parent.Namespace:
			return fmt.Errorf("namespace %s is refused: its parent is in namespace %q; a rule in projects[].applications of the policy "+
				"file can allow more (--policy)", quote(c.Namespace), parent.Namespace)
		}
		return nil
	}
	return p.decide(parent.Project, "applications", "no Applications", func(project Project) (rules []attempt) {
		for _, rule := range project.Applications {
			rules = append(rules, func() (string, int) { return rule.allows(parent, c) })
		}
		return rules
	})
}

func (r ApplicationRule) allows(parent Parent, c Child) (reason string, passed int) {
	if !matchAny(r.Projects, c.Project) {
		return fmt.Sprintf("projects does not include %s", quote(c.Project)), 0
	}
	switch {
	case len(r.Namespaces) == 0 && c.Namespace != parent.Namespace:
		return fmt.Sprintf("namespaces is not set, and the namespace %s is not that of the parent", quote(c.Namespace)), 1
	case len(r.Namespaces) > 0 && !matchAny(r.Namespaces, c.Namespace):
		return fmt.Sprintf("namespaces does not include %s", quote(c.Namespace)), 1
	case len(r.Destinations) > 0 && !slices.ContainsFunc(r.Destinations, func(d Destination) bool { return d.allows(c) }):
		return fmt.Sprintf("destinations does not include namespace %s of %s", quote(c.Destination),
			words.Shorten(cmp.Or(c.Server, c.Cluster), maxQuoted)), 2
	}
	for _, repository := range c.Repositories {
		if !r.reads(repository) {
			return fmt.Sprintf("repositories does not include %s", quote(giturl.Redact(repository))), 3
		}
	}
	return "", 4
}

func (d Destination) allows(c Child) bool {
	return (d.Server == "" || match(strings.TrimSuffix(d.Server, "/"), strings.TrimSuffix(c.Server, "/"))) &&
		(d.Name == "" || match(d.Name, c.Cluster)) && (d.Namespace == "" || match(d.Namespace, c.Destination))
}

// reads reports whether a rule allows a repository.
func (r ApplicationRule) reads(repository string) bool {
	if len(r.Repositories) == 0 || slices.Contains(r.Repositories, "*") {
		return true
	}
	return !climbs(repository) && below(r.Repositories, strings.TrimSuffix(repository, "/"))
}

// Generator returns nil if a Git generator of a parent may read a repository with credentials that are not the
// parent's own. Without rules, only administrators may.
func (p *Policy) Generator(parent Parent, repository string) error {
	if !p.ruled() {
		if parent.Admin {
			return nil
		}
		return fmt.Errorf("project %q may use credentials of its own repositories only; a rule in projects[].applications of the "+
			"policy file can allow more (--policy)", parent.Project)
	}
	return p.decide(parent.Project, "applications", "no Applications", func(project Project) (rules []attempt) {
		for _, rule := range project.Applications {
			rules = append(rules, func() (string, int) {
				if !rule.reads(repository) {
					return fmt.Sprintf("repositories does not include %s", quote(giturl.Redact(repository))), 1
				}
				return "", 2
			})
		}
		return rules
	})
}

// API returns nil if a generator of a parent may ask an API: the URL of an API and below it the owner, or configmap/NAME. Without rules,
// only administrators may.
func (p *Policy) API(parent Parent, resource string) error {
	if !p.ruled() {
		if parent.Admin {
			return nil
		}
		return fmt.Errorf("%s is refused: generators of project %q may ask no API; a rule in projects[].applications of the policy file "+
			"can allow it (--policy, apis)", quote(giturl.Redact(resource)), parent.Project)
	}
	return p.decide(parent.Project, "applications", "no Applications", func(project Project) (rules []attempt) {
		for _, rule := range project.Applications {
			rules = append(rules, func() (string, int) {
				if !climbs(resource) && len(rule.APIs) > 0 && below(rule.APIs, strings.TrimSuffix(resource, "/")) {
					return "", 2
				}
				return fmt.Sprintf("apis does not include %s", quote(giturl.Redact(resource))), 1
			})
		}
		return rules
	})
}

// climbs reports whether a URL may match a pattern and lead elsewhere: a path with ".." leaves the directory of the pattern, and a query
// could end like the pattern's host. A server may decode a path again, so an encoded % is refused, too.
func climbs(address string) bool {
	decoded, err := url.PathUnescape(address)
	return err != nil || strings.ContainsAny(decoded, "%?#\\ \t\n") ||
		slices.ContainsFunc(strings.Split(decoded, "/"), func(s string) bool { return s == "." || s == ".." })
}
