package convert

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/strict"
	"github.com/argosy-cd/argosy/internal/words"
)

// Result is a file with other manifests in it.
type Result struct {
	Data []byte
	// Names are the objects that were converted.
	Names []string
	// Already are the objects that need no conversion, because they have the target form.
	Already []string
	// Warnings name the file, the object and the field.
	Warnings []string
}

// File returns a file with Applications in the place of its sets.
func (o Options) File(file string, data []byte) (*Result, error) {
	return each(file, data, kinds{argo.IsApplicationSet, IsParent}, o.toApplication)
}

// Reverse returns a file with sets in the place of the Applications that have them in the parameter of the plugin.
func Reverse(file string, data []byte) (*Result, error) {
	return each(file, data, kinds{IsParent, argo.IsApplicationSet}, toSet)
}

// edit is a document of a file that gets another object.
type edit struct {
	data   []byte
	at     manifest.Position
	object manifest.Object
	node   *strict.Node

	after    []byte // the file then
	warnings []string
}

// maxErrors bounds the problems of one file that are named.
const maxErrors = 20

// kinds selects the objects to convert, and those that need no conversion.
type kinds struct{ match, already func(manifest.Object) bool }

// each edits the documents that match, one after the other. All of them are edited, or none. The time that it takes grows with the size of
// the file, and not with the number of documents times the size.
func each(file string, data []byte, k kinds, change func(*edit) error) (*Result, error) {
	before, err := manifest.Decode(file, data)
	if err != nil {
		return nil, err
	}
	res := &Result{}
	var errs []error
	for _, p := range cut(file, data, before) {
		for i, d := range p.docs {
			whole := before[p.first+i]
			if !k.match(d.Object) {
				if k.already(d.Object) {
					res.Already = append(res.Already, manifest.String(d.Object, "metadata", "name"))
				}
				continue
			}
			name := fmt.Sprintf("%s: %s %q", whole.Position, manifest.String(d.Object, "kind"),
				words.Shorten(manifest.String(d.Object, "metadata", "name"), 253))
			e := &edit{data: p.data, at: d.Position, object: d.Object}
			if err := e.run(change); err != nil {
				if errs = append(errs, fmt.Errorf("%s: %w", name, err)); len(errs) == maxErrors {
					return nil, errors.Join(append(errs, fmt.Errorf("%s: there may be more problems", file))...)
				}
				continue
			}
			p.data = e.after
			res.Names = append(res.Names, manifest.String(d.Object, "metadata", "name"))
			for _, w := range e.warnings {
				res.Warnings = append(res.Warnings, name+": "+w)
			}
		}
		res.Data = append(res.Data, p.data...)
	}
	if len(errs) > 0 {
		return nil, errors.Join(errs...)
	}
	return res, nil
}

// piece is a part of a file that has whole documents.
type piece struct {
	data  []byte
	docs  []manifest.Document
	first int // of the documents, among those of the file
}

// smallest is how many bytes a piece has at least: many documents without content are one.
const smallest = 256

// cut cuts a file in front of the lines that begin a document, where that gives the same documents.
func cut(file string, data []byte, whole []manifest.Document) []*piece {
	one := []*piece{{data, whole, 0}}
	starts, pos := []int{0}, 0
	for line := range bytes.Lines(data) {
		switch {
		case line[0] == '%': // a directive is for the document behind the marker
			return one
		case pos > starts[len(starts)-1]+smallest && bytes.HasPrefix(line, []byte("---")):
			starts = append(starts, pos)
		}
		pos += len(line)
	}
	var out []*piece
	n := 0
	for i, start := range starts {
		end := len(data)
		if i+1 < len(starts) {
			end = starts[i+1]
		}
		docs, err := manifest.Decode(file, data[start:end])
		if err != nil {
			return one
		}
		out = append(out, &piece{data[start:end:end], docs, n})
		n += len(docs)
	}
	if n != len(whole) {
		return one
	}
	return out
}

func (e *edit) run(change func(*edit) error) error {
	if e.at.Item != "" {
		return fmt.Errorf("it is in a List (%s); give it a document of its own", e.at.Item)
	}
	docs, err := strict.Nodes(e.data)
	if err != nil {
		return err
	}
	if e.at.Number > len(docs) {
		if !json.Valid(e.data) {
			return errors.New("the file has several JSON values; give each a file of its own")
		}
		return errors.New("the document is not there")
	}
	e.node = docs[e.at.Number-1]
	return change(e)
}

// toApplication replaces a set by its Application.
func (o Options) toApplication(e *edit) error {
	if err := check(e.object); err != nil {
		return err
	}
	set := e.object
	text, err := e.specText()
	if err == nil {
		app, warnings, appErr := o.application(set, parameter(set, text))
		if appErr != nil {
			return appErr
		}
		e.warnings = warnings
		lines := specLines(manifest.Map(app, "spec"))
		var s []splice
		if s, err = e.splices(app, func(b block) string { return indent(lines, spaces(b.inner)) }); err == nil {
			err = e.finish(apply(e.data, s), func(got manifest.Object) bool {
				back, _, err := Set(got)
				return err == nil && reflect.DeepEqual(got, app) && reflect.DeepEqual(back, set)
			})
		}
	}
	if !errors.Is(err, errText) {
		return err
	}
	app, warnings, err := o.Application(set)
	if err != nil {
		return err
	}
	e.warnings = warnings
	return e.rewrite(app, specLines(manifest.Map(app, "spec")))
}

