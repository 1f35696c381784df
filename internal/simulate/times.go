package simulate

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/strict"
)

// Times configures durations. Later sources win: the default model, a file, a boot, given durations.
type Times struct {
	// Model is a file with times by kind and by Application, Learn one with a boot. "" is none.
	Model, Learn string
	// Durations are of the workloads of Applications, NAME=TIME.
	Durations []string
	// Jitter and Seed are those of Model.
	Jitter float64
	Seed   uint64
	// Read reads a file.
	Read func(file string) ([]byte, error)
	// Note is called with notes for the user.
	Note func(line string)
}

// Load puts the model for a plan together.
func (t Times) Load(p *plan.Plan) (Model, error) {
	m := DefaultModel()
	m.Applications, m.Jitter, m.Seed = map[string]time.Duration{}, t.Jitter, t.Seed
	if t.Model != "" {
		if err := t.readModel(p, &m); err != nil {
			return m, err
		}
	}
	if t.Learn != "" {
		if err := t.readBoot(p, &m); err != nil {
			return m, err
		}
	}
	for _, text := range t.Durations {
		name, value, ok := strings.Cut(text, "=")
		d, err := time.ParseDuration(value)
		if !ok || name == "" || err != nil || d < 0 {
			return m, problem.Usagef("--duration must be NAME=TIME, such as longhorn=3m; it is %q", text)
		}
		m.Applications[name] = d
	}
	return m, nil
}

// modelFile is the file with a model.
type modelFile struct {
	Kinds        map[string]any `field:"kinds" doc:"time until an object of a kind is healthy, such as 30s"`
	Applications map[string]any `field:"applications" doc:"time that each workload of an Application takes, instead of that of its kind"`
}

// times reads durations by name.
func times(doc *strict.Document, field string, in map[string]any, out map[string]time.Duration) error {
	var errs []error
	for name, v := range in {
		text, _ := v.(string)
		d, err := time.ParseDuration(text)
		if err != nil || d < 0 {
			errs = append(errs, doc.Errorf(field, "%s.%s must be a duration such as 30s, it is %v", field, name, v))
			continue
		}
		out[name] = d
	}
	return errors.Join(errs...)
}

// readModel reads the file with a model.
func (t Times) readModel(p *plan.Plan, m *Model) error {
	data, err := t.Read(t.Model)
	if err != nil {
		return err
	}
	var f modelFile
	doc, err := strict.Decode(t.Model, data, &f)
	if err != nil {
		return err
	}
	if err := errors.Join(times(doc, "kinds", f.Kinds, m.Kinds), times(doc, "applications", f.Applications, m.Applications)); err != nil {
		return err
	}
	for _, kind := range slices.Sorted(maps.Keys(f.Kinds)) {
		if !p.HasKind(kind) {
			t.Note(fmt.Sprintf("%s: there is no %s in the plan", t.Model, kind))
		}
	}
	return nil
}

// readBoot reads the file with a boot, for the Applications of the plan.
func (t Times) readBoot(p *plan.Plan, m *Model) error {
	data, err := t.Read(t.Learn)
	if err != nil {
		return err
	}
	learnt, err := learn(t.Learn, data, m.Apply, t.Note)
	if err != nil {
		return err
	}
	used := 0
	for app, name := range Names(p) {
		// Skip Applications that are not in the plan, and parents, whose time is their children's.
		if d, ok := learnt[name]; ok && !app.DeploysOthers() {
			m.Applications[name] = d
			used++
		}
	}
	if used == 0 {
		return fmt.Errorf("%s: no Application of the plan is in it, except for those that only deploy others", t.Learn)
	}
	return nil
}
