package plan

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/words"
)

// Find returns the Application that has a name, or a namespace and a name, as in argocd/web. Nil is none.
func (p *Plan) Find(name string) (*Application, error) {
	var found []*Application
	var full []string
	for _, app := range p.Applications {
		if !app.Applied && (app.Name == name || app.String() == name) {
			found, full = append(found, app), append(full, app.String())
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	slices.Sort(full)
	return nil, fmt.Errorf("there are several Applications %q; name one with its namespace: %s", name, strings.Join(full, ", "))
}

// Only returns the one Application that is a root of a plan of a file. Nil is none.
func (p *Plan) Only(file string) (*Application, error) {
	if p.Root == nil || !p.Root.Applied {
		return p.Root, nil
	}
	var found []*Application
	var names []string
	for _, item := range p.Root.Items {
		if item.Application != nil {
			found, names = append(found, item.Application), append(names, item.Application.Name)
		}
	}
	switch len(found) {
	case 0:
		return nil, nil
	case 1:
		return found[0], nil
	}
	return nil, fmt.Errorf("%s: there are several Applications in it: %s; name one, with --root %s", file, words.Some(names), file)
}

// NotFound says that plans have no Application of a name.
type NotFound struct {
	Plans []*Plan
	// Allowed reports whether an Application or a set may be unknown.
	Allowed func(name string) bool
}

// Err suggests similar Applications, and names unknown ones that may deploy it.
func (n NotFound) Err(name string) error {
	var names, hiding []string
	for _, p := range n.Plans {
		for _, app := range p.Applications {
			if !app.Applied {
				names = append(names, app.Name)
			}
		}
		for _, hides := range p.Summary().Hiding {
			if !n.Allowed(hides) && !slices.Contains(hiding, hides) {
				hiding = append(hiding, hides)
			}
		}
	}
	_, short, _ := strings.Cut(name, "/")
	text := fmt.Sprintf("there is no Application %q", name) + words.DidYouMean(words.Similar(cmp.Or(short, name), names)...)
	if len(hiding) > 0 {
		text += fmt.Sprintf("; unknown parts of %s may have it", words.Some(hiding))
	}
	return errors.New(text)
}

// HasKind reports whether an Application deploys an object of a kind.
func (p *Plan) HasKind(kind string) bool {
	return slices.ContainsFunc(p.Applications, func(a *Application) bool {
		return slices.ContainsFunc(a.Items, func(i *Item) bool { return i.Kind == kind })
	})
}
