package report

import (
	"bufio"
	"fmt"
	"io"
	"path"

	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/words"
)

// Inputs prints the files that each Application is made of, as a table or JSON.
func Inputs(w io.Writer, f Format, p *plan.Plan) error {
	var apps []*plan.Application
	for _, app := range p.Applications {
		if !app.Applied {
			apps = append(apps, app)
		}
	}
	switch f {
	case Table:
		return inputTable(w, apps)
	case JSON:
		return inputObjects(w, apps)
	}
	return f.refused("inputs")
}

func inputObjects(w io.Writer, apps []*plan.Application) error {
	list := []any{}
	for _, app := range apps {
		list = append(list, inputObject(app))
	}
	if err := manifest.WriteJSON(w, list); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// inputTable prints files for people.
func inputTable(out io.Writer, apps []*plan.Application) error {
	w := bufio.NewWriter(out)
	for _, app := range apps {
		fmt.Fprintf(w, "%s, from %s%s\n", words.Printable(app.Name), words.Printable(describePlanSources(app)),
			words.Printable(incomplete(app)))
		files := 0
		for _, s := range app.Sources {
			for _, input := range s.Inputs {
				files++
				fmt.Fprintf(w, "  %s\n", words.Printable(path.Join(input.Ref, input.Path)))
			}
		}
		if files == 0 {
			fmt.Fprintln(w, "  no files")
		}
	}
	return flush(w)
}

// incomplete says that files of an Application may be missing, and why; "" if none is.
func incomplete(app *plan.Application) string {
	if app.Verdict() == source.Known {
		return ""
	}
	return fmt.Sprintf(" (%s, there may be more files: %s)", app.Verdict(), Unknown(app))
}

// Unknown is the first reason why an Application is not known completely.
func Unknown(app *plan.Application) string {
	if app.Broken != "" {
		return app.Broken
	}
	for _, s := range app.Sources {
		if s.Unknown != "" {
			return s.Unknown
		}
	}
	return "no reason is known"
}

// inputObject is an Application and its files for programs.
func inputObject(app *plan.Application) map[string]any {
	o := map[string]any{"name": app.Name, "namespace": app.Namespace, "verdict": app.Verdict().String()}
	if app.Verdict() != source.Known {
		o["unknown"] = Unknown(app)
	}
	sources := []any{}
	for _, s := range app.Sources {
		files, refs := []any{}, map[string]any{}
		for _, input := range s.Inputs {
			if input.Ref == "" {
				files = append(files, input.Path)
				continue
			}
			list, _ := refs[input.Ref].([]any)
			refs[input.Ref] = append(list, input.Path)
		}
		one := map[string]any{"repoURL": giturl.Redact(s.Repository), "path": s.Path, "files": files, "refs": refs}
		for key, value := range map[string]string{"chart": s.Chart, "targetRevision": s.Revision, "ref": manifest.String(s.Spec, "ref")} {
			if value != "" {
				one[key] = value
			}
		}
		sources = append(sources, one)
	}
	o["sources"] = sources
	return o
}
