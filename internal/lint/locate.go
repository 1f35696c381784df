package lint

import (
	"bytes"
	"path"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/strict"
)

// Files reads the user's files by the names that a plan has for them. It returns the name of the file on disk, and false for a file that is
// not there.
type Files func(name string) (near string, data []byte, ok bool)

// file is a file of the user.
type file struct {
	name  string // on disk
	data  []byte
	lines [][]byte
	docs  []manifest.Document
	nodes []*strict.Node
}

// line is the text of a line, from 1, "" if there is none.
func (f *file) line(n int) string {
	if f.lines == nil {
		f.lines = bytes.Split(f.data, []byte("\n"))
	}
	if n < 1 || n > len(f.lines) {
		return ""
	}
	return strings.TrimRight(string(f.lines[n-1]), "\r")
}

// locator finds the lines of findings.
type locator struct {
	read  Files
	files map[string]*file
	// built are the objects that a Kustomization makes, by the positions that a plan has for them.
	built map[manifest.Position]made
}

// made is an object that a source makes, and the files that the source is made of.
type made struct {
	object manifest.Object
	inputs []source.Input
}

// builtSuffix ends the file of an object that a Kustomization makes, renderedSuffix that of one from a template of a chart.
const (
	builtSuffix    = " (built)"
	renderedSuffix = " (rendered)"
)

// onDisk is the name of the file of a position, without what a plan adds to it.
func onDisk(at manifest.Position) string {
	return strings.TrimSuffix(strings.TrimSuffix(at.File, builtSuffix), renderedSuffix)
}

func newLocator(p *plan.Plan, read Files) *locator {
	l := &locator{read, map[string]*file{}, map[manifest.Position]made{}}
	for _, app := range p.Applications {
		for _, item := range app.Items {
			if !strings.HasSuffix(item.Position.File, builtSuffix) {
				continue
			}
			for _, s := range app.Sources {
				if s.Kind == source.Kustomize || s.Kind == source.AppSet {
					l.built[item.Position] = made{item.Object, s.Inputs}
				}
			}
		}
	}
	return l
}

// open reads a file, once. It is nil for a file that is not there.
func (l *locator) open(name string) *file {
	if f, ok := l.files[name]; ok {
		return f
	}
	var f *file
	if near, data, ok := l.read(name); ok {
		f = &file{name: near, data: data}
		// A template is no manifest, and has no objects.
		f.docs, _, _ = manifest.DecodeLoose(name, data)
		f.nodes, _ = strict.Nodes(data)
	}
	l.files[name] = f
	return f
}

// place returns the file of a position, its line and its column; nil for a file that is not there, 0 for a line that is not known.
func (l *locator) place(at manifest.Position, field []string) (f *file, line, column int) {
	if m, ok := l.built[at]; ok {
		at = l.origin(at, m)
	}
	if f = l.open(onDisk(at)); f == nil {
		return nil, 0, 0
	}
	if strings.HasSuffix(at.File, renderedSuffix) { // its lines are others once it is rendered
		return f, 0, 0
	}
	if at.Number == 0 { // the line is from a message
		i := slices.IndexFunc(f.docs, func(d manifest.Document) bool { return d.Line == at.Line })
		if i < 0 {
			return f, at.Line, min(at.Line, 1)
		}
		at = f.docs[i].Position
	}
	n, err := strict.Among(f.nodes, at)
	if err != nil { // a template, whose lines are others once it is rendered
		return f, 0, 0
	}
	best, most := n.Find(field...)
	if most < len(field) { // of an Application, it is in the template of its set
		if t, steps := n.Find(slices.Concat([]string{"spec", "template"}, field)...); steps > most+2 {
			best = t
		}
	}
	line, column = best.Place(f.data)
	return f, line, column
}

// origin finds an object that a Kustomization makes among the files that it reads: the only one of its kind and name. Otherwise it is
// where the Kustomization is.
func (l *locator) origin(at manifest.Position, m made) manifest.Position {
	var found []manifest.Position
	for _, input := range m.inputs {
		if ext := path.Ext(input.Path); input.Ref != "" || ext != ".yaml" && ext != ".yml" && ext != ".json" {
			continue
		}
		f := l.open(input.Path)
		if f == nil {
			continue
		}
		for _, d := range f.docs {
			if manifest.String(d.Object, "kind") == manifest.String(m.object,
				"kind") && manifest.Group(d.Object) == manifest.Group(m.object) &&
				manifest.String(d.Object, "metadata", "name") == manifest.String(m.object, "metadata", "name") {
				at := d.Position
				at.File = input.Path
				found = append(found, at)
			}
		}
	}
	if len(found) != 1 {
		return manifest.Position{File: at.File}
	}
	return found[0]
}
