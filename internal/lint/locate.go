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
	"github.com/argosy-cd/argosy/internal/words"
)

// Files reads the user's files by the names that a plan has for them: in a repository, or on disk if the repository is "". It returns the
// name of the file on disk, and false for a file that is not there.
type Files func(repository, name string) (near string, data []byte, ok bool)

// file is a file of the user.
type file struct {
	name  string // on disk
	data  []byte
	lines [][]byte
	docs  []manifest.Document
	nodes []*strict.Node
	// ignored are the comments that silence rules, by the lines that they are about.
	ignored map[int][]ignore
	// places finds nodes, objects are the documents by their places. Both are made when they are needed.
	places  *strict.Lines
	objects map[documentKey]manifest.Object
}

// documentKey is the place of a document in its file.
type documentKey struct {
	number int
	item   string
}

// object is the one at a position, nil if there is none.
func (f *file) object(at manifest.Position) manifest.Object {
	if f.objects == nil {
		f.objects = map[documentKey]manifest.Object{}
		for _, d := range f.docs {
			f.objects[documentKey{d.Number, d.Item}] = d.Object
		}
	}
	return f.objects[documentKey{at.Number, at.Item}]
}

// mostText is how many bytes of a line a finding has: a file may have one long line, and a finding for each word of it.
const mostText = 1000

// bytes is a line, from 1, without its end; nil if there is none.
func (f *file) bytes(n int) []byte {
	if f.lines == nil {
		f.lines = bytes.Split(f.data, []byte("\n"))
	}
	if n < 1 || n > len(f.lines) {
		return nil
	}
	return bytes.TrimRight(f.lines[n-1], "\r")
}

// line is the text of a line, cut if it is long.
func (f *file) line(n int) string {
	text := f.bytes(n)
	return words.Shorten(string(text[:min(len(text), mostText+1)]), mostText)
}

// locator finds the lines of findings.
type locator struct {
	read  Files
	files map[fileKey]*file
	// built are the objects that a Kustomization makes, by the positions that a plan has for them.
	built map[manifest.Position]made
}

// fileKey names a file as a plan does.
type fileKey struct{ repository, name string }

// made is an object that a source makes, and the source.
type made struct {
	object manifest.Object
	by     *maker
}

// maker is a source that makes objects, and the files that it is made of.
type maker struct {
	repository string
	inputs     []source.Input
	// places are where the files have objects. They are found when they are needed.
	places map[objectKey][]manifest.Position
}

// objectKey names an object in files.
type objectKey struct{ group, kind, name string }

func keyOf(o manifest.Object) objectKey {
	return objectKey{manifest.Group(o), manifest.String(o, "kind"), manifest.String(o, "metadata", "name")}
}

func newLocator(p *plan.Plan, read Files) *locator {
	l := &locator{read, map[fileKey]*file{}, map[manifest.Position]made{}}
	for _, app := range p.Applications {
		makers := map[string]*maker{} // by the repository
		for _, s := range app.Sources {
			if s.Kind == source.Kustomize || s.Kind == source.AppSet {
				makers[s.Git()] = &maker{repository: s.Git(), inputs: s.Inputs}
			}
		}
		for _, item := range app.Items {
			if by := makers[item.Position.Repository]; by != nil && item.Position.Made == manifest.Built {
				l.built[item.Position] = made{item.Object, by}
			}
		}
	}
	return l
}

// search finds the keys of a path in a text that is no YAML, each behind the one before, and returns where the last one is that is there.
func (f *file) search(path []string) (line, column int) {
	line, column, from := 1, 1, 0
	_ = f.line(1) // splits it
	for _, key := range path {
		for i := from; i < len(f.lines); i++ {
			text := strings.TrimLeft(f.line(i+1), " -")
			if rest, ok := strings.CutPrefix(text, key); ok && strings.HasPrefix(strings.TrimLeft(rest, " "), ":") {
				line, column, from = i+1, 1+len(f.line(i+1))-len(text), i+1
				break
			}
		}
	}
	return line, column
}

// open reads a file, once. It is nil for a file that is not there.
func (l *locator) open(repository, name string) *file {
	key := fileKey{repository, name}
	if f, ok := l.files[key]; ok {
		return f
	}
	var f *file
	if near, data, ok := l.read(repository, name); ok {
		f = &file{name: near, data: data}
		// A template is no manifest, and has no objects.
		f.docs, _, _ = manifest.DecodeLoose(name, data)
		f.nodes, _ = strict.Nodes(data)
	}
	l.files[key] = f
	return f
}

// spot is a place in a file. The zero spot is in no file that is there.
type spot struct {
	file         *file
	line, column int // 0 is not known
	// at is the object, and path the field in it; nil unless all of it is written there.
	at   manifest.Position
	path []string
}

// place finds the spot of a field of an object.
func (l *locator) place(at manifest.Position, field []string) spot {
	if m, ok := l.built[at]; ok {
		at = l.origin(at, m)
	}
	f := l.open(at.Repository, at.File)
	if f == nil {
		return spot{}
	}
	if at.Made == manifest.Rendered { // its lines are others once it is rendered
		line, column := f.search(field)
		return spot{file: f, line: line, column: column}
	}
	if at.Number == 0 { // the line is from a message
		i := slices.IndexFunc(f.docs, func(d manifest.Document) bool { return d.Line == at.Line })
		if i < 0 {
			return spot{file: f, line: at.Line, column: min(at.Line, 1)}
		}
		at = f.docs[i].Position
	}
	n, err := strict.Among(f.nodes, at)
	if err != nil { // a template, whose lines are others once it is rendered
		return spot{file: f}
	}
	path := field
	best, most := n.Find(field...)
	if most < len(field) { // of an Application, it is in the template of its set
		inner := slices.Concat([]string{"spec", "template"}, field)
		if t, steps := n.Find(inner...); steps > most+2 {
			best, most, path = t, steps, inner
		}
	}
	s := spot{file: f, at: at}
	if most == len(path) {
		s.path = path
	}
	if f.places == nil {
		f.places = strict.NewLines(f.data)
	}
	s.line, s.column = f.places.Place(best)
	return s
}

// origin finds an object that a Kustomization makes among the files that it reads: the only one of its kind and name. Otherwise it is
// where the Kustomization is.
func (l *locator) origin(at manifest.Position, m made) manifest.Position {
	if m.by.places == nil {
		m.by.places = map[objectKey][]manifest.Position{}
		for _, input := range m.by.inputs {
			l.index(m.by, input)
		}
	}
	found := m.by.places[keyOf(m.object)]
	if len(found) != 1 {
		return manifest.Position{Repository: at.Repository, File: at.File}
	}
	return found[0]
}

// index notes the objects of a file that a source is made of.
func (l *locator) index(by *maker, input source.Input) {
	if ext := path.Ext(input.Path); input.Ref != "" || ext != ".yaml" && ext != ".yml" && ext != ".json" {
		return
	}
	f := l.open(by.repository, input.Path)
	if f == nil {
		return
	}
	for _, d := range f.docs {
		at := d.Position
		at.Repository, at.File = by.repository, input.Path
		by.places[keyOf(d.Object)] = append(by.places[keyOf(d.Object)], at)
	}
}
