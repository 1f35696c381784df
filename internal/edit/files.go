package edit

import (
	"os"

	"github.com/argosy-cd/argosy/internal/gitsource"
)

// File is a file that gets other content.
type File struct {
	// Name is its name on disk.
	Name string
	// Before is the expected content of the file; any other content is an error. After is the new content.
	Before, After []byte
}

// Files replaces the content of files: of all of them, or of none and an error. Links are followed inside of a work tree. A file outside of
// all work trees is not changed; outside names those files. Of two links to one file, the first one counts.
func Files(local []gitsource.Local, files []File) (outside []string, err error) {
	var list []replacement
	seen := map[string]bool{}
	for _, f := range files {
		name, ok := inWorkTrees(local, f.Name)
		switch {
		case !ok:
			outside = append(outside, f.Name)
		case !seen[name]:
			list = append(list, replacement{file: name, before: f.Before, after: f.After})
		}
		seen[name] = true
	}
	return outside, replaceFiles(list, os.Rename)
}

// inWorkTrees follows the links of a file, and reports whether it is in one of the work trees then.
func inWorkTrees(local []gitsource.Local, file string) (string, bool) {
	for _, l := range local {
		if name, ok := inWorkTree(l, file); ok {
			return name, true
		}
	}
	return "", false
}
