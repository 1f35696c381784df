package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

// runAssignWaves writes the waves of Applications that need others into their files.
func runAssignWaves(ctx context.Context, std stdio, repos *repositories, p *plan.Plan) error {
	var edits []waveEdit
	var errs []error
	for _, app := range p.Applications {
		more, err := assignWaves(app)
		edits, errs = append(edits, more...), append(errs, err)
	}
	for i := range edits {
		var err error
		edits[i].path, err = repos.path(ctx, edits[i].item.Repository, edits[i].item.Position.File)
		errs = append(errs, err)
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	// All or nothing: every file is changed in memory first.
	changed := map[string][]byte{}
	// From the end of each file, so that lines before stay where they are.
	last := slices.SortedStableFunc(slices.Values(edits), func(a, b waveEdit) int { return b.item.Position.Line - a.item.Position.Line })
	for _, e := range last {
		data := changed[e.path]
		if data == nil {
			var err error
			if data, err = readLimited(e.path); err != nil {
				return err
			}
		}
		after, err := e.apply(data)
		if err != nil {
			return fmt.Errorf("%s: %s: %w", e.item.Position, e.item.Name, err)
		}
		changed[e.path] = after
	}
	for path, data := range changed {
		if err := replaceFile(path, data); err != nil {
			return err
		}
	}
	for _, e := range edits {
		if err := printLine(std.out, "%s: %s is in wave %d", nearName(e.path), e.item.Name, e.wave); err != nil {
			return err
		}
	}
	return nil
}

// waveEdit is a wave that an Application gets.
type waveEdit struct {
	item *plan.Item
	wave int
	path string
}

// assignWaves returns the waves of those that an Application deploys and that need others, if they are not in them already. What they
// have now does not count: it may be from before.
func assignWaves(app *plan.Application) ([]waveEdit, error) {
	var objects []manifest.Object
	var items []*plan.Item
	for _, item := range app.Items {
		if item.Application == nil {
			continue
		}
		annotations := map[string]any{argo.DependsAnnotation: strings.Join(item.Application.Needs, ",")}
		if len(item.Application.Needs) == 0 {
			annotations[argo.SyncWaveAnnotation] = strconv.Itoa(item.Wave)
		}
		objects = append(objects, manifest.Object{"apiVersion": argo.APIVersion, "kind": argo.KindApplication, "metadata": map[string]any{"name": item.Name, "annotations": annotations}})
		items = append(items, item)
	}
	if err := argo.AssignWaves(objects, nil); err != nil {
		return nil, err
	}
	var edits []waveEdit
	for i, item := range items {
		wave, err := strconv.Atoi(manifest.String(objects[i], "metadata", "annotations", argo.SyncWaveAnnotation))
		if len(item.Application.Needs) > 0 && err == nil && wave != item.Wave {
			edits = append(edits, waveEdit{item: item, wave: wave})
		}
	}
	return edits, nil
}

var (
	waveLine  = regexp.MustCompile(`("?` + regexp.QuoteMeta(argo.SyncWaveAnnotation) + `"?:\s*)("[^"]*"|'[^']*'|[^\s,}]+)`)
	needsLine = regexp.MustCompile(`(?m)^(\s*)("?` + regexp.QuoteMeta(argo.DependsAnnotation) + `"?:)`)
	needsFlow = regexp.MustCompile(`("?` + regexp.QuoteMeta(argo.DependsAnnotation) + `"?:)`)
)

// apply writes the wave into the text of a file, beside the annotation that is there already, and looks whether that is what became of it.
func (e waveEdit) apply(data []byte) ([]byte, error) {
	lines := strings.SplitAfter(string(data), "\n")
	from := max(0, e.item.Position.Line-1)
	to := from + 1
	for to < len(lines) && !strings.HasPrefix(lines[to], "---") {
		to++
	}
	if from >= len(lines) {
		return nil, errors.New("the file has changed")
	}
	doc, quoted := strings.Join(lines[from:to], ""), strconv.Quote(strconv.Itoa(e.wave))
	switch {
	case waveLine.MatchString(doc):
		doc = replaceFirst(waveLine, doc, "${1}"+quoted)
	case needsLine.MatchString(doc):
		doc = replaceFirst(needsLine, doc, "${1}"+argo.SyncWaveAnnotation+": "+quoted+"\n${1}${2}")
	default:
		doc = replaceFirst(needsFlow, doc, argo.SyncWaveAnnotation+": "+quoted+", ${1}")
	}
	after := []byte(strings.Join(lines[:from], "") + doc + strings.Join(lines[to:], ""))
	docs, err := manifest.Decode(e.item.Position.File, after)
	if err != nil {
		return nil, fmt.Errorf("the wave cannot be written here, write %s: %s yourself", argo.SyncWaveAnnotation, quoted)
	}
	for _, d := range docs {
		if manifest.String(d.Object, "metadata", "name") == e.item.Name && manifest.String(d.Object, "metadata", "annotations", argo.SyncWaveAnnotation) == strconv.Itoa(e.wave) {
			return after, nil
		}
	}
	return nil, fmt.Errorf("the wave cannot be written here, write %s: %s yourself", argo.SyncWaveAnnotation, quoted)
}

func replaceFirst(r *regexp.Regexp, s, with string) string {
	at := r.FindStringSubmatchIndex(s)
	if at == nil {
		return s
	}
	return s[:at[0]] + string(r.ExpandString(nil, with, s, at)) + s[at[1]:]
}

// path is a file of a repository on disk.
func (r *repositories) path(ctx context.Context, url, file string) (string, error) {
	r.once.Do(func() { r.err = r.open(ctx) })
	for _, l := range r.local {
		if gitsource.Key(l.URL) != gitsource.Key(url) || l.Revision != "" {
			continue
		}
		path := filepath.Join(l.Path, filepath.FromSlash(file))
		if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() {
			return path, nil
		}
	}
	return "", fmt.Errorf("%s: it is made, or not in a work tree, so no wave can be written into it; the plugin appset assigns waves by itself", file)
}

// replaceFile writes a file so that it is the old one or the new one.
func replaceFile(path string, data []byte) error {
	info, err := os.Stat(path)
	if err != nil {
		return pathError(err)
	}
	f, err := os.CreateTemp(filepath.Dir(path), ".argosy-")
	if err != nil {
		return pathError(err)
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Chmod(info.Mode().Perm()), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		return errors.Join(pathError(err), os.Remove(f.Name()))
	}
	return nil
}
