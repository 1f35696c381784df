package argo

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// DependsAnnotation names the Applications, beside it, that an Application needs: a,b.
const DependsAnnotation = "argosy.dev/depends-on"

// Dependencies returns what an Application needs.
func Dependencies(app manifest.Object) []string {
	var out []string
	for name := range strings.SplitSeq(manifest.String(app, "metadata", "annotations", DependsAnnotation), ",") {
		if name = strings.TrimSpace(name); name != "" && !slices.Contains(out, name) {
			out = append(out, name)
		}
	}
	return out
}

// AssignWaves gives each Application among objects that needs others a sync wave behind theirs, and not before the least one it may have,
// unless it has one of its own, which must be behind theirs then. It reports Applications that need each other, or some that are not there,
// and changes nothing if it does.
func AssignWaves(objects []manifest.Object, least map[string]int) error {
	d := &dependencies{least: least, apps: map[string]manifest.Object{}, waves: map[string]int{}, wrong: map[string]bool{}}
	var names []string
	for _, o := range objects {
		if IsApplication(o) {
			name := manifest.String(o, "metadata", "name")
			d.apps[name] = o
			names = append(names, name)
		}
	}
	for _, name := range names {
		d.wave(name)
	}
	if len(d.errs) > 0 {
		return errors.Join(d.errs...)
	}
	for _, name := range names {
		o := d.apps[name]
		if _, own := explicit(o); own || len(Dependencies(o)) == 0 {
			continue
		}
		manifest.Map(o, "metadata", "annotations")[SyncWaveAnnotation] = strconv.Itoa(d.waves[name])
	}
	return nil
}

// explicit returns the wave that an object has itself.
func explicit(o manifest.Object) (int, bool) {
	text := manifest.String(o, "metadata", "annotations", SyncWaveAnnotation)
	wave, err := strconv.Atoi(text)
	return wave, text != "" && err == nil
}

type dependencies struct {
	least map[string]int
	apps  map[string]manifest.Object
	waves map[string]int
	wrong map[string]bool
	path  []string // from the Application that was asked for to the one that is looked at
	errs  []error
}

func (d *dependencies) fail(name, format string, args ...any) {
	if !d.wrong[name] {
		d.errs = append(d.errs, fmt.Errorf("%s %q: %s: %s", KindApplication, name, DependsAnnotation, fmt.Sprintf(format, args...)))
	}
	d.wrong[name] = true
}

// wave returns the wave of an Application.
func (d *dependencies) wave(name string) int {
	if wave, ok := d.waves[name]; ok {
		return wave
	}
	if i := slices.Index(d.path, name); i >= 0 {
		d.fail(name, "they need each other: %s", strings.Join(append(slices.Clone(d.path[i:]), name), " → "))
		for _, other := range d.path[i:] {
			d.wrong[other] = true
		}
		return 0
	}
	d.path = append(d.path, name)
	defer func() { d.path = d.path[:len(d.path)-1] }()
	o := d.apps[name]
	least, nearest := d.least[name], ""
	needs := Dependencies(o)
	for _, need := range needs {
		if d.apps[need] == nil {
			d.fail(name, "there is no Application %q beside it", need)
			continue
		}
		if wave := d.wave(need) + 1; nearest == "" || wave > least {
			least, nearest = wave, need
		}
	}
	own, set := explicit(o)
	if set && nearest != "" && own < least {
		d.fail(name, "it is in wave %d by its own annotation, and %s, which it needs, in wave %d", own, nearest, least-1)
	}
	if floor, ok := d.least[name]; ok {
		least = max(least, floor)
	}
	if set {
		least = own
	}
	d.waves[name] = least
	return least
}
