package plan

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"reflect"
	"regexp"
	"slices"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/source"
)

// Manifests is how the objects of an Application change.
type Manifests struct {
	argo.Ref
	// Set says that it is an ApplicationSet, and its objects the Applications that it generates.
	Set bool
	// Kind is Added, Removed or Left for an Application that is only in one of the plans, "" for one in both.
	Kind    ChangeKind
	Objects []ObjectChange
}

// ObjectChange is an object that is added, removed or changed.
type ObjectChange struct {
	ID
	// Renamed is the name that it had, if the name ends with a hash of the content; otherwise "".
	Renamed string
	// Old and New are the object without status, and without the values of a Secret; nil where there is none.
	Old, New manifest.Object
}

// Told reports whether the changes are all new and removed Applications, which are changes of the boot already.
func (m Manifests) Told() bool {
	return !slices.ContainsFunc(m.Objects, func(c ObjectChange) bool {
		return c.Group != argo.Group || c.Kind != argo.KindApplication || c.Old != nil && c.New != nil
	})
}

// ID identifies an object of an Application.
type ID struct{ Group, Kind, Namespace, Name string }

func compareIDs(a, b ID) int {
	return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Group, b.Group), cmp.Compare(a.Namespace, b.Namespace),
		cmp.Compare(a.Name, b.Name))
}

// Objects returns the objects that an Application deploys, each once, in the order of deployment.
func (a *Application) Objects() []manifest.Object {
	var out []manifest.Object
	seen := map[uintptr]bool{}
	for _, item := range a.Items {
		// A hook of several phases is several items with one object.
		if id := reflect.ValueOf(item.Object).Pointer(); !seen[id] {
			seen[id] = true
			out = append(out, item.Object)
		}
	}
	return out
}

// application compares the objects of an Application. Either side may be nil.
func (d *Difference) application(ref argo.Ref, old, now *described, removed removal) {
	m := Manifests{Ref: ref}
	var was, is *Application
	switch {
	case old == nil:
		m.Kind, was, is = Added, &Application{}, now.app
	case now == nil:
		m.Kind, was, is = removed.kind(removed.deletes(old)), old.app, &Application{}
	default:
		was, is = old.app, now.app
	}
	m.Objects = diffObjects(was.Objects(), is.Objects())
	if m.Kind == "" && (was.Verdict() != source.Known || is.Verdict() != source.Known) {
		d.NotCompared = append(d.NotCompared, ref)
		m.Objects = slices.DeleteFunc(m.Objects, func(c ObjectChange) bool {
			// An object that one side lacks may be in its unknown part.
			return !sameGaps(was, is) && (c.New == nil && is.Verdict() != source.Known || c.Old == nil && was.Verdict() != source.Known)
		})
	}
	d.add(m)
}

// sameGaps reports whether the same parts of the same sources are unknown. A broken Application has no known part.
func sameGaps(a, b *Application) bool {
	return a.Broken == "" && b.Broken == "" && slices.EqualFunc(a.Sources, b.Sources, func(s, t Source) bool {
		return s.Verdict == t.Verdict && s.Unknown == t.Unknown && (s.Verdict == source.Known || reflect.DeepEqual(s.Spec, t.Spec))
	})
}

func (d *Difference) add(m Manifests) {
	if len(m.Objects) > 0 {
		d.Manifests = append(d.Manifests, m)
	}
}

// roots compares the objects that are applied by hand.
func (d *Difference) roots(before, after *Plan) {
	objects := func(p *Plan) []manifest.Object {
		switch {
		case p.Root == nil:
			return nil
		case p.Root.Applied:
			return p.Root.Objects()
		default:
			return []manifest.Object{p.Root.Object}
		}
	}
	d.add(Manifests{Ref: argo.Ref{Name: ApplyName}, Objects: diffObjects(objects(before), objects(after))})
}

