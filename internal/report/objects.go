package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// Objects prints objects: as YAML, a List in JSON, names, or a table, which is for Applications.
func Objects(w io.Writer, f Format, objects []manifest.Object) error {
	buf := bufio.NewWriterSize(w, 64<<10)
	var err error
	switch f {
	case YAML:
		err = manifest.WriteYAML(buf, objects...)
	case JSON:
		items := make([]any, 0, len(objects))
		for _, o := range objects {
			items = append(items, o)
		}
		err = manifest.WriteJSON(buf, manifest.Object{"apiVersion": "v1", "kind": "List", "items": items})
	case Name:
		for _, o := range objects {
			if _, err = fmt.Fprintln(buf, words.Printable(manifest.Name(o))); err != nil {
				break
			}
		}
	case Table:
		err = applicationTable(buf, objects)
	default:
		return f.refused("objects")
	}
	if err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return buf.Flush()
}

func applicationTable(w io.Writer, objects []manifest.Object) error {
	table := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(table, "NAME\tPROJECT\tSOURCE\tREVISION\tDESTINATION\tWAVE")
	for _, o := range objects {
		spec := manifest.Map(o, "spec")
		source, revision := describeSource(o)
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
func describeSource(app manifest.Object) (source, revision string) {
	var s map[string]any
	more := ""
	if sources := argo.Deployed(app); len(sources) > 0 {
		s = sources[0]
		if len(sources) > 1 {
			more = fmt.Sprintf(" (+%d)", len(sources)-1)
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
	if cluster == argo.InClusterServer {
		cluster = argo.InClusterName
	}
	return cluster + "/" + words.OrDash(manifest.String(spec, "destination", "namespace"))
}
