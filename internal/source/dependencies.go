package source

import (
	"cmp"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/render"
	"github.com/argosy-cd/argosy/internal/tree"
)

// dependency is one of a chart.
type dependency struct {
	Name       string `json:"name"`
	Version    string `json:"version"`
	Repository string `json:"repository"`
	Condition  string `json:"condition"`
	Alias      string `json:"alias"`
}

// dependencies does what "helm dependency build" does, for those dependencies that are not in the chart: it returns their files, and the
// names of those that are not available.
func (j *job) dependencies(files []tree.File, names []string, chart render.Chart) (more []tree.File, without []string, err error) {
	all, err := j.declared(files)
	if err != nil {
		return nil, nil, err
	}
	if err := render.CheckLock(files); err != nil {
		return nil, nil, manifest.Errorf(j.URL(path.Join(j.dir, "Chart.yaml")), "%w", err)
	}
	values, err := render.Values(files, chart)
	if err != nil {
		return nil, nil, err
	}
	// Whether one is switched off is known only if all values are.
	certain := !slices.ContainsFunc(j.result.Problems, func(p Problem) bool { return p.Class == Missing })
	for _, d := range all {
		if !slices.Contains(names, d.Name) {
			continue
		}
		found, missing, err := j.dependency(d)
		if err != nil {
			return nil, nil, err
		}
		if missing != nil {
			without = append(without, d.Name)
			if !certain || !switchedOff(d.Condition, values) {
				p := j.noteError(Missing, missing)
				p.Chart, p.Values, p.Namespace = d.Name, manifest.Map(values, cmp.Or(d.Alias, d.Name)), j.namespace()
			}
			continue
		}
		for _, f := range found {
			more = append(more, tree.File{Name: path.Join("charts", d.Name, f.Name), Data: f.Data})
		}
	}
	return more, without, nil
}

// declared are the dependencies of Chart.yaml, or requirements.yaml of an older chart, in the versions of the lock file.
func (j *job) declared(files []tree.File) ([]dependency, error) {
	type list struct {
		Dependencies []dependency `json:"dependencies"`
	}
	var all list
	locks := map[string]string{"Chart.yaml": "Chart.lock", "requirements.yaml": "requirements.lock"}
	for _, name := range []string{"Chart.yaml", "requirements.yaml"} {
		var l, locked list
		for file, into := range map[string]*list{name: &l, locks[name]: &locked} {
			data, _ := tree.Find(files, file)
			if err := manifest.Unmarshal(data, into); err != nil {
				return nil, manifest.Located(j.URL(path.Join(j.dir, file)), err)
			}
		}
		for _, d := range l.Dependencies {
			for _, lock := range locked.Dependencies {
				if lock.Name == d.Name && lock.Repository == d.Repository {
					d.Version = cmp.Or(lock.Version, d.Version)
				}
			}
			all.Dependencies = append(all.Dependencies, d)
		}
	}
	return all.Dependencies, nil
}

// about is the prefix of messages about a dependency.
func (j *job) about(d dependency) string {
	name := d.Name
	if d.Alias != "" {
		name += " (" + d.Alias + ")"
	}
	return fmt.Sprintf("%s: dependency %s %s: ", j.URL(path.Join(j.dir, "Chart.yaml")), name, d.Version)
}

// dependency returns the files of a dependency, or why they are not available. err is an error that Argo CD has, too.
func (j *job) dependency(d dependency) (files []tree.File, missing, err error) {
	if local, ok := strings.CutPrefix(d.Repository, "file://"); ok {
		dir := path.Join(j.dir, local)
		if _, kind, err := j.View.Resolve(j.ctx, dir); err != nil || kind != tree.Directory || dir == ".." ||
			strings.HasPrefix(dir, "../") {
			return nil, nil, fmt.Errorf("%sdirectory %s not found", j.about(d), local)
		}
		files, err := j.chartFiles(dir)
		if err == nil {
			err = render.CheckVersion(files, d.Version)
		}
		if err != nil {
			return nil, nil, fmt.Errorf("%s%w", j.about(d), err)
		}
		return files, nil, nil
	}
	switch {
	case d.Repository == "":
		return nil, nil, fmt.Errorf("%sit is not in charts/, and has no repository", j.about(d))
	case j.Remote == nil:
		return nil, fmt.Errorf("%sit is in %s, and nothing is fetched", j.about(d), giturl.Redact(d.Repository)), nil
	}
	if files, err = j.Remote.Chart(j.ctx, d.Repository, d.Name, d.Version); err != nil {
		return nil, fmt.Errorf("%s%w", j.about(d), err), nil
	}
	return files, nil, nil
}

// switchedOff reports whether a condition is certainly false: its first path is false in the values of the chart. A value that the chart
// does not set may be set by the dependency itself.
func switchedOff(condition string, values map[string]any) bool {
	first, _, _ := strings.Cut(condition, ",")
	parts := strings.Split(strings.TrimSpace(first), ".")
	on, ok := manifest.Map(values, parts[:len(parts)-1]...)[parts[len(parts)-1]].(bool)
	return ok && !on
}