// sets compares the Applications of sets. The removal of a set with unknown Applications is a change of its own.
func (d *Difference) sets(removed removal) {
	was, is := removed.was, removed.is
	for _, by := range sortedParents(was, is) {
		old, in := was.sets[by]
		now, still := is.sets[by]
		m := Manifests{Ref: argo.Ref{Namespace: by.app.Namespace, Name: by.set}, Set: true}
		switch {
		case in && old.item.Unknown != "" && !still && is.knows(&described{parents: []parent{{app: by.app}}}, was, nil):
			d.Changes = append(d.Changes, Change{
				Kind: removed.kind(removed.removes(by.app, old.item.Object, nil)), Subject: by.set,
				Old: fmt.Sprintf("%s, a set whose Applications are %s: %s", old.place, unknownOrBroken(old.item), old.item.Unknown),
			})
			continue
		case !in || !still || old.item.Unknown != "" || now.item.Unknown != "":
			continue // its Applications are new, removed or not compared
		}
		m.Objects = diffObjects(childObjects(old.item), childObjects(now.item))
		d.add(m)
	}
}

func unknownOrBroken(item *Item) string {
	if item.Broken {
		return "broken"
	}
	return "unknown"
}

func sortedParents(plans ...description) []parent {
	var out []parent
	for _, d := range plans {
		for by := range d.sets {
			if !slices.Contains(out, by) {
				out = append(out, by)
			}
		}
	}
	slices.SortFunc(out, func(a, b parent) int { return cmp.Or(cmp.Compare(a.set, b.set), compareRefs(a.app, b.app)) })
	return out
}

// childObjects returns the Applications of a set.
func childObjects(item *Item) []manifest.Object {
	var out []manifest.Object
	for _, child := range item.Children {
		out = append(out, child.Object)
	}
	return out
}

// objectKey identifies an object of a list, also if its name is generated or not unique: n counts those before it.
type objectKey struct {
	ID
	n int
}

func keyed(objects []manifest.Object) (map[objectKey]manifest.Object, []objectKey) {
	out, count := map[objectKey]manifest.Object{}, map[ID]int{}
	var keys []objectKey
	for _, o := range objects {
		id := ID{
			manifest.Group(o), manifest.String(o, "kind"), manifest.String(o, "metadata", "namespace"),
			manifest.String(o, "metadata", "name"),
		}
		id.Name = cmp.Or(id.Name, manifest.String(o, "metadata", "generateName")+"*")
		key := objectKey{id, count[id]}
		count[id]++
		out[key] = o
		keys = append(keys, key)
	}
	return out, keys
}

// diffObjects compares two lists of objects, regardless of their order.
func diffObjects(before, after []manifest.Object) []ObjectChange {
	was, oldKeys := keyed(before)
	is, newKeys := keyed(after)
	var out []ObjectChange
	note := func(id ID, old, now manifest.Object) {
		old, now = clean(old), clean(now)
		if old != nil && now != nil && equal(old, now) {
			return
		}
		out = append(out, ObjectChange{ID: id, Old: masked(old, now, "old"), New: masked(now, old, "new")})
	}
	var added, removed []objectKey
	for _, key := range newKeys {
		if _, ok := was[key]; !ok {
			added = append(added, key)
			continue
		}
		note(key.ID, was[key], is[key])
	}
	for _, key := range oldKeys {
		if _, ok := is[key]; !ok {
			removed = append(removed, key)
		}
	}
	for _, key := range added {
		i := slices.IndexFunc(removed, func(old objectKey) bool { return old.renamed(key) })
		if i < 0 {
			note(key.ID, nil, is[key])
			continue
		}
		note(key.ID, was[removed[i]], is[key])
		out[len(out)-1].Renamed = removed[i].Name
		removed = slices.Delete(removed, i, i+1)
	}
	for _, key := range removed {
		note(key.ID, was[key], nil)
	}
	slices.SortStableFunc(out, func(a, b ObjectChange) int { return compareIDs(a.ID, b.ID) })
	return out
}

// hashed matches a name with the hash that Kustomize appends to the names of ConfigMaps and Secrets, in its alphabet.
var hashed = regexp.MustCompile(`^(.+)-[2456789bcdfghkmt]{10}$`)

