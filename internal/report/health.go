package report

import (
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// Checked is an object and its health.
type Checked struct {
	Object manifest.Object
	Health health.Health
	// Found says that there is a check. Otherwise Health is empty.
	Found bool
	// Bundled says that Argo CD brings a script for such objects, which is not here.
	Bundled bool
}

// Health prints the health of objects, as a table, JSON or YAML.
func Health(w io.Writer, f Format, list []Checked) error {
	objects := make([]manifest.Object, len(list))
	for i, c := range list {
		objects[i] = c.object()
	}
	switch f {
	case Table:
		return healthTable(w, objects)
	case JSON:
		items := make([]any, len(objects))
		for i, o := range objects {
			items[i] = o
		}
		return Object(w, map[string]any{"items": items})
	case YAML:
		return manifest.WriteYAML(w, objects...)
	}
	return f.refused("health")
}

func (c Checked) object() manifest.Object {
	o := manifest.Object{
		"kind": manifest.String(c.Object, "kind"), "namespace": manifest.String(c.Object, "metadata", "namespace"),
		"name":   manifest.String(c.Object, "metadata", "name"),
		"status": string(c.Health.Status), "message": c.Health.Message, "check": c.Health.Check,
	}
	switch {
	case !c.Found && c.Bundled:
		o["check"], o["message"] = "Argo CD's own", "Argosy does not have this script of Argo CD, so the health is not known"
	case !c.Found:
		o["check"] = "none"
	}
	return o
}

func healthTable(w io.Writer, objects []manifest.Object) error {
	t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
	fmt.Fprintln(t, "KIND\tNAME\tHEALTH\tCHECK\tMESSAGE")
	for _, o := range objects {
		cell := func(key string) string { return words.Printable(manifest.String(o, key)) }
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\n", cell("kind"), cell("name"), words.OrDash(cell("status")), cell("check"), cell("message"))
	}
	if err := t.Flush(); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}
