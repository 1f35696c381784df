package handover

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// agree compares the set as rendered here with the Applications in the cluster. All differences are one error.
func (r *run) agree(ctx context.Context) error {
	if err := undisturbed(ctx, r.Config, "ApplicationSet "+r.Set.String(), r.set); err != nil {
		return err
	}
	errs, err := r.compare(ctx)
	if err != nil {
		return err
	}
	if len(errs) > 0 {
		return errors.Join(append([]error{fmt.Errorf("ApplicationSet %s and its Applications in the cluster disagree; nothing was changed",
			r.Set)}, errs...)...)
	}
	return nil
}

// compare renders the set, and returns the differences from the cluster.
func (r *run) compare(ctx context.Context) (errs []error, err error) {
	apps, err := r.Render(ctx, r.origin)
	if err != nil {
		return nil, fmt.Errorf("ApplicationSet %s: %w", r.Set, err)
	}
	for _, app := range apps {
		name := manifest.String(app, "metadata", "name")
		r.names = append(r.names, name)
		if name == r.Parent {
			errs = append(errs, fmt.Errorf("%s %s has the name of the new parent; choose another one with --name",
				argo.KindApplication, name))
			continue
		}
		live, err := r.Cluster.Object(ctx, argo.KindApplication, argo.Ref{Namespace: r.Set.Namespace, Name: name})
		if err != nil {
			return nil, err
		}
		if why := r.differs(app, live); why != "" {
			errs = append(errs, fmt.Errorf("%s %s: %s", argo.KindApplication, name, why))
		}
	}
	slices.Sort(r.names)
	for _, name := range r.owned() {
		if !slices.Contains(r.names, name) {
			errs = append(errs, fmt.Errorf("%s %s: it is in the cluster, and the set does not render it", argo.KindApplication, name))
		}
	}
	return errs, nil
}

// differs names the first difference between an Application and its set's manifest, "" if there is none.
func (r *run) differs(want, live manifest.Object) string {
	if live == nil {
		return "the set renders it, and it is not in the cluster"
	}
	for _, owner := range ownersOf(live) {
		if manifest.String(owner, "uid") != manifest.String(r.set, "metadata", "uid") {
			return fmt.Sprintf("it is owned by %s %q", manifest.String(owner, "kind"), manifest.String(owner, "name"))
		}
	}
	if deleting(live) {
		return "it is being deleted"
	}
	if label := r.Tracking.Key(); r.Tracking.ByLabel() && manifest.Map(want, "metadata", "labels")[label] != nil {
		return fmt.Sprintf("metadata.labels.%s: Argo CD tracks resources by this label, so the new parent would replace it; take it out "+
			"of the template", label)
	}
	want, live = manifest.Copy(want).(map[string]any), manifest.Copy(live).(map[string]any)
	rules, _ := manifest.Map(r.target, "spec")["ignoreDifferences"].([]any)
	for _, v := range rules {
		rule, _ := v.(map[string]any)
		if name := manifest.String(rule, "name"); name != "" && name != manifest.String(want, "metadata", "name") {
			continue
		}
		pointers, _ := rule["jsonPointers"].([]any)
		for _, p := range pointers {
			text, _ := p.(string)
			remove(want, text)
			remove(live, text)
		}
	}
	if why := difference("spec", want["spec"], live["spec"]); why != "" {
		return why
	}
	for _, field := range []string{"labels", "annotations"} {
		for key, value := range manifest.Map(want, "metadata", field) {
			if have := manifest.Map(live, "metadata", field)[key]; have != value {
				return differ("metadata."+field+"."+key, have, value)
			}
		}
	}
	return difference("metadata.finalizers", list(want), list(live))
}

func ownersOf(o manifest.Object) []map[string]any {
	list, _ := manifest.Map(o, "metadata")["ownerReferences"].([]any)
	var out []map[string]any
	for _, v := range list {
		if m, _ := v.(map[string]any); m != nil {
			out = append(out, m)
		}
	}
	return out
}

