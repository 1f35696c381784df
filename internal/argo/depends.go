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

// AssignWaves sets the sync wave of each Application that needs others: the first wave after theirs, and at least its entry in least. An
// Application that sets its own wave keeps it; a wave that is not after those of its needs is an error. Applications that need each other,
// or need one that is not there, are errors, too. With an error, nothing is changed.
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
	path  []string // from the first Application to the current one
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
		d.fail(name, "its own annotation puts it into wave %d, but %s, which it needs, is in wave %d", own, nearest, least-1)
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
