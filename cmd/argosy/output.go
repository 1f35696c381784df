package main

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// formatFlag is an output format that refuses unknown ones when it is set.
type formatFlag struct {
	value   string
	allowed []string
}

func (f *formatFlag) String() string { return f.value }
func (f *formatFlag) Type() string   { return "FORMAT" }
func (f *formatFlag) usage() string  { return strings.Join(f.allowed, "|") }

func (f *formatFlag) Set(s string) error {
	if !slices.Contains(f.allowed, s) {
		return fmt.Errorf("must be one of %s", f.usage())
	}
	f.value = s
	return nil
}

// writeObjects prints objects; a table is for Applications.
func writeObjects(w io.Writer, format string, objects []manifest.Object) error {
	buf := bufio.NewWriterSize(w, 64<<10)
	var err error
	switch format {
	case "yaml":
		err = manifest.WriteYAML(buf, objects...)
	case "json":
		items := make([]any, 0, len(objects))
		for _, o := range objects {
			items = append(items, o)
		}
		err = manifest.WriteJSON(buf, manifest.Object{"apiVersion": "v1", "kind": "List", "items": items})
	case "name":
		for _, o := range objects {
			if _, err = fmt.Fprintln(buf, words.Printable(objectName(o))); err != nil {
				break
			}
		}
	case "table":
		err = applicationTable(buf, objects)
	}
	if err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return buf.Flush()
}

// objectName is the name of an object as kubectl prints it: deployment.apps/web.
func objectName(o manifest.Object) string {
	kind := strings.ToLower(manifest.String(o, "kind"))
	if group := manifest.Group(o); group != "" {
		kind += "." + group
	}
	name := manifest.String(o, "metadata", "name")
	if name == "" {
		name = manifest.String(o, "metadata", "generateName") + "*"
	}
	return kind + "/" + name
}

func applicationTable(w io.Writer, objects []manifest.Object) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tPROJECT\tSOURCE\tREVISION\tDESTINATION\tWAVE")
	for _, o := range objects {
		spec := manifest.Map(o, "spec")
		source, revision := describeSource(spec)
		cells := []string{
			manifest.String(o, "metadata", "name"), manifest.String(spec, "project"), source, revision, describeDestination(spec),
			words.OrDash(manifest.String(o, "metadata", "annotations", argo.SyncWaveAnnotation)),
		}
		for i, cell := range cells {
			cells[i] = words.Printable(cell)
		}
		fmt.Fprintln(table, strings.Join(cells, "\t"))
	}
	return table.Flush()
}

// describeSource returns the path or chart of an Application's first source and how many more there are.
func describeSource(spec map[string]any) (source, revision string) {
	s := manifest.Map(spec, "source")
	list, _ := spec["sources"].([]any)
	more := ""
	if len(list) > 0 {
		s, _ = list[0].(map[string]any)
		if len(list) > 1 {
			more = fmt.Sprintf(" (+%d)", len(list)-1)
		}
	}
	what := manifest.String(s, "path")
	if chart := manifest.String(s, "chart"); chart != "" {
		what = chart
	}
	return words.OrDash(what) + more, words.OrDash(manifest.String(s, "targetRevision"))
}

func describeDestination(spec map[string]any) string {
	cluster := manifest.String(spec, "destination", "name")
	if cluster == "" {
		cluster = manifest.String(spec, "destination", "server")
	}
	if cluster == "https://kubernetes.default.svc" {
		cluster = "in-cluster"
	}
	return cluster + "/" + words.OrDash(manifest.String(spec, "destination", "namespace"))
}

// writeJSON prints one object.
func writeJSON(w io.Writer, v map[string]any) error {
	if err := manifest.WriteJSON(w, v); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// texts is a list of strings as a manifest has it.
func texts(list []string) []any {
	out := make([]any, 0, len(list))
	for _, s := range list {
		out = append(out, s)
	}
	return out
}
