package settings

import (
	"encoding/json"
	"fmt"
	"maps"
	"path"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// chartName is the name of the Helm chart of Argo CD.
const chartName = "argo-cd"

const valuesOrigin = "values of the chart " + chartName

// FromValues reads values of the Helm chart argo-cd, or of a chart that depends on it: configs.cm, or server.config for charts before
// version 5. It reports false for values without settings. The chart has defaults of its own for some keys, by version, which are
// not known here; no version has options of Kustomize, so values without them are known to have none.
func FromValues(values map[string]any) (s *Settings, ok bool, err error) {
	data, ok := chartData(values)
	if !ok {
		return nil, false, nil
	}
	s, err = fromData(InValues, "", data)
	s.Version = VersionOfValues(values)
	return s, true, err
}

// chartData finds the data of argocd-cm in values: at the top, below the usual names of the dependency, or below any other alias.
func chartData(values map[string]any) (map[string]any, bool) {
	if data, ok := ownData(values); ok {
		return data, true
	}
	for _, name := range append([]string{chartName, "argocd"}, manifest.Keys(values)...) {
		nested := manifest.Map(values, name)
		// An "enabled" at the top of a dependency's values is the condition of the dependency.
		if nested == nil || nested["enabled"] == false {
			continue
		}
		data, ok := ownData(nested)
		if ok && (name == chartName || name == "argocd" || isData(data)) {
			return data, true
		}
	}
	return nil, false
}

// ownData returns the data of argocd-cm in the chart's own values. Charts since version 6 ignore server.config, so it counts only alone,
// and, because other charts have a field of that name, only with keys of argocd-cm.
func ownData(values map[string]any) (map[string]any, bool) {
	if cm := manifest.Map(values, "configs", "cm"); cm != nil {
		return rendered(cm), cm["create"] != false
	}
	config := manifest.Map(values, "server", "config")
	return rendered(config), isData(config) && manifest.Map(values, "server")["configEnabled"] != false
}

// rendered returns the data as the chart writes it: scalars become strings, and empty ones are left out.
func rendered(values map[string]any) map[string]any {
	data := map[string]any{}
	for key, v := range values {
		switch v := v.(type) {
		case nil:
		case bool, int64, float64, json.Number:
			data[key] = fmt.Sprint(v)
		default:
			if v != "" {
				data[key] = v
			}
		}
	}
	delete(data, "create")
	delete(data, "annotations")
	return data
}

// FromApplication reads the values that are inside an Application for the chart argo-cd, or for one that depends on it. It reports
// false for an Application without them. Value files are not read; with them the settings are partial.
func FromApplication(app manifest.Object) (s *Settings, ok bool, err error) {
	for _, source := range argo.Sources(app) {
		helm := manifest.Map(source, "helm")
		values, err := inline(helm)
		if err != nil && isChart(source) {
			return &Settings{Health: health.Customizations{}, Partial: true, Kind: InValues, Origin: valuesOrigin}, true, err
		}
		files, _ := helm["valueFiles"].([]any)
		more, _ := helm["fileParameters"].([]any)
		if s, ok, err := fromInline(values, len(files)+len(more) > 0); ok {
			return s, ok, err
		}
	}
	return nil, false, nil
}

// FromKustomization reads the values that are inside a Kustomization for the chart argo-cd. It reports false for a Kustomization
// without them. Value files are not read; with them the settings are partial.
func FromKustomization(k map[string]any) (s *Settings, ok bool, err error) {
	charts, _ := k["helmCharts"].([]any)
	for _, item := range charts {
		chart, _ := item.(map[string]any)
		more, _ := chart["additionalValuesFiles"].([]any)
		files := len(more) > 0 || manifest.String(chart, "valuesFile") != ""
		if s, ok, err := fromInline(manifest.Map(chart, "valuesInline"), files); ok {
			return s, ok, err
		}
	}
	return nil, false, nil
}

func fromInline(values map[string]any, files bool) (s *Settings, ok bool, err error) {
	s, ok, err = FromValues(values)
	if ok && files {
		data, _ := chartData(values)
		s.partial(data)
	}
	return s, ok, err
}

// inline returns the values in the helm section of a source: valuesObject, or else values, and parameters for argocd-cm on top.
func inline(helm map[string]any) (map[string]any, error) {
	values := manifest.Map(helm, "valuesObject")
	if values == nil {
		v, err := manifest.Value([]byte(manifest.String(helm, "values")))
		if err != nil {
			return nil, fmt.Errorf("helm.values: %w", err)
		}
		values, _ = v.(map[string]any)
	}
	parameters, _ := helm["parameters"].([]any)
	for _, item := range parameters {
		p, _ := item.(map[string]any)
		key, ok := strings.CutPrefix(manifest.String(p, "name"), "configs.cm.")
		if !ok {
			continue
		}
		key = strings.ReplaceAll(key, `\.`, ".")
		values = with(values, key, p["value"])
	}
	return values, nil
}

// with returns values with one key of configs.cm set. It changes copies.
func with(values map[string]any, key string, v any) map[string]any {
	out, configs, cm := map[string]any{}, map[string]any{}, map[string]any{}
	maps.Copy(out, values)
	maps.Copy(configs, manifest.Map(values, "configs"))
	maps.Copy(cm, manifest.Map(values, "configs", "cm"))
	cm[key] = v
	configs["cm"], out["configs"] = cm, configs
	return out
}

// isChart reports whether a source is the chart argo-cd: of a Helm repository, or an OCI artifact.
func isChart(source map[string]any) bool {
	url := manifest.String(source, "repoURL")
	return path.Base(manifest.String(source, "chart")) == chartName || strings.HasPrefix(url, "oci://") && path.Base(url) == chartName
}
