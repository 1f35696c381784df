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
	users := p.consumers()
	for _, app := range p.plan.Applications {
		cluster := p.server(app)
		for _, item := range app.Items {
			if item.Kind == "PersistentVolumeClaim" && item.Group == "" {
				p.claim(app, item, cluster, users)
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
		standard := annotations["storageclass.kubernetes.io/is-default-class"] == "true" ||
			annotations["storageclass.beta.kubernetes.io/is-default-class"] == "true"
		if item.Kind == "StorageClass" && (named && item.Name == name || !named && standard) {
			return item
		}
	}
	return nil
}

// claim sets the consumers that a claim waits for, and adds a finding if there is none.
func (p *prerequisites) claim(app *Application, claim *Item, cluster string, users map[[3]string][]place) {
	class := p.class(claim, cluster)
	if class == nil || !waitsForConsumer(class) {
		return
	}
	consumers := users[[3]string{cluster, app.spaceOf(claim), claim.Name}]
	for _, set := range users[[3]string{cluster, app.spaceOf(claim), ""}] {
		if ofTemplate(set.item, claim.Name) {
			consumers = append(slices.Clip(consumers), set)
		}
	}
	// An unknown Pod may use it.
	unknown := len(p.unknown[cluster])+len(p.unknown[""]) > 0
	claim.FirstConsumer = len(consumers) > 0 || !unknown
	for _, c := range consumers {
		claim.Consumers = append(claim.Consumers, c.item)
	}
	if !p.holds(app, claim) {
		return
	}
	switch {
	case len(consumers) == 0 && !unknown:
		p.sayAt(RuleVolumeWaits, place{app, claim},
			"PersistentVolumeClaim %s is bound only when a Pod uses it (WaitForFirstConsumer of StorageClass %s), and nothing in this "+
				"plan does: everything behind it waits for ever", claim.Name, class.Name)
	case len(consumers) > 0 && !slices.ContainsFunc(consumers, func(c place) bool { return p.together(place{app, claim}, c) }):
		c := consumers[0]
		p.sayAt(RuleVolumeWaits, place{app, claim},
			"PersistentVolumeClaim %s is bound only when a Pod uses it (WaitForFirstConsumer of StorageClass %s), and %s %s, which does, "+
				"comes later and waits for it: a deadlock; put both in one wave", claim.Name, class.Name, c.item.Kind, c.item.Name)
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

// consumers are the objects that mount claims, by cluster, namespace and claim; StatefulSets with templates for claims are under "".
func (p *prerequisites) consumers() map[[3]string][]place {
	out := map[[3]string][]place{}
	for _, app := range p.plan.Applications {
		cluster := p.server(app)
		for _, item := range app.Items {
			names := map[string]bool{}
			mounts(item.Object["spec"], names)
			if manifest.Map(item.Object, "spec")["volumeClaimTemplates"] != nil {
				names[""] = true
			}
			for name := range names {
				key := [3]string{cluster, app.spaceOf(item), name}
				out[key] = append(out[key], place{app, item})
			}
		}
	}
	return out
}

// ofTemplate reports whether a claim is one that a StatefulSet would make by its templates.
func ofTemplate(item *Item, claim string) bool {
	templates, _ := manifest.Map(item.Object, "spec")["volumeClaimTemplates"].([]any)
	return slices.ContainsFunc(templates, func(v any) bool {
		m, _ := v.(map[string]any)
		name := manifest.String(m, "metadata", "name")
		return name != "" && strings.HasPrefix(claim, name+"-"+item.Name+"-")
	})
}

// mounts collects the names of claims that something mounts.
func mounts(v any, names map[string]bool) {
	switch v := v.(type) {
	case map[string]any:
		if name, ok := v["claimName"].(string); ok && name != "" {
			names[name] = true
		}
		for _, value := range v {
			mounts(value, names)
		}
	case []any:
		for _, item := range v {
			mounts(item, names)
		}
	}
}