// renamed reports whether two objects have one name but for a hash of their content.
func (k objectKey) renamed(to objectKey) bool {
	from, into := hashed.FindStringSubmatch(k.Name), hashed.FindStringSubmatch(to.Name)
	return from != nil && into != nil && from[1] == into[1] && k.Group == to.Group && k.Kind == to.Kind && k.Namespace == to.Namespace
}

// equal reports whether two objects are the same as manifests: 1 and 1.0 are.
func equal(a, b manifest.Object) bool {
	return reflect.DeepEqual(a, b) || bytes.Equal(manifest.AppendYAML(nil, a), manifest.AppendYAML(nil, b))
}

// clean returns an object without fields that no sync deploys: its status, and the creation time that encoders write as null.
func clean(o manifest.Object) manifest.Object {
	meta := manifest.Map(o, "metadata")
	created, stated := meta["creationTimestamp"]
	_, status := o["status"]
	if !status && (!stated || created != nil) {
		return o
	}
	out := without(o, "status")
	if stated && created == nil {
		out["metadata"] = without(meta, "creationTimestamp")
	}
	return out
}

func without(m map[string]any, key string) map[string]any {
	out := maps.Clone(m)
	delete(out, key)
	return out
}

// masked returns a Secret without its values. A value that differs from the other side is replaced by the name of its side, so that a
// change is visible, and neither the value nor its hash is. An object of Argo CD loses the passwords in its repository URLs the same way.
// Other objects stay as they are.
func masked(o, other manifest.Object, side string) manifest.Object {
	switch {
	case o == nil:
		return nil
	case manifest.Group(o) == argo.Group:
		out, _ := withoutPasswords(o, other, side).(map[string]any)
		return out
	case manifest.Group(o) != "" || manifest.String(o, "kind") != "Secret":
		return o
	}
	out := maps.Clone(o)
	for _, field := range []string{"data", "stringData"} {
		if v, ok := o[field]; ok {
			out[field] = hidden(v, other[field], side)
		}
	}
	// kubectl apply keeps a copy of everything here.
	if meta := manifest.Map(o, "metadata"); manifest.String(meta, "annotations", manifest.LastApplied) != "" {
		annotations := maps.Clone(manifest.Map(meta, "annotations"))
		annotations[manifest.LastApplied] = hiddenValue(annotations[manifest.LastApplied],
			manifest.Map(other, "metadata", "annotations")[manifest.LastApplied], side)
		meta = maps.Clone(meta)
		meta["annotations"] = annotations
		out["metadata"] = meta
	}
	return out
}

// hidden hides each value of a map, or a value that is no map.
func hidden(v, other any, side string) any {
	m, ok := v.(map[string]any)
	if !ok {
		return hiddenValue(v, other, side)
	}
	others, _ := other.(map[string]any)
	out := make(map[string]any, len(m))
	for key, value := range m {
		out[key] = hiddenValue(value, others[key], side)
	}
	return out
}

// userPattern matches a URL that may have a user name or a password.
var userPattern = regexp.MustCompile(`://\S*@`)

// withoutPasswords returns a copy of a value in which URLs with a user name or a password are redacted.
func withoutPasswords(v, other any, side string) any {
	switch v := v.(type) {
	case map[string]any:
		others, _ := other.(map[string]any)
		out := make(map[string]any, len(v))
		for key, value := range v {
			out[key] = withoutPasswords(value, others[key], side)
		}
		return out
	case []any:
		others, _ := other.([]any)
		out := make([]any, len(v))
		for i, value := range v {
			var o any
			if i < len(others) {
				o = others[i]
			}
			out[i] = withoutPasswords(value, o, side)
		}
		return out
	case string:
		if !userPattern.MatchString(v) {
			return v
		}
		text := giturl.RedactText(v)
		if o, _ := other.(string); text != v && o != v && giturl.RedactText(o) == text {
			text += " " + hiddenValue(v, o, side)
		}
		return text
	}
	return v
}

func hiddenValue(v, other any, side string) string {
	if reflect.DeepEqual(v, other) {
		return "<hidden>"
	}
	return "<hidden, " + side + " value>"
}
