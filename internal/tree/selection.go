package tree

import (
	"path"
	"strings"
)

// Selection selects files of a repository: some by name, or those in a directory.
type Selection struct {
	// Names are the wanted files, if there are any.
	Names []string
	// Dir is the directory of all wanted files; "" and "." are the root.
	Dir string
	// Keep says which files in Dir are wanted, by their name in the repository. Nil is all.
	Keep func(name string) bool
	// MaxBytes leaves larger files out, as if they were not there. Zero is none.
	MaxBytes int64
	// Links also selects the files behind links to directories, under the name of the link.
	Links bool
}

// In is all files in a directory that keep says, nil for all.
func In(dir string, keep func(name string) bool) Selection { return Selection{Dir: dir, Keep: keep} }

// Relative returns a file's name in Dir, "" if it is not in it.
func (s Selection) Relative(name string) string {
	dir := path.Clean(s.Dir)
	if dir == "." {
		return name
	}
	rest, ok := strings.CutPrefix(name, dir+"/")
	if !ok {
		return ""
	}
	return rest
}

// Wants reports whether a file is wanted.
func (s Selection) Wants(name string) bool {
	if s.Names != nil {
		for _, n := range s.Names {
			if n == name {
				return true
			}
		}
		return false
	}
	return s.Relative(name) != "" && (s.Keep == nil || s.Keep(name))
}
