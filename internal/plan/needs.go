package plan

import (
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
)

// needs checks that Applications are in later waves than those that they need: without the plugin appset, which assigns waves, the
// annotation has no effect.
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
				l.find(RuleNeedsLater, child, "it needs %s (%s) and does not wait for it: it is in wave %d, and %[1]s in wave %[4]d",
					need, argo.DependsAnnotation, waves[child.Name], wave)
			}
		}
	}
}

// needCycle returns a cycle of needs from an Application back to it, without its end; nil if there is none.
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
