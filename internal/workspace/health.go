package workspace

import (
	"errors"
	"fmt"
	"io"

	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/settings"
)

// Checks assess the health of the objects in files.
type Checks struct {
	// Files have objects with their status; - is standard input.
	Files []string
	Stdin io.Reader
	// Lua is a file with a script for all objects, and OpenLibs are its libraries. "" is none.
	Lua      string
	OpenLibs bool
	// Customizations is a file with settings of Argo CD, if there is no script. "" is none: the built-in checks alone.
	Customizations string
	Limits         health.Limits
}

// Check refuses flags that exclude each other.
func (c Checks) Check() error {
	switch {
	case len(c.Files) == 0:
		return problem.Usagef("needed: a file with objects, or - for standard input")
	case c.Lua != "" && c.Customizations != "":
		return problem.Usagef("--lua and --customizations exclude each other")
	case c.OpenLibs && c.Lua == "":
		return problem.Usagef("--open-libs requires --lua; settings have a key for it")
	}
	return nil
}

// Run returns the health of all objects, or all errors.
func (c Checks) Run() ([]report.Checked, error) {
	docs, err := input.Documents(c.Stdin, c.Files, false, "")
	if err != nil {
		return nil, err
	}
	if len(docs) == 0 {
		return nil, errors.New("there are no objects")
	}
	checks, err := c.customizations()
	if err != nil {
		return nil, err
	}
	var results []report.Checked
	var errs []error
	for _, d := range docs {
		if manifest.String(d.Object, "kind") == "" {
			errs = append(errs, fmt.Errorf("%s: kind must be set: it is not a Kubernetes object", d.Position))
			continue
		}
		h, ok, err := health.Evaluate(d.Object, checks, c.Limits)
		if err != nil && c.Lua != "" {
			err = fmt.Errorf("%s: %w", c.Lua, errors.Unwrap(err))
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", d.Document(), err))
			continue
		}
		results = append(results, report.Checked{
			Object: d.Object, Health: h, Found: ok, Bundled: health.Bundled(d.Object, c.Limits.Version),
		})
	}
	return results, errors.Join(errs...)
}

// customizations returns one script for all kinds, or the scripts of the settings.
func (c Checks) customizations() (health.Customizations, error) {
	if c.Lua != "" {
		data, err := input.File(c.Lua)
		if err != nil {
			return nil, err
		}
		return health.Customizations{"*": {Health: string(data), OpenLibs: c.OpenLibs}}, nil
	}
	if c.Customizations == "" {
		return nil, nil
	}
	data, err := input.File(c.Customizations)
	if err != nil {
		return nil, err
	}
	s, err := settings.Parse(c.Customizations, data)
	if err != nil {
		return nil, err
	}
	return s.Health, nil
}
