package archive

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/argosy-cd/argosy/internal/tree"
)

// Limits of what links lead to.
const (
	maxAliases = 100_000
	maxSteps   = 20_000_000
)

// aliases returns the wanted names that exist by way of links, and the file that each leads to.
func (p *pick) aliases(wanted tree.Selection) (map[string]string, error) {
	out := map[string]string{}
	if len(p.links) == 0 {
		return out, nil
	}
	if wanted.Names != nil {
		for _, name := range wanted.Names {
			if p.names[name] || p.linkIn(name) == "" {
				continue
			}
			target, err := p.file(name)
			if _, link := p.links[name]; err != nil && link {
				return nil, fmt.Errorf("%q: %w", shorten(name), err)
			} else if err == nil {
				out[name] = target
			}
		}
		return out, nil
	}
	return out, p.directory(path.Clean(wanted.Dir), wanted, out)
}

// directory finds what is in a directory by way of links: all of it if it is one itself, and else the links in it.
func (p *pick) directory(dir string, wanted tree.Selection, out map[string]string) error {
	real, err := p.resolve(dir)
	if err != nil {
		return fmt.Errorf("%q: %w", shorten(dir), err)
	}
	at := tree.Selection{Dir: real}
	if real != dir {
		for name := range p.names {
			rest := at.Relative(name)
			if err := p.step(1); err != nil {
				return err
			}
			if rest != "" {
				if err := p.alias(path.Join(dir, rest), name, wanted, out); err != nil {
					return err
				}
			}
		}
	}
	for link := range p.links {
		rest := at.Relative(link)
		if rest == "" {
			continue
		}
		as := path.Join(dir, rest)
		target, err := p.file(link)
		var isDir *directoryError
		switch {
		case err == nil:
			err = p.alias(as, target, wanted, out)
		case errors.As(err, &isDir) && wanted.Links:
			err = p.follow(as, isDir.name, wanted, out)
		case errors.As(err, &isDir) || !wanted.Wants(as):
			err = nil
		default:
			err = fmt.Errorf("%q: %w", shorten(as), err)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// follow adds the files of a directory that a link leads to. Links to directories in it are not followed.
func (p *pick) follow(link, dir string, wanted tree.Selection, out map[string]string) error {
	at := tree.Selection{Dir: dir}
	if at.Relative(link) != "" || dir == "." {
		return nil // it leads to where it is
	}
	for name := range p.names {
		if err := p.step(1); err != nil {
			return err
		}
		if rest := at.Relative(name); rest != "" {
			if err := p.alias(path.Join(link, rest), name, wanted, out); err != nil {
				return err
			}
		}
	}
	for name := range p.links {
		if err := p.step(1); err != nil {
			return err
		}
		if rest := at.Relative(name); rest != "" {
			if target, err := p.file(name); err == nil {
				if err := p.alias(path.Join(link, rest), target, wanted, out); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (p *pick) alias(name, target string, wanted tree.Selection, out map[string]string) error {
	if !wanted.Wants(name) {
		return nil
	}
	if out[name] = target; len(out) > maxAliases {
		return fmt.Errorf("symbolic links lead to more than %d files", maxAliases)
	}
	return nil
}

// step bounds the work that links make.
func (p *pick) step(n int) error {
	if p.steps += n; p.steps > maxSteps {
		return errors.New("there are too many symbolic links, and too many files that they lead to")
	}
	return nil
}

// directoryError says that a link leads to a directory.
type directoryError struct{ name string }

func (e *directoryError) Error() string { return "it is a directory" }

// file returns the file that a name leads to.
func (p *pick) file(name string) (string, error) {
	target, err := p.resolve(name)
	if err != nil || p.names[target] {
		return target, err
	}
	if err := p.findDirs(); err != nil {
		return "", err
	}
	if target == "." || p.dirs[target] {
		return "", &directoryError{target}
	}
	return "", fmt.Errorf("it is a symbolic link to %q, which is not there", shorten(target))
}

// findDirs finds all directories with files in them, once.
func (p *pick) findDirs() error {
	if p.dirs != nil {
		return nil
	}
	p.dirs = map[string]bool{}
	add := func(name string) error {
		for dir := path.Dir(name); dir != "." && !p.dirs[dir]; dir = path.Dir(dir) {
			p.dirs[dir] = true
			if err := p.step(10); err != nil { // they take memory, too
				return err
			}
		}
		return nil
	}
	for name := range p.names {
		if err := add(name); err != nil {
			return err
		}
	}
	for name := range p.links {
		if err := add(name); err != nil {
			return err
		}
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
