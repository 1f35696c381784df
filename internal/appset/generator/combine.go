package generator

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/argosy-cd/argosy/internal/appset/template"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
)

// matrix gives every combination of its two generators. The second is evaluated for each set of the first, whose
// parameters it can use.
func (r *run) matrix(f *fields, level int) ([]Set, error) {
	generators := f.list("generators")
	if err := f.err(); err != nil {
		return nil, err
	}
	if len(generators) != 2 {
		return nil, fmt.Errorf("%s.generators: matrix takes two generators, there are %d", f.path, len(generators))
	}
	first, err := r.child(f.path+".generators[0]", generators[0], level)
	if err != nil {
		return nil, err
	}
	second, err := r.secondChild(f.path+".generators[1]", generators[1], level)
	if err != nil {
		return nil, err
	}
	var sets []Set
	var errs []error
	seen := map[string]bool{}
	for _, a := range first {
		if err := r.keep(f.path, 0); err != nil {
			return nil, err
		}
		bs, err := second(a)
		// A second generator without placeholders has the same problem for every set of the first.
		if err != nil && !seen[err.Error()] {
			seen[err.Error()] = true
			errs = append(errs, err)
		}
		if len(errs) >= maxErrors {
			break
		}
		if len(sets)+len(bs) > r.MaxSets {
			return nil, r.tooMany(f.path)
		}
		for _, b := range bs {
			params, size, err := r.combine(a.Params, b.Params)
			if err := r.keep(f.path, size); err != nil {
				return nil, err
			}
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w (generators[0] %s, generators[1] %s)", f.path, err, a.Origin, b.Origin))
				continue
			}
			origin := Origin{What: a.Origin.String(), Other: &b.Origin}
			sets = append(sets, Set{params, origin})
		}
	}
	return sets, errors.Join(errs...)
}

// secondChild returns a function that evaluates the second generator of a matrix for a set of the first. It is
// compiled once; without placeholders it has the same answer for all and is evaluated once, too.
func (r *run) secondChild(path string, spec any, level int) (func(Set) ([]Set, error), error) {
	entry, ok := spec.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s: must be an object, it is %s", path, manifest.TypeName(spec))
	}
	tree, err := r.Engine.Compile(path, r.interpolated(entry))
	if err != nil {
		return nil, err
	}
	evaluate := func(outer Params) ([]Set, error) {
		v, err := tree.Render(r.ctx, outer)
		if err != nil {
			return nil, err
		}
		rendered := v.(map[string]any)
		// Argo CD reads the selector before it interpolates: placeholders in it are evaluated and then thrown away.
		if entry["selector"] != nil {
			rendered["selector"] = entry["selector"]
		}
		return r.child(path, rendered, level)
	}
	if tree.Constant() {
		evaluate = onceFor(evaluate)
	}
	return func(outer Set) ([]Set, error) {
		if len(outer.Params) == 0 {
			return r.child(path, spec, level)
		}
		sets, err := evaluate(outer.Params)
		if err != nil && !tree.Constant() {
			err = problem.Wrap(err, func(e error) error { return fmt.Errorf("%w (for %s)", e, outer.Origin) })
		}
		return sets, err
	}, nil
}

// onceFor calls f once and keeps its answer.
func onceFor(f func(Params) ([]Set, error)) func(Params) ([]Set, error) {
	var asked bool
	var sets []Set
	var err error
	return func(outer Params) ([]Set, error) {
		if !asked {
			asked = true
			sets, err = f(outer)
		}
		return sets, err
	}
}

// interpolated returns the second generator of a matrix as its templates are compiled: without the templates of a matrix or merge inside,
// which Argo CD does not have, and with values that may wait for parameters of their own.
func (r *run) interpolated(entry map[string]any) map[string]any {
	out := r.withOwnValues(entry)
	for _, kind := range []Kind{KindMatrix, KindMerge} {
		nested, ok := entry[string(kind)].(map[string]any)
		if !ok {
			continue
		}
		nested = maps.Clone(nested)
		delete(nested, "template")
		if children, ok := nested["generators"].([]any); ok {
			children = slices.Clone(children)
			for i, c := range children {
				if child, ok := c.(map[string]any); ok {
					children[i] = r.withOwnValues(child)
				}
			}
			nested["generators"] = children
		}
		out[string(kind)] = nested
	}
	return out
}

// withOwnValues marks the values of a generator as template.Optional.
func (r *run) withOwnValues(entry map[string]any) map[string]any {
	out := maps.Clone(entry)
	if !r.Version.Has(versions.ValuesKeptForOwn) {
		return out
	}
	for kind, v := range entry {
		spec, _ := v.(map[string]any)
		values, ok := spec["values"].(map[string]any)
		if ok && slices.Contains(kinds, Kind(kind)) {
			spec = maps.Clone(spec)
			spec["values"] = template.Optional(values)
			out[kind] = spec
		}
	}
	return out
}