// toSet replaces an Application by its set.
func toSet(e *edit) error {
	set, warnings, err := Set(e.object)
	if err != nil {
		return err
	}
	e.warnings = warnings
	text := strings.TrimRight(specOf(argo.Deployed(e.object)[0]), "\n") + "\n"
	if docs, err := strict.Nodes([]byte(text)); err == nil && len(docs) == 1 {
		if f, ok := docs[0].Field("spec"); ok { // a whole set
			if b, ok := blockOf([]byte(text), f); ok {
				text = b.value([]byte(text))
			}
		}
	}
	same := func(got manifest.Object) bool { return reflect.DeepEqual(got, set) }
	s, err := e.splices(set, func(b block) string { return indent(text, spaces(b.inner)) })
	if err == nil {
		err = e.finish(apply(e.data, s), same)
	}
	if !errors.Is(err, errText) {
		return err
	}
	return e.rewrite(set, string(manifest.AppendYAML(nil, set["spec"])))
}

func spaces(n int) string { return strings.Repeat(" ", max(n, 1)) }

// specText is the text of the spec.
func (e *edit) specText() (string, error) {
	f, ok := e.node.Field("spec")
	if !ok || f.Value.Kind != strict.ObjectNode {
		return "", errText
	}
	b, ok := blockOf(e.data, f)
	if !ok {
		return "", errText
	}
	return b.value(e.data), nil
}

// splices changes kind, finalizers and spec to those of another object.
func (e *edit) splices(to manifest.Object, spec func(block) string) ([]splice, error) {
	kind, ok1 := e.node.Field("kind")
	meta, ok2 := e.node.Field("metadata")
	field, ok3 := e.node.Field("spec")
	if !ok1 || !ok2 || !ok3 || e.node.Flow {
		return nil, errText
	}
	k, err := scalar(e.data, kind.Value, manifest.String(to, "kind"))
	if err != nil {
		return nil, err
	}
	b, ok := blockOf(e.data, field)
	if !ok {
		return nil, errText
	}
	out := []splice{k, {b.from, b.to, spec(b)}}
	if want := finalizersOf(to); !slices.Equal(want, finalizersOf(e.object)) {
		f, err := finalizers(e.data, meta, want)
		if err != nil {
			return nil, err
		}
		out = append(out, f)
	}
	return out, nil
}

// finish accepts a text if the document is right and all other documents are unchanged.
func (e *edit) finish(after []byte, right func(manifest.Object) bool) error {
	old, err := manifest.Decode(e.at.File, e.data)
	if err != nil {
		return err
	}
	docs, err := manifest.Decode(e.at.File, after)
	if err != nil || len(docs) != len(old) {
		return errText
	}
	for i, d := range docs {
		if d.Number == e.at.Number && d.Item == "" {
			if !right(d.Object) {
				return errText
			}
		} else if !reflect.DeepEqual(d.Object, old[i].Object) {
			return errText
		}
	}
	e.after = after
	return nil
}

// rewrite writes the document anew: its comments are lost, except those in front of it.
func (e *edit) rewrite(o manifest.Object, spec string) error {
	same := func(got manifest.Object) bool { return reflect.DeepEqual(got, o) }
	if json.Valid(e.data) {
		var b bytes.Buffer
		if err := manifest.WriteJSON(&b, o); err != nil {
			return err
		}
		return e.finish(b.Bytes(), same)
	}
	var b strings.Builder
	for _, k := range []string{"apiVersion", "kind", "metadata"} {
		b.Write(manifest.AppendYAML(nil, map[string]any{k: o[k]}))
	}
	b.WriteString("spec:\n" + indent(spec, "  "))
	from, to := e.node.Start, len(e.data)
	if _, first := column(e.data, from); !first {
		return errors.New("its text cannot be edited: it does not begin on a line of its own")
	}
	for at := from; at < len(e.data); {
		start, end := lineOf(e.data, at)
		if line := string(e.data[start:end]); start > from && (strings.HasPrefix(line, "---") || strings.HasPrefix(line, "...")) {
			to = start
			break
		}
		at = end
	}
	if hasComment(e.data[from:to]) {
		e.warnings = append(e.warnings, "the comments in it are lost: it is written in brackets, or has anchors, aliases or a shape that "+
			"cannot be edited")
	}
	if e.finish(apply(e.data, []splice{{from, to, b.String()}}), same) != nil {
		return errors.New("its text cannot be edited without changing something else")
	}
	return nil
}

// hasComment reports whether a text may have a comment.
func hasComment(text []byte) bool {
	return bytes.HasPrefix(bytes.TrimSpace(text), []byte("#")) || bytes.Contains(text, []byte(" #")) || bytes.Contains(text, []byte("\n#"))
}
