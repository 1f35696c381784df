package plan

import (
	"github.com/argosy-cd/argosy/internal/argo"
)

// needs compares what Applications need with the waves that they are in: without the plugin appset, which assigns waves, the annotation
// alone does nothing.
func (l *loader) needs(app *Application) {
	waves := map[string]int{}
	var order []*Application
	for _, item := range app.Items {
		children := item.Children
		if item.Application != nil {
			children = []*Application{item.Application}
		}
		for _, child := range children {
			waves[child.Name] = item.Wave
			order = append(order, child)
		}
	}
	for _, child := range order {
		for _, need := range child.Needs {
			switch wave, ok := waves[need]; {
			case !ok:
				l.find(RuleNeedsMissing, child, "it needs %s (%s), which %s does not deploy", need, argo.DependsAnnotation, app.Name)
			case wave >= waves[child.Name]:
				l.find(RuleNeedsLater, child, "it is in wave %d and needs %s (%s), which is in wave %d: it will not wait for it",
					waves[child.Name], need, argo.DependsAnnotation, wave)
			}
		}
	}
}
