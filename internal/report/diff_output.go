package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/textdiff"
	"github.com/argosy-cd/argosy/internal/words"
)

// text prints a report for people.
func (d *Difference) text(out io.Writer) error {
	w := bufio.NewWriter(out)
	if line := d.headline(); line != "" {
		fmt.Fprintln(w, line)
	}
	sections := d.sections()
	if len(sections) == 0 && !d.complete() {
		fmt.Fprintln(w, "Nothing that is known changes.")
	}
	for _, s := range sections {
		if s.names != nil {
			fmt.Fprintf(w, "%s: %s\n", s.title, words.Harmless(strings.Join(s.names, ", ")))
			continue
		}
		fmt.Fprintln(w, strings.ToUpper(s.title))
		for _, row := range s.rows {
			fmt.Fprintf(w, "  %s %s: %s\n", s.sign, words.Printable(row[0]), words.Printable(row[1]))
		}
	}
	if d.Manifests {
		for _, m := range d.Diff.Manifests {
			fmt.Fprintln(w, strings.ToUpper(manifestsTitle(m)[:1])+manifestsTitle(m)[1:])
			for _, c := range m.Objects {
				fmt.Fprintf(w, "  %s\n", objectLine(c))
				for _, line := range objectDiff(c, maxObjectLines) {
					fmt.Fprintf(w, "      %s\n", line)
				}
			}
		}
	}
	if line, names := d.notCompared(); len(names) > 0 {
		fmt.Fprintf(w, "%s: %s\n", line, words.Harmless(words.Some(names)))
	}
	return flush(w)
}

// manifestsTitle names the Application or set whose objects change.
func manifestsTitle(m plan.Manifests) string {
	switch name := words.Printable(m.Name); {
	case m.Set:
		return "Applications of the set " + name
	case m.Name == plan.ApplyName:
		return "objects that are applied by hand"
	case m.Kind == plan.Added:
		return "manifests of " + name + ", a new Application"
	case m.Kind == plan.Removed:
		return "manifests of " + name + ", which will be deleted"
	case m.Kind == plan.Left:
		return "manifests of " + name + ", which stays, although nothing deploys it any more"
	default:
		return "manifests of " + name
	}
}

// objectLine says which object changes, and how.
func objectLine(c plan.ObjectChange) string {
	sign := "~"
	switch {
	case c.Old == nil:
		sign = "+"
	case c.New == nil:
		sign = "-"
	}
	line := sign + " " + IDName(c.ID)
	if c.Renamed != "" {
		line += ", renamed from " + c.Renamed
	}
	return words.Harmless(line)
}

// IDName is the name of an object as kubectl prints it, with its namespace.
func IDName(id plan.ID) string {
	name := strings.ToLower(id.Kind)
	if id.Group != "" {
		name += "." + id.Group
	}
	name += "/" + id.Name
	if id.Namespace != "" {
		name += " in " + id.Namespace
	}
	return name
}

// maxObjectLines is how much of the difference of one object a report has.
const maxObjectLines = 400

// objectDiff is how an object that stays changes, in lines; most is their number, 0 for all.
func objectDiff(c plan.ObjectChange, most int) []string {
	if c.Old == nil || c.New == nil {
		return nil
	}
	lines := Unified(c, "old", "new")[2:]
	if n := len(lines); most > 0 && n > most {
		lines = append(lines[:most:most], fmt.Sprintf("… %d more lines", n-most))
	}
	return lines
}

// Unified is the difference of an object as a unified diff, in lines, with a header of two.
func Unified(c plan.ObjectChange, from, to string) []string {
	yaml := func(o manifest.Object) []byte {
		if o == nil {
			return nil
		}
		return manifest.AppendYAML(nil, o)
	}
	text := strings.TrimSuffix(string(textdiff.Unified(from, yaml(c.Old), to, yaml(c.New))), "\n")
	if text == "" { // values of a Secret with equal hashes
		return []string{"--- " + from, "+++ " + to, " … values differ"}
	}
	lines := strings.Split(text, "\n")[1:]
	for i := range lines {
		lines[i] = words.Harmless(lines[i])
	}
	return lines
}

func (d *Difference) json(w io.Writer) error {
	incomplete, changes, manifests, refs := []any{}, []any{}, []any{}, []any{}
	gaps := func(side string, list []plan.Gap) {
		for _, g := range list {
			incomplete = append(incomplete, map[string]any{
				"side": side, "kind": g.Kind, "name": g.Name, "state": g.State,
				"reason": g.Reason,
			})
		}
	}
	gaps("before", d.Before)
	gaps("after", d.After)
	for _, c := range d.Diff.Changes {
		o := map[string]any{"kind": string(c.Kind), "subject": c.Subject, "old": c.Old, "new": c.New}
		if c.Namespace != "" {
			o["namespace"], o["project"] = c.Namespace, c.Project
		}
		changes = append(changes, o)
	}
	for _, m := range d.Diff.Manifests {
		manifests = append(manifests, d.manifestsObject(m))
	}
	for _, ref := range d.Diff.NotCompared {
		refs = append(refs, map[string]any{"application": ref.Name, "namespace": ref.Namespace})
	}
	return Object(w, map[string]any{
		"complete": d.complete(), "incomplete": incomplete, "changes": changes, "manifests": manifests,
		"notCompared": refs,
	})
}

// manifestsObject is how the objects of an Application change, for programs.
func (d *Difference) manifestsObject(m plan.Manifests) map[string]any {
	added, removed, changed := []any{}, []any{}, []any{}
	for _, c := range m.Objects {
		o := map[string]any{"group": c.Group, "kind": c.Kind, "namespace": c.Namespace, "name": c.Name}
		switch {
		case c.Old == nil:
			added = append(added, o)
			continue
		case c.New == nil:
			removed = append(removed, o)
			continue
		case c.Renamed != "":
			o["renamedFrom"] = c.Renamed
		}
		if d.Manifests {
			o["diff"] = strings.Join(objectDiff(c, 0), "\n") + "\n"
		}
		changed = append(changed, o)
	}
	key := "application"
	if m.Set {
		key = "set"
	}
	return map[string]any{key: m.Name, "namespace": m.Namespace, "added": added, "removed": removed, "changed": changed}
}
