package archive

import (
	"errors"
	"fmt"
	"path"
	"strings"
)

// maxSteps bounds the work that links make.
const maxSteps = 20_000_000

// step bounds the work that links make.
func (p *pick) step(n int) error {
	if p.steps += n; p.steps > maxSteps {
		return errors.New("there are too many symbolic links, and too many files that they lead to")
	}
	return nil
}

// resolve follows a link, and links on the way, to a file or directory.
func (p *pick) resolve(name string) (string, error) {
	for range 40 {
		if err := p.step(len(name)); err != nil {
			return "", err
		}
		prefix := p.linkIn(name)
		if prefix == "" {
			return name, nil
		}
		to := p.links[prefix]
		if path.IsAbs(to) {
			return "", fmt.Errorf("it is a symbolic link out of the repository, to %q", shorten(to))
		}
		name = path.Join(path.Dir(prefix), to) + strings.TrimPrefix(name, prefix)
		if name == ".." || strings.HasPrefix(name, "../") {
			return "", fmt.Errorf("it is a symbolic link out of the repository, to %q", shorten(to))
		}
		if len(name) > 4*maxName {
			break
		}
	}
	return "", errors.New("it is a symbolic link that leads in a circle")
}

// linkIn returns the first part of a path that is a link, "" if there is none.
func (p *pick) linkIn(name string) string {
	for i := 0; i <= len(name); i++ {
		if i == len(name) || name[i] == '/' {
			if _, ok := p.links[name[:i]]; ok {
				return name[:i]
			}
		}
	}
	return ""
}
