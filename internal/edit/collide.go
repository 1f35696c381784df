package edit

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// collisions reports converted objects that have the name of another Application in the directories of the arguments: the two would be one
// object, and each sync would replace one by the other.
func (c Conversion) collisions(args []string, changed []replacement, names [][]string) error {
	after := map[string][]byte{}
	for _, f := range changed {
		after[filepath.Clean(f.file)] = f.after
	}
	where := map[argo.Ref][]string{}
	seen := map[string]bool{}
	for _, file := range c.around(args) {
		if file = filepath.Clean(file); seen[file] {
			continue
		}
		seen[file] = true
		data, ok := after[file]
		if !ok {
			var err error
			if data, err = input.File(file); err != nil {
				continue
			}
		}
		docs, err := manifest.Decode(file, data)
		if err != nil {
			continue // it was named before, or is no manifest
		}
		for _, d := range docs {
			if argo.IsApplication(d.Object) {
				ref := c.ref(d.Object)
				where[ref] = append(where[ref], d.String())
			}
		}
	}
	var errs []error
	for i, f := range changed {
		docs, err := manifest.Decode(f.file, f.after)
		if err != nil {
			return err
		}
		for _, d := range docs {
			name := manifest.String(d.Object, "metadata", "name")
			if others := where[c.ref(d.Object)]; argo.IsApplication(d.Object) && len(others) > 1 && slices.Contains(names[i], name) {
				other := others[0]
				if other == d.String() {
					other = others[1]
				}
				errs = append(errs, fmt.Errorf("%s: ApplicationSet %q: there is an Application of this name at %s, and the two would be "+
					"one; use --style folder, or rename the set if no cluster has it yet", d.Position, name, other))
			}
		}
	}
	return errors.Join(errs...)
}

// around are the files beside and below the arguments.
func (c Conversion) around(args []string) []string {
	var out []string
	for _, arg := range args {
		if arg == "-" {
			continue
		}
		if files, err := input.Files(arg, true); err == nil && (len(files) != 1 || files[0] != arg) {
			out = append(out, files...)
			continue
		}
		files, _ := input.Files(filepath.Dir(arg), false)
		out = append(out, append(files, arg)...)
	}
	return out
}

func (c Conversion) ref(o manifest.Object) argo.Ref {
	return argo.Ref{
		Namespace: cmp.Or(manifest.String(o, "metadata", "namespace"), c.Namespace), Name: manifest.String(o, "metadata", "name"),
	}
}
