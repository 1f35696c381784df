package demo

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/screen"
	"github.com/argosy-cd/argosy/internal/trigger/triggerurl"
	"github.com/argosy-cd/argosy/internal/words"
)

// clocks returns the trigger repositories of Applications, or, without any, the default one.
func (v *show) clocks() []string {
	var out []string
	for _, r := range v.boot.Runs {
		for _, s := range v.apps[r.Name].Sources {
			if v.stage.clockPath(s.Repository) != "" && !slices.Contains(out, s.Repository) {
				out = append(out, s.Repository)
			}
		}
	}
	if out == nil {
		out = []string{v.stage.git + "/" + triggerurl.Interval}
	}
	return out
}

// ticked fetches the clocks and says of each whether it has ticked since the last time.
func (v *show) ticked(ctx context.Context) (map[string]bool, error) {
	out := map[string]bool{}
	for _, url := range v.clocks() {
		commit, err := v.stage.fetch(ctx, url)
		if err != nil {
			return nil, err
		}
		out[url] = v.commits[url] != commit
		v.commits[url] = commit
	}
	return out, nil
}

// tick is when clocks may tick: they are fetched, and Argo CD asks the plugins again.
func (v *show) tick(ctx context.Context) {
	at := v.next
	v.next += interval
	round, err := v.refresh(ctx)
	if ctx.Err() != nil {
		return
	}
	wrong := ""
	if err != nil {
		wrong = err.Error()
	}
	if wrong != v.wrong { // it stays so for many ticks
		for line := range strings.Lines(wrong) {
			v.at(at, "%s asked again: %s", screen.Degraded, words.Harmless(strings.TrimSpace(line)))
		}
		if wrong == "" {
			v.at(at, "%s asked again: the errors are gone", screen.Healthy)
		}
	}
	v.wrong = wrong
	what := "asked again"
	if len(round.ticked) > 0 {
		what = strings.Join(round.ticked, ", ") + " ticked"
		v.ticks++
	}
	v.last = fmt.Sprintf("%s: %s rendered again", what, words.Count(round.again, "Application"))
	if len(round.changes) == 0 && (at > v.boot.Total || round.again == 0 || wrong != "") {
		return
	}
	ends := ", nothing has changed"
	if len(round.changes) > 0 {
		ends = ", changed:"
	}
	v.at(at, "  %s%s", v.last, ends)
	for _, c := range round.changes {
		v.at(at, "    %s", c)
	}
}

// round is the result of a refresh of all Applications.
type round struct {
	ticked  []string // clocks, and their commits
	again   int      // Applications that were rendered again
	changes []string
}

// refresh asks the clocks, and then the plugins about Applications of clocks that have ticked, and of repositories and buckets that may
// have changed.
func (v *show) refresh(ctx context.Context) (round, error) {
	var r round
	if err := v.stage.look(ctx); err != nil {
		return r, err
	}
	ticked, err := v.ticked(ctx)
	if err != nil {
		return r, err
	}
	for _, url := range v.clocks() {
		if ticked[url] {
			r.ticked = append(r.ticked, fmt.Sprintf("%s (%.7s)", v.stage.clockPath(url), v.commits[url]))
		}
	}
	var errs []error
	for _, run := range v.boot.Runs {
		app := v.apps[run.Name]
		for i, s := range app.Sources {
			key := answerKey(run.Name, i)
			before := v.answers[key]
			if _, isClock := ticked[s.Repository]; before == nil || isClock && !ticked[s.Repository] {
				continue
			}
			objects, err := v.stage.generate(ctx, app, s)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: %w", run.Name, err))
				continue
			}
			r.again++
			v.asked[pluginOf(s)]++
			v.answers[key] = fingerprints(objects)
			r.changes = append(r.changes, changed(words.Printable(run.Name), before, v.answers[key])...)
		}
	}
	return r, errors.Join(errs...)
}

// answerKey is one source of an Application.
func answerKey(app string, source int) string { return fmt.Sprint(app, "\x00", source) }

// fingerprints are the objects of an answer, by kind and name, and by more where that is not enough.
func fingerprints(objects []manifest.Object) map[string]string {
	out := map[string]string{}
	for _, o := range objects {
		data, err := json.Marshal(o)
		if err != nil {
			continue // it was JSON
		}
		name := manifest.String(o, "kind") + " " + cmp.Or(manifest.String(o, "metadata", "name"),
			manifest.String(o, "metadata", "generateName")+"*")
		if out[name] != "" {
			name = fmt.Sprintf("%s in %s", name, cmp.Or(manifest.String(o, "metadata", "namespace"), "no namespace"))
		}
		if out[name] != "" {
			name = fmt.Sprintf("%s, %.8s", name, bucket.Sum(data))
		}
		out[name] = string(data)
	}
	return out
}

// pinned matches the commit that an Application is pinned to.
var pinned = regexp.MustCompile(`"targetRevision":"([0-9a-f]{40})"`)

// changed describes new, removed and different objects of an answer. Applications that only get another commit are one line.
func changed(app string, before, after map[string]string) []string {
	var out []string
	commits := map[string]int{}
	for _, name := range slices.Sorted(maps.Keys(after)) {
		old, ok := before[name]
		switch {
		case !ok:
			out = append(out, fmt.Sprintf("%s: + %s", app, words.Printable(name)))
		case old == after[name]:
		case pinned.ReplaceAllString(old, "") == pinned.ReplaceAllString(after[name], ""):
			commits[pinned.FindStringSubmatch(after[name])[1]]++
		default:
			out = append(out, fmt.Sprintf("%s: ~ %s", app, words.Printable(name)))
		}
	}
	for _, commit := range slices.Sorted(maps.Keys(commits)) {
		out = append(out, fmt.Sprintf("%s: the commit %.7s for %s, for each when its wave comes", app, commit,
			words.Count(commits[commit], "Application")))
	}
	for _, name := range slices.Sorted(maps.Keys(before)) {
		if _, ok := after[name]; !ok {
			out = append(out, fmt.Sprintf("%s: - %s", app, words.Printable(name)))
		}
	}
	return out
}
