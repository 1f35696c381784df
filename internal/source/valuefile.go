package source

import (
	"encoding/csv"
	"fmt"
	"net/url"
	"path"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// valueFiles reads the value files of a chart, in order.
func (j *job) valueFiles(h map[string]any) ([]tree.File, error) {
	optional, _ := h["ignoreMissingValueFiles"].(bool)
	var out []tree.File
	add := func(name string, optional bool) error {
		f, err := j.valueFile(name, optional)
		if err != nil {
			return fmt.Errorf("helm.valueFiles: %w", err)
		}
		if f != nil {
			out = append(out, *f)
		}
		return nil
	}
	for _, name := range manifest.Strings(h["valueFiles"]) {
		names := []string{name}
		if !j.Strict && strings.Contains(name, ",") {
			// Helm splits what Argo CD takes for one name. The second is relative to the chart, or to the machine.
			var err error
			if names, err = csv.NewReader(strings.NewReader(name)).Read(); err != nil {
				return nil, fmt.Errorf("helm.valueFiles: %q: %w", name, err)
			}
			if optional { // there is no file of that name
				continue
			}
		}
		for i, name := range names {
			if i > 0 && path.IsAbs(name) {
				return nil, fmt.Errorf("helm.valueFiles: %s: there is no such file", name)
			}
			if err := add(name, optional); err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// valueFile reads a value file: beside the chart, from the root of the repository, of another source, or by its URL. Nil is one that is not
// there and need not be, or is not available, which is noted.
func (j *job) valueFile(name string, optional bool) (*tree.File, error) {
	from, ref := j.Repository, ""
	dir, text := j.dir, name
	if first, rest, _ := strings.Cut(name, "/"); strings.HasPrefix(name, "$") {
		if r, ok := j.Refs[first]; ok {
			switch {
			case j.Several && !j.fetched[r.Ref.URL]:
				return nil, fmt.Errorf("%s: Argo CD fetches the repository of %s only for the value files of the Application itself, not "+
					"for those of .argocd-source.yaml", name, first)
			case r.View == nil:
				why := r.Ref.Missing
				if why == nil {
					why = fmt.Errorf("the repository of the source %s is not available here", first)
				}
				j.lacks(fmt.Errorf("helm.valueFiles: %s: %w", name, why))
				return nil, nil
			}
			from, ref, dir, text = r, first, ".", "/"+rest
		}
	}
	text = j.expand(text)
	if u, err := url.Parse(text); err == nil && u.Scheme != "" {
		return j.remoteFile(u)
	}
	full := path.Join(dir, text)
	if path.IsAbs(text) {
		full = path.Join(".", path.Clean(text)[1:])
	}
	if full == ".." || strings.HasPrefix(full, "../") {
		return nil, fmt.Errorf("file '%s' resolved to outside repository root", text)
	}
	_, kind, err := from.View.Resolve(j.ctx, full)
	switch {
	case err != nil:
		return nil, err
	case kind == tree.None && optional:
		return nil, nil
	case kind != tree.Regular:
		return nil, fmt.Errorf("%s: there is no such file", text)
	}
	data, err := from.View.Read(j.ctx, full)
	if err != nil {
		return nil, err
	}
	j.used(ref, full)
	if ref == "" {
		name = j.URL(full)
	}
	return &tree.File{Name: name, Data: data}, nil
}

// remoteFile fetches a value file.
func (j *job) remoteFile(u *url.URL) (*tree.File, error) {
	allowed := j.ValueFileSchemes
	if allowed == nil {
		allowed = []string{"https", "http"}
	}
	switch {
	case !slices.ContainsFunc(allowed, func(s string) bool { return strings.EqualFold(s, u.Scheme) }):
		return nil, fmt.Errorf("the URL scheme '%s' is not allowed", u.Scheme)
	case u.Scheme != "http" && u.Scheme != "https":
		j.lacks(fmt.Errorf("helm.valueFiles: %s: only http and https are fetched here", giturl.Redact(u.String())))
		return nil, nil
	case j.Remote == nil:
		j.lacks(fmt.Errorf("helm.valueFiles: %s is remote", giturl.Redact(u.String())))
		return nil, nil
	}
	data, err := j.Remote.File(j.ctx, u.String())
	if err != nil {
		j.lacks(fmt.Errorf("helm.valueFiles: %w", err))
		return nil, nil
	}
	return &tree.File{Name: giturl.Redact(u.String()), Data: data}, nil
}
