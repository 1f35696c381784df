package plan

import (
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
)

// needs compares what Applications need with the waves that they are in: without the plugin appset, which assigns waves, the annotation
// alone does nothing.
func (l *loader) needs(app *Application) {
	waves, children := map[string]int{}, map[string]*Application{}
	var order []*Application
	for _, item := range app.Items {
		list := item.Children
		if item.Application != nil {
			list = []*Application{item.Application}
		}
		for _, child := range list {
			waves[child.Name], children[child.Name] = item.Wave, child
			order = append(order, child)
		}
	}
	told := map[string]bool{} // in a cycle
	for _, child := range order {
		cycle := needCycle(children, child.Name)
		if len(cycle) > 0 && !told[child.Name] {
			l.find(RuleNeedsCycle, child, "they need each other (%s): %s", argo.DependsAnnotation,
				strings.Join(append(cycle, child.Name), " → "))
		}
		for _, name := range cycle {
			told[name] = true
		}
		for _, need := range child.Needs {
			switch wave, ok := waves[need]; {
			case slices.Contains(cycle, need): // said
			case !ok:
				l.find(RuleNeedsMissing, child, "it needs %s (%s), which %s does not deploy", need, argo.DependsAnnotation, app.Name)
			case wave >= waves[child.Name]:
				l.find(RuleNeedsLater, child, "it is in wave %d and needs %s (%s), which is in wave %d: it will not wait for it",
					waves[child.Name], need, argo.DependsAnnotation, wave)
			}
		}
	}
}

// needCycle returns a way from an Application back to it along what Applications need, without its end; nil if there is none.
func needCycle(apps map[string]*Application, from string) []string {
	seen := map[string]bool{} // these lead nowhere
	var walk func(name string) []string
	walk = func(name string) []string {
		if apps[name] == nil || seen[name] {
			return nil
		}
		seen[name] = true
		for _, need := range apps[name].Needs {
			if need == from {
				return []string{name}
			}
			if rest := walk(need); rest != nil {
				return append([]string{name}, rest...)
			}
		}
		return nil
	}
	return walk(from)
}
