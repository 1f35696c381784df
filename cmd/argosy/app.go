package main

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

func newAppCommand(std stdio) *cobra.Command {
	cmd := &cobra.Command{
		Use:   "app",
		Short: "One Application, as Argo CD deploys it",
		Args:  noArgs,
		RunE:  func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(newAppRenderCommand(std))
	return cmd
}

// findApplication returns the Application of a plan that has a name, or a namespace and a name. Nil is none.
func findApplication(p *plan.Plan, name string) (*plan.Application, error) {
	var found []*plan.Application
	var full []string
	for _, app := range p.Applications {
		if !app.Applied && (app.Name == name || fullName(app) == name) {
			found, full = append(found, app), append(full, fullName(app))
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

func fullName(app *plan.Application) string { return app.Namespace + "/" + app.Name }

// noApplication says that plans have no Application of a name, and which are close to it.
func noApplication(verdict *verdictOptions, name string, plans ...*plan.Plan) error {
	// Cobra knows which names are close to one that was typed.
	names := &cobra.Command{SuggestionsMinimumDistance: 2}
	var hiding []string
	for _, p := range plans {
		for _, app := range p.Applications {
			if !app.Applied {
				names.AddCommand(&cobra.Command{Use: app.Name, Run: func(*cobra.Command, []string) {}})
			}
		}
		for _, hides := range p.Summary().Hiding {
			if !verdict.allowed(hides) && !slices.Contains(hiding, hides) {
				hiding = append(hiding, hides)
			}
		}
	}
	_, short, _ := strings.Cut(name, "/")
	similar := names.SuggestionsFor(cmp.Or(short, name))
	slices.Sort(similar)
	text := fmt.Sprintf("there is no Application %q", name)
	if similar = slices.Compact(similar); len(similar) > 0 {
		text += "; did you mean " + words.Some(similar) + "?"
	}
	if len(hiding) > 0 {
		text += fmt.Sprintf("; unknown parts of %s may have it", words.Some(hiding))
	}
	return errors.New(text)
}