// combine joins the parameters of both children of a matrix. With Go templates the first wins and objects are joined
// recursively; without, everything becomes a string and a parameter with two values is an error.
func (r *run) combine(a, b Params) (params Params, size int, err error) {
	if r.Engine.Go() {
		params = override(b, a, &size)
		return params, size, nil
	}
	out := make(Params, len(a)+len(b))
	for k, v := range a {
		out[k] = text(v, &size)
	}
	for _, k := range manifest.Keys(b) {
		v := text(b[k], &size)
		if have, ok := out[k]; ok && have != v {
			return nil, size, fmt.Errorf("parameter %s has two values", k)
		}
		out[k] = v
	}
	return out, size + len(out), nil
}

// text is a value as text. What is not text already counts as a parameter for each 16 bytes.
func text(v any, size *int) string {
	s := printed(v)
	if _, ok := v.(string); !ok {
		*size += len(s) / 16
	}
	return s
}

// override returns base with the values of top on it, objects joined recursively. Neither is changed. It adds what is in new objects to
// size.
func override(base, top map[string]any, size *int) map[string]any {
	out := make(map[string]any, len(base)+len(top))
	maps.Copy(out, base)
	for k, v := range top {
		out[k] = overrideValue(out[k], v, size)
	}
	*size += len(out)
	return out
}

func overrideValue(base, top any, size *int) any {
	bm, ok1 := asMap(base)
	tm, ok2 := asMap(top)
	if !ok1 || !ok2 || len(bm) == 0 {
		return top
	}
	joined := override(bm, tm, size)
	if _, ok := base.(map[string]string); ok {
		return allStrings(joined)
	}
	return joined
}

// asMap returns both kinds of object in parameters as one.
func asMap(v any) (map[string]any, bool) {
	switch m := v.(type) {
	case map[string]any:
		return m, true
	case map[string]string:
		out := make(map[string]any, len(m))
		for k, s := range m {
			out[k] = s
		}
		return out, true
	}
	return nil, false
}

// allStrings keeps the type of a map[string]string if everything in it is a string.
func allStrings(m map[string]any) any {
	out := make(map[string]string, len(m))
	for k, v := range m {
		s, ok := v.(string)
		if !ok {
			return m
		}
		out[k] = s
	}
	return out
}

// merge gives the sets of its first generator, with the values of those sets of the others on them that agree in all
// merge keys.
func (r *run) merge(f *fields, level int) ([]Set, error) {
	generators := f.list("generators")
	keys := f.strings("mergeKeys")
	if err := f.err(); err != nil {
		return nil, err
	}
	if len(generators) < 2 {
		return nil, fmt.Errorf("%s.generators: merge takes two generators or more, there are %d", f.path, len(generators))
	}
	if len(keys) == 0 {
		return nil, fmt.Errorf("%s.mergeKeys: must not be empty", f.path)
	}
	var base []Set
	var baseKeys []string
	for i, g := range generators {
		path := fmt.Sprintf("%s.generators[%d]", f.path, i)
		sets, err := r.child(path, g, level)
		if err != nil {
			return nil, err
		}
		byKey, order, err := r.index(path, keys, sets)
		if err != nil {
			return nil, err
		}
		for n, key := range keys {
			if len(sets) > 0 && !slices.ContainsFunc(sets, func(s Set) bool { return s.Params[key] != nil }) {
				r.warned[fmt.Sprintf("%s.mergeKeys[%d]: %q is no parameter of generators[%d]", f.path, n, key, i)] = KeyAbsent
			}
		}
		if i == 0 {
			base, baseKeys = sets, order
			continue
		}
		for j, key := range baseKeys {
			top, ok := byKey[key]
			if !ok {
				continue
			}
			size := 0
			if r.Engine.Go() {
				base[j].Params = override(base[j].Params, top.Params, &size)
			} else {
				joined := make(Params, len(base[j].Params)+len(top.Params))
				maps.Copy(joined, base[j].Params)
				maps.Copy(joined, top.Params)
				base[j].Params, size = joined, len(joined)
			}
			if err := r.keep(f.path, size); err != nil {
				return nil, err
			}
		}
	}
	return base, nil
}

// index finds sets by the values of their merge keys, which must differ within one generator.
func (r *run) index(path string, keys []string, sets []Set) (byKey map[string]Set, order []string, err error) {
	byKey = make(map[string]Set, len(sets))
	for _, s := range sets {
		values := make(map[string]any, len(keys))
		for _, k := range keys {
			values[k] = s.Params[k]
		}
		text, err := json.Marshal(values)
		if err != nil {
			return nil, nil, fmt.Errorf("%s: merge keys of %s: %w", path, s.Origin, err)
		}
		if err := r.ctx.Err(); err != nil {
			return nil, nil, err
		}
		key := short(text)
		if other, exists := byKey[key]; exists {
			return nil, nil, fmt.Errorf("%s: %s and %s have the same merge keys %s", path, other.Origin, s.Origin, key)
		}
		byKey[key] = s
		order = append(order, key)
	}
	return byKey, order, nil
}
