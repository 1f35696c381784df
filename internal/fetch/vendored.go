package fetch

import (
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/gittree"
)

// Limits of the folder of vendored charts.
const (
	vendoredDepth = 4
	maxVendored   = 20_000
)

// vendoredChart is an archive in the folder of vendored charts.
type vendoredChart struct {
	path string // in the folder, with slashes
	stem string // NAME-VERSION
	host string // of the only repositories that it is for; "" is all
}

// listVendored lists the archives in Config.Charts.
func (f *Fetcher) listVendored() ([]vendoredChart, error) {
	if f.cfg.Charts == "" {
		return nil, nil
	}
	var out []vendoredChart
	err := fs.WalkDir(os.DirFS(f.cfg.Charts), ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() {
			if name != "." && strings.Count(name, "/")+1 > vendoredDepth {
				return fs.SkipDir
			}
			return nil
		}
		stem, ok := strings.CutSuffix(path.Base(name), ".tgz")
		if !ok {
			return nil
		}
		v := vendoredChart{path: name, stem: stem}
		if first, _, nested := strings.Cut(name, "/"); nested && strings.Contains(first, ".") {
			v.host = strings.ToLower(first)
		}
		if out = append(out, v); len(out) > maxVendored {
			return fmt.Errorf("more than %d archives", maxVendored)
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("listing the charts in %s: %w", f.cfg.Charts, err)
	}
	return out, nil
}

// vendoredChart returns a chart from Config.Charts, nil if no archive there matches.
func (f *Fetcher) vendoredChart(repo *repository, name, version string) (*Chart, error) {
	all, err := f.vendored()
	if err != nil {
		return nil, err
	}
	var versions []string
	found := map[string]vendoredChart{}
	for _, v := range all {
		number, ok := strings.CutPrefix(v.stem, path.Base(name)+"-")
		if !ok || !gittree.IsVersion(number) || v.host != "" && v.host != repo.host && v.host != repo.parsed.Hostname() {
			continue
		}
		// An archive for this host is preferred to one for all.
		if known, ok := found[number]; !ok || known.host == "" {
			found[number] = v
		}
		versions = append(versions, number)
	}
	slices.Sort(versions)
	chosen, err := choose(versions, version)
	if err != nil {
		return nil, nil
	}
	c, err := f.readVendored(found[chosen], name, chosen)
	if err != nil {
		return nil, fmt.Errorf("reading %s in %s: %w", found[chosen].path, f.cfg.Charts, err)
	}
	return c, nil
}

func (f *Fetcher) readVendored(v vendoredChart, name, version string) (*Chart, error) {
	root, err := os.OpenRoot(f.cfg.Charts)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	file, err := root.Open(v.path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxArchive+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxArchive {
		return nil, fmt.Errorf("over the limit of %d MiB", maxArchive>>20)
	}
	return unpack(name, data, reference{Version: version})
}
