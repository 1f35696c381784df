package convert

import (
	"errors"
	"fmt"
	"reflect"
	"strings"

	"github.com/argosy-cd/argosy/internal/appsetplugin"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/strict"
)

// Folder returns a file whose Applications deploy their folder by way of the plugin: the sets in the folder stay as they are. Sets returns
// the sets in the folder of a source; fields of them that lose their effect are warnings.
func Folder(file string, data []byte, sets func(source map[string]any) ([]manifest.Object, error)) (*Result, error) {
	return each(file, data, kinds{isPlain, UsesFolder}, func(e *edit) error {
		source, err := FolderSource(e.object)
		if err != nil {
			return err
		}
		e.warnings = append(e.warnings, lostInFolder(e.object, sets)...)
		return e.swap("directory", "plugin", manifest.Map(source, "plugin"))
	})
}

// lostInFolder names fields that lose their effect when an Application renders its folder with the plugin.
func lostInFolder(root manifest.Object, sets func(source map[string]any) ([]manifest.Object, error)) []string {
	var out []string
	if paths := manifest.String(root, "metadata", "annotations", argo.PathsAnnotation); paths != "" {
		out = append(out, fmt.Sprintf("metadata.annotations: %s: %q: a commit outside of these paths does not render the sets again; add "+
			"the directories that Git generators read, or remove the annotation", argo.PathsAnnotation, paths))
	}
	list, err := sets(manifest.Map(root, "spec", "source"))
	if err != nil {
		return append(out, fmt.Sprintf("its folder is not checked: %v; spec.ignoreApplicationDifferences, spec.preservedFields and "+
			"spec.syncPolicy.applicationsSync of its sets may lose their effect, and argosy plan has a finding for each", err))
	}
	for _, set := range list {
		for _, w := range Lacking(root, set) {
			out = append(out, fmt.Sprintf("ApplicationSet %q in its folder: %s", manifest.String(set, "metadata", "name"), w))
		}
	}
	return out
}

// ReverseFolder undoes Folder.
func ReverseFolder(file string, data []byte) (*Result, error) {
	return each(file, data, kinds{UsesFolder, isPlain},
		func(e *edit) error {
			plugin := manifest.Map(e.object, "spec", "source", "plugin")
			list, _ := plugin["parameters"].([]any)
			for _, v := range list {
				if m, _ := v.(map[string]any); manifest.String(m, "name") != appsetplugin.ParameterRecurse {
					e.warnings = append(e.warnings, fmt.Sprintf("spec.source.plugin.parameters: %s: lost; it is a parameter of the plugin",
						manifest.String(m, "name")))
				}
			}
			if directory := manifest.Map(PlainSource(e.object), "directory"); directory != nil {
				return e.swap("plugin", "directory", directory)
			}
			return e.swap("plugin", "", nil)
		})
}

// FolderSource returns the source of an Application that deploys a folder, with the plugin in it.
func FolderSource(app manifest.Object) (map[string]any, error) {
	source, err := folderSource(app)
	if err != nil {
		return nil, err
	}
	plugin := map[string]any{"name": argo.PluginAppSet}
	if directory := manifest.Map(source, "directory"); directory["recurse"] == true {
		plugin["parameters"] = []any{map[string]any{"name": appsetplugin.ParameterRecurse, "string": "true"}}
	}
	out := manifest.Copy(source).(map[string]any)
	delete(out, "directory")
	out["plugin"] = plugin
	return out, nil
}

// PlainSource returns the source of an Application that renders its folder with the plugin, without the plugin.
func PlainSource(app manifest.Object) map[string]any {
	out := manifest.Copy(manifest.Map(app, "spec", "source")).(map[string]any)
	if given, _ := appsetplugin.SourceParameters(out); given.Recurse {
		out["directory"] = map[string]any{"recurse": true}
	}
	delete(out, "plugin")
	return out
}

// UsesFolder reports whether an Application renders its folder with the plugin.
func UsesFolder(o manifest.Object) bool {
	return argo.IsApplication(o) && usesPlugin(o) && !IsParent(o)
}

// isPlain reports whether an object is an Application without the plugin.
func isPlain(o manifest.Object) bool { return argo.IsApplication(o) && !usesPlugin(o) }

