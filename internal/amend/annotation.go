// Package amend changes a Kubernetes object in the text of its file a little, and keeps every other byte: comments, quotes, indentation,
// line ends, flow style, anchors and document markers. An Annotation sets an annotation, a Change sets, renames, adds or removes a field.
//
// It promises that the objects of the file are the same before and after, except for that change: both texts are decoded and compared. It
// refuses what it cannot edit that way, such as annotations that are an alias.
package amend

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/strict"
)

// Annotation is an annotation to set on an object.
type Annotation struct {
	// At is the position of the object, as manifest.Decode has it. Its line does not matter.
	At         manifest.Position
	Key, Value string
}

// Apply returns the text of the file with the annotation in it. If the annotation has that value already, it is the same text.
func (e Annotation) Apply(data []byte) ([]byte, error) {
	after, err := e.apply(data)
	if err != nil {
		return nil, fmt.Errorf("%w; write %s into its annotations yourself", err, entry{e.Key, e.Value}.text(plain))
	}
	return after, nil
}

func (e Annotation) apply(data []byte) ([]byte, error) {
	before, err := manifest.Decode(e.At.File, data)
	if err != nil {
		return nil, err
	}
	o := e.find(before)
	if o == nil {
		return nil, errors.New("the object is not there")
	}
	annotations := manifest.Map(o, "metadata", "annotations")
	if v, ok := annotations[e.Key]; ok && v == e.Value {
		return data, nil
	}
	n, err := strict.At(data, e.At)
	if err != nil {
		return nil, err
	}
	s, err := (&text{data: data}).set(n, entry{e.Key, e.Value})
	if err != nil {
		return nil, err
	}
	after := slices.Concat(data[:s.from], []byte(s.text), data[s.to:])
	// Check that the edit adds the annotation and changes nothing else.
	annotations = maps.Clone(annotations)
	if annotations == nil {
		annotations = map[string]any{}
	}
	annotations[e.Key] = e.Value
	manifest.Map(o, "metadata")["annotations"] = annotations
	decoded, err := manifest.Decode(e.At.File, after)
	if err != nil || !same(before, decoded) || json.Valid(data) && !json.Valid(after) {
		return nil, errors.New("the annotation cannot be added to this text without changing something else")
	}
	return after, nil
}

// find returns the object that gets the annotation, nil if it is not there or has no metadata.
func (e Annotation) find(docs []manifest.Document) manifest.Object {
	for _, d := range docs {
		if d.Number == e.At.Number && d.Item == e.At.Item && manifest.Map(d.Object, "metadata") != nil {
			return d.Object
		}
	}
	return nil
}

// same reports whether two files have the same objects in the same documents.
func same(a, b []manifest.Document) bool {
	return slices.EqualFunc(a, b, func(x, y manifest.Document) bool {
		return x.Number == y.Number && x.Item == y.Item && reflect.DeepEqual(x.Object, y.Object)
	})
}
