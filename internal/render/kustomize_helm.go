package render

import (
	"bytes"
	"cmp"
	"fmt"
	"path"
	"strings"

	"sigs.k8s.io/kustomize/api/types"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// inflate replaces the helmCharts of all Kustomizations among files by what the charts become, as far as the charts are there: what
// Kustomize does with --enable-helm, without running helm. Charts that are elsewhere stay, and are refused later.
func inflate(files []tree.File, o Options) ([]tree.File, error) {
	out := append([]tree.File(nil), files...)
	for i, f := range files {
		if !isKustomization(path.Base(f.Name)) || !bytes.Contains(f.Data, []byte("helmCharts")) {
			continue
		}
		var k types.Kustomization
		v, err := manifest.Value(f.Data)
		object, ok := v.(map[string]any)
		if err != nil || !ok || k.Unmarshal(f.Data) != nil || len(k.HelmCharts) == 0 {
			continue // it is checked later
		}
		resources, _ := object["resources"].([]any)
		for n, chart := range k.HelmCharts {
			docs, found, err := inflateChart(files, path.Dir(f.Name), k.HelmGlobals, chart, o)
			if err != nil {
				return nil, fmt.Errorf("%s: helmCharts: %s: %w", o.URL(f.Name), chart.Name, err)
			}
			if !found {
				return nil, fmt.Errorf("%s: helmCharts: the chart %s is not in the source", o.URL(f.Name), chart.Name)
			}
			name := fmt.Sprintf("argosy-helm-chart-%d.yaml", n)
			var b bytes.Buffer
			if err := manifest.WriteYAML(&b, docs...); err != nil {
				return nil, err
			}
			out = append(out, tree.File{Name: path.Join(path.Dir(f.Name), name), Data: b.Bytes()})
			resources = append(resources, name)
		}
		object["resources"] = resources
		delete(object, "helmCharts")
		delete(object, "helmGlobals")
		var b bytes.Buffer
		if err := manifest.WriteYAML(&b, object); err != nil {
			return nil, err
		}
		out[i].Data = b.Bytes()
	}
	tree.Sort(out)
	return out, nil
}

// inflateChart renders one chart that is beside its Kustomization.
func inflateChart(files []tree.File, dir string, globals *types.HelmGlobals, h types.HelmChart, o Options) (objects []manifest.Object, found bool, err error) {
	home := "charts"
	if globals != nil {
		home = cmp.Or(globals.ChartHome, home)
	}
	var at string
	for _, name := range []string{path.Join(dir, home, h.Name+"-"+h.Version, h.Name), path.Join(dir, home, h.Name)} {
		if _, ok := tree.Find(files, path.Join(name, "Chart.yaml")); ok {
			at = name
			break
		}
	}
	if at == "" {
		return nil, false, nil
	}
	var chartFiles []tree.File
	for _, f := range files {
		if rest, ok := strings.CutPrefix(f.Name, at+"/"); ok {
			chartFiles = append(chartFiles, tree.File{Name: rest, Data: f.Data})
		}
	}
	c := Chart{ReleaseName: cmp.Or(h.ReleaseName, h.Name), Namespace: cmp.Or(h.Namespace, "default"), Values: h.ValuesInline, SkipCRDs: !h.IncludeCRDs}
	names := h.AdditionalValuesFiles
	if h.ValuesFile != "" {
		names = append([]string{h.ValuesFile}, names...)
	}
	for _, name := range names {
		data, ok := tree.Find(files, path.Join(dir, name))
		if !ok {
			return nil, true, fmt.Errorf("%q is not in the source", name)
		}
		c.ValueFiles = append(c.ValueFiles, tree.File{Name: name, Data: data})
	}
	docs, err := chart(chartFiles, Options{Type: Helm, URL: func(name string) string { return o.URL(path.Join(at, name)) }, KubeVersion: o.KubeVersion, APIVersions: o.APIVersions, Chart: c})
	for _, d := range docs {
		objects = append(objects, d.Object)
	}
	return objects, true, err
}
