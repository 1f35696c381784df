package settings

import (
	"cmp"
	"fmt"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
)

// found are settings and their document.
type found struct {
	manifest.Document
	settings *Settings
	err      error
}

// Parse reads a file with the settings of one Argo CD: argocd-cm or its data alone, an ArgoCD resource, values of the chart argo-cd, or an
// Application or a Kustomization that has such values. The file may have other documents. A file without settings, or with the
// settings of two, is an error.
func Parse(file string, data []byte) (*Settings, error) {
	docs, err := manifest.Decode(file, data)
	if err != nil {
		return nil, err
	}
	all := read(docs, fromDocument)
	if len(all) == 0 {
		all = read(docs, fromOtherConfigMap)
	}
	switch len(all) {
	case 0:
		return nil, fmt.Errorf("%s: no settings of Argo CD in it; it must have the ConfigMap %s or its data, an ArgoCD resource, or "+
			"values of the chart %s (configs.cm)", file, ConfigMap, chartName)
	case 1:
	default:
		return nil, fmt.Errorf("%s: settings of two Argo CDs, %s and %s; keep one", file, all[0].settings.Origin, all[1].settings.Origin)
	}
	where := file
	if len(docs) > 1 {
		where = all[0].String()
	}
	var progressive Progressive
	timeout := SyncTimeout()
	for _, d := range docs {
		progressive.Learn(d.Object)
		timeout.Learn(d.Object)
		if manifest.String(d.Object, "kind") == "" {
			progressive.LearnValues(d.Object)
			timeout.LearnValues(d.Object)
		}
	}
	all[0].settings.ProgressiveSyncs, all[0].settings.SetPolicy = progressive.Known(), progressive.Policy()
	if value, ok := timeout.Known(); ok {
		all[0].settings.SyncTimeout = value
	}
	return all[0].settings, problem.Wrap(all[0].err, func(e error) error { return fmt.Errorf("%s: %w", where, e) })
}

type reader func(o manifest.Object) (*Settings, bool, error)

func read(docs []manifest.Document, from reader) []found {
	var out []found
	for _, d := range docs {
		s, ok, err := from(d.Object)
		if !ok {
			continue
		}
		s.Origin += " at " + d.String()
		out = append(out, found{d, s, err})
	}
	return out
}

func fromDocument(o manifest.Object) (*Settings, bool, error) {
	if s, ok, err := FromObject(o); ok {
		return s, ok, err
	}
	kind := manifest.String(o, "kind")
	switch {
	case argo.IsApplication(o):
		return FromApplication(o)
	// Kustomize does not require a kind.
	case kind == "Kustomization" || kind == "" && o["helmCharts"] != nil:
		return FromKustomization(o)
	case kind != "":
		return nil, false, nil
	case isData(o):
		s, err := fromData(InConfigMap, ConfigMap, o)
		return s, true, err
	default:
		return FromValues(o)
	}
}

// fromOtherConfigMap reads a ConfigMap whose name is absent or changed, by its keys.
func fromOtherConfigMap(o manifest.Object) (*Settings, bool, error) {
	data := manifest.Map(o, "data")
	if !isConfigMap(o) || !isData(data) {
		return nil, false, nil
	}
	s, err := fromData(InConfigMap, cmp.Or(manifest.String(o, "metadata", "name"), ConfigMap), data)
	return s, true, err
}