func usesPlugin(o manifest.Object) bool {
	return argo.IsPlugin(manifest.String(o, "spec", "source", "plugin", "name"), argo.PluginAppSet)
}

// folderSource returns the source of an Application that deploys a folder of manifests and nothing else.
func folderSource(app manifest.Object) (map[string]any, error) {
	spec := manifest.Map(app, "spec")
	source := manifest.Map(spec, "source")
	if source == nil || argo.HasList(spec) || spec["sourceHydrator"] != nil {
		return nil, errors.New("it must have one source: the plugin renders a folder")
	}
	for _, k := range []string{"chart", "plugin", "helm", "kustomize"} {
		if source[k] != nil {
			return nil, fmt.Errorf("spec.source.%s: it cannot be combined with a plugin; put these settings into the folder", k)
		}
	}
	for _, k := range manifest.Keys(manifest.Map(source, "directory")) {
		if k != "recurse" {
			return nil, fmt.Errorf("spec.source.directory.%s: the plugin has no equivalent", k)
		}
	}
	return source, nil
}

// swap replaces a field of the source by another one. A field that is not there is added behind the path.
func (e *edit) swap(old, name string, value map[string]any) error {
	want := manifest.Copy(e.object).(map[string]any)
	source := manifest.Map(want, "spec", "source")
	delete(source, old)
	if name != "" {
		source[name] = value
	}
	s, err := e.swapText(old, name, value)
	if err == nil {
		err = e.finish(apply(e.data, []splice{s}), func(got manifest.Object) bool { return reflect.DeepEqual(got, want) })
	}
	if errors.Is(err, errText) {
		cure := fmt.Sprintf("remove %s from its source yourself", old)
		if name != "" {
			cure = fmt.Sprintf("write %s into its source yourself", flow(map[string]any{name: value}))
		}
		return fmt.Errorf("its text cannot be edited without changing something else; %s", cure)
	}
	return err
}

func (e *edit) swapText(old, name string, value map[string]any) (splice, error) {
	spec, _ := e.node.Field("spec")
	if spec.Value == nil {
		return splice{}, errText
	}
	source, _ := spec.Value.Field("source")
	if source.Value == nil || source.Value.Kind != strict.ObjectNode {
		return splice{}, errText
	}
	lines, inline := "", ""
	if name != "" {
		lines = string(manifest.AppendYAML(nil, map[string]any{name: value}))
		inline = strings.Trim(flow(map[string]any{name: value}), "{}") + "}"
	}
	if f, ok := source.Value.Field(old); ok {
		n, alone := column(e.data, f.Key.Start)
		switch b, isBlock := blockOf(e.data, f); {
		case isBlock && !source.Value.Flow:
			return splice{b.key, b.to, indent(lines, spaces(b.column))}, nil
		case alone && f.Value.Flow && !source.Value.Flow: // on one line, or the result is refused
			start, end := lineOf(e.data, f.Key.Start)
			return splice{start, end, indent(lines, spaces(n))}, nil
		}
		return splice{}, errText
	}
	for _, k := range []string{"path", "targetRevision", "repoURL"} {
		f, ok := source.Value.Field(k)
		if !ok || f.Value.End == 0 {
			continue
		}
		if source.Value.Flow {
			return splice{f.Value.End, f.Value.End, ", " + inline}, nil
		}
		if n, alone := column(e.data, f.Key.Start); alone {
			_, end := lineOf(e.data, f.Value.Start)
			if e.data[end-1] != '\n' {
				lines = "\n" + strings.TrimSuffix(indent(lines, spaces(n)), "\n")
				return splice{end, end, lines}, nil
			}
			return splice{end, end, indent(lines, spaces(n))}, nil
		}
	}
	return splice{}, errText
}

// flow writes a small value in brackets.
func flow(v any) string {
	switch v := v.(type) {
	case map[string]any:
		var parts []string
		for _, k := range manifest.Keys(v) {
			parts = append(parts, k+": "+flow(v[k]))
		}
		return "{" + strings.Join(parts, ", ") + "}"
	case []any:
		var parts []string
		for _, e := range v {
			parts = append(parts, flow(e))
		}
		return "[" + strings.Join(parts, ", ") + "]"
	}
	return strings.TrimSuffix(string(manifest.AppendYAML(nil, v)), "\n")
}
