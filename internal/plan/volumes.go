package plan

import (
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// volumes finds claims that are not bound before a Pod uses them, and those whose Pods come too late.
func (p *prerequisites) volumes() {
	for cluster, objects := range p.objects {
		if !slices.ContainsFunc(objects, func(i *Item) bool { return i.Kind == "StorageClass" && waitsForConsumer(i) }) {
			delete(p.objects, cluster)
		}
	}
	if len(p.objects) == 0 {
		return
	}
	for _, app := range p.plan.Applications {
		cluster := p.server(app)
		for _, item := range app.Items {
			if item.Kind == "PersistentVolumeClaim" && item.Group == "" {
				p.claim(app, item, cluster)
			}
		}
	}
}

func waitsForConsumer(class *Item) bool {
	return manifest.String(class.Object, "volumeBindingMode") == "WaitForFirstConsumer"
}

// class is the StorageClass of a claim, nil if that is not in the plan. A claim that names its volume needs none.
func (p *prerequisites) class(claim *Item, cluster string) *Item {
	spec := manifest.Map(claim.Object, "spec")
	name, named := spec["storageClassName"].(string)
	if manifest.String(spec, "volumeName") != "" {
		return nil
	}
	for _, item := range p.objects[cluster] {
		annotations := manifest.Map(item.Object, "metadata", "annotations")
		standard := annotations["storageclass.kubernetes.io/is-default-class"] == "true" || annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
		if item.Kind == "StorageClass" && (named && item.Name == name || !named && standard) {
			return item
		}
	}
	return nil
}

// claim fills what a claim waits for, and says so if that never comes.
func (p *prerequisites) claim(app *Application, claim *Item, cluster string) {
	class := p.class(claim, cluster)
	if class == nil || !waitsForConsumer(class) {
		return
	}
	claim.FirstConsumer = true
	namespace := app.spaceOf(claim)
	var consumers []place
	for _, other := range p.plan.Applications {
		if p.server(other) != cluster {
			continue
		}
		for _, item := range other.Items {
			if item != claim && other.spaceOf(item) == namespace && consumes(item, claim.Name) {
				consumers = append(consumers, place{other, item})
				claim.Consumers = append(claim.Consumers, item)
			}
		}
	}
	if !p.holds(app, claim) {
		return
	}
	switch {
	case len(consumers) == 0 && len(p.unknown[cluster])+len(p.unknown[""]) == 0:
		p.sayAt(RuleVolumeWaits, place{app, claim}, "PersistentVolumeClaim %s is bound only when a Pod uses it (WaitForFirstConsumer of StorageClass %s), and nothing in this plan does: everything behind it waits for ever", claim.Name, class.Name)
	case len(consumers) > 0 && !slices.ContainsFunc(consumers, func(c place) bool { return p.together(place{app, claim}, c) }):
		c := consumers[0]
		p.sayAt(RuleVolumeWaits, place{app, claim}, "PersistentVolumeClaim %s is bound only when a Pod uses it (WaitForFirstConsumer of StorageClass %s), and %s %s, which does, comes later and waits for it: a deadlock; put both in one wave", claim.Name, class.Name, c.item.Kind, c.item.Name)
	}
}

// together reports whether the consumer of a claim does not come after it.
func (p *prerequisites) together(claim, consumer place) bool {
	if claim.app == consumer.app {
		return order.Compare(consumer.item.Phase, consumer.item.Wave, claim.item.Phase, claim.item.Wave) <= 0
	}
	when, _ := p.when(&demand{Thing: Thing{What: ThingNamespace}}, claim, consumer)
	return when == inTime
}

// holds reports whether anything waits for an item: a wave behind it, or one behind its Application.
func (p *prerequisites) holds(app *Application, item *Item) bool {
	for range maxDepth + 1 {
		if app == nil || app.Applied || !item.Waits {
			return false
		}
		if last := app.Items[len(app.Items)-1]; order.Compare(item.Phase, item.Wave, last.Phase, last.Wave) < 0 {
			return true
		}
		at := p.deployers[app]
		app, item = at.app, at.item
	}
	return false
}

// consumes reports whether an object mounts a claim: by its name anywhere in it, or as a StatefulSet by a template for claims of that name.
func consumes(item *Item, claim string) bool {
	if mounts(item.Object["spec"], claim) {
		return true
	}
	templates, _ := manifest.Map(item.Object, "spec")["volumeClaimTemplates"].([]any)
	return slices.ContainsFunc(templates, func(v any) bool {
		m, _ := v.(map[string]any)
		name := manifest.String(m, "metadata", "name")
		return name != "" && strings.HasPrefix(claim, name+"-"+item.Name+"-")
	})
}

func mounts(v any, claim string) bool {
	switch v := v.(type) {
	case map[string]any:
		if v["claimName"] == claim {
			return true
		}
		for _, value := range v {
			if mounts(value, claim) {
				return true
			}
		}
	case []any:
		return slices.ContainsFunc(v, func(item any) bool { return mounts(item, claim) })
	}
	return false
}
