package edit

import (
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

// Waves writes the waves of Applications that need others into their files, and prints which. Local are the repositories on disk.
func Waves(out io.Writer, local []gitsource.Local, p *plan.Plan) error {
	editor := newEditor(local)
	var list []annotation
	var errs []error
	for _, app := range p.Applications {
		edits, err := assignWaves(app)
		errs = append(errs, err)
		for _, e := range edits {
			found, err := editor.find(app, e.item)
			if err != nil {
				errs = append(errs, fmt.Errorf("%s: no wave can be written: %w; the plugin appset assigns waves by itself", e.item.Name,
					err))
				continue
			}
			list = append(list, annotation{found, e.item.Name, argo.SyncWaveAnnotation, strconv.Itoa(e.wave)})
		}
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	list = distinct(list)
	if err := editor.write(list); err != nil {
		return err
	}
	for _, a := range list {
		if err := words.Line(out, "%s: %s is in wave %s", input.Near(a.file), a.name, a.value); err != nil {
			return err
		}
	}
	return nil
}

// waveEdit is a wave that an Application gets.
type waveEdit struct {
	item *plan.Item
	wave int
}

// assignWaves returns the changed waves of an Application's children that need others. Their current waves are ignored: they may be from an
// earlier run.
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
		objects = append(objects, manifest.Object{
			"apiVersion": argo.APIVersion, "kind": argo.KindApplication,
			"metadata": map[string]any{"name": item.Name, "annotations": annotations},
		})
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