// list returns the finalizers, in order. Argo CD adds those for hooks itself: PostDelete, and since 3.3 PreDelete.
func list(o manifest.Object) any {
	all, _ := manifest.Map(o, "metadata")["finalizers"].([]any)
	out := []any{}
	for _, v := range all {
		if s, _ := v.(string); !argo.IsDeleteHookFinalizer(s) {
			out = append(out, v)
		}
	}
	slices.SortFunc(out, func(a, b any) int { return strings.Compare(text(a), text(b)) })
	return out
}

// remove removes the field at a JSON pointer.
func remove(o map[string]any, pointer string) {
	parts := strings.Split(strings.TrimPrefix(pointer, "/"), "/")
	for i, part := range parts {
		part = strings.NewReplacer("~1", "/", "~0", "~").Replace(part)
		if i == len(parts)-1 {
			delete(o, part)
			return
		}
		next, ok := o[part].(map[string]any)
		if !ok {
			return
		}
		o = next
	}
}

// difference names the first field that differs, "" if none does. Fields that Argo CD leaves out when they are empty are the same as none.
func difference(path string, want, live any) string {
	if isEmpty(want) && isEmpty(live) {
		return ""
	}
	a, ok1 := want.(map[string]any)
	b, ok2 := live.(map[string]any)
	if ok1 && ok2 {
		for _, k := range manifest.Keys(a) {
			if why := differenceIn(path, k, a, b); why != "" {
				return why
			}
		}
		for _, k := range manifest.Keys(b) {
			if why := differenceIn(path, k, a, b); why != "" {
				return why
			}
		}
		return ""
	}
	x, ok1 := want.([]any)
	y, ok2 := live.([]any)
	if ok1 && ok2 && len(x) == len(y) {
		for i := range x {
			if why := difference(fmt.Sprintf("%s[%d]", path, i), x[i], y[i]); why != "" {
				return why
			}
		}
		return ""
	}
	if reflect.DeepEqual(want, live) || text(want) == text(live) && number(want) && number(live) {
		return ""
	}
	return differ(path, live, want)
}

// differ says that a field differs, without passwords. Settings of Helm and of plugins may be some.
func differ(path string, live, want any) string {
	if text(live) == text(want) || strings.Contains(path, ".helm.") || strings.Contains(path, ".plugin.") {
		return path + " in the cluster differs from that in the set"
	}
	return fmt.Sprintf("%s is %q in the cluster, and %q in the set", path, text(live), text(want))
}

func differenceIn(path, k string, a, b map[string]any) string {
	if (a[k] == nil) != (b[k] == nil) && k == "automated" { // an empty one means something
		return differ(path+"."+k, b[k], a[k])
	}
	return difference(strings.TrimPrefix(path+"."+k, "."), a[k], b[k])
}

func number(v any) bool {
	switch v.(type) {
	case int64, float64:
		return true
	}
	return false
}

func isEmpty(v any) bool {
	switch v := v.(type) {
	case nil:
		return true
	case map[string]any:
		for k, e := range v {
			if k == "automated" && e != nil || !isEmpty(e) {
				return false
			}
		}
		return true
	case []any:
		return len(v) == 0
	}
	return reflect.ValueOf(v).IsZero()
}

// text is a value in a message.
func text(v any) string {
	if v == nil {
		return ""
	}
	return words.Shorten(giturl.RedactText(fmt.Sprint(v)), 80)
}

// undisturbed refuses an object that another Application deploys by itself: it would undo every step.
func undisturbed(ctx context.Context, c Config, what string, o manifest.Object) error {
	if o == nil {
		return nil
	}
	ref, ok := c.Tracking.Owner(o, c.Argo)
	if !ok {
		return nil
	}
	owner, err := c.Cluster.Object(ctx, argo.KindApplication, ref)
	if err != nil {
		return err
	}
	if _, on := argo.Automated(owner); !on {
		return nil
	}
	return fmt.Errorf("%s is deployed by Application %s, which would undo this: turn off its automated sync first, and "+
		"commit the converted manifest before you turn it on again", what, ref)
}
