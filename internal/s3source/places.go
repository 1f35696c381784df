package s3source

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
)

// Places are sources as JSON with the names of the trigger file; how a chart is rendered is left out.
type Places json.RawMessage

// MarshalJSON implements json.Marshaler.
func (p Places) MarshalJSON() ([]byte, error) { return json.RawMessage(p).MarshalJSON() }

// UnmarshalJSON implements json.Unmarshaler.
func (p *Places) UnmarshalJSON(data []byte) error { return (*json.RawMessage)(p).UnmarshalJSON(data) }

// PlacesOf returns the places of sources.
func PlacesOf(sources []triggerfile.Source) (Places, error) {
	if len(sources) == 1 && sources[0].Field() == "" {
		return json.Marshal(place(sources[0]))
	}
	var list []map[string]any
	for _, s := range sources {
		list = append(list, place(s))
	}
	return json.Marshal(map[string]any{"sources": list})
}

// Parse returns the sources, checked as those of a trigger file are.
func (p Places) Parse(file string) ([]triggerfile.Source, error) { return triggerfile.Parse(file, p) }

// place is a source with the names of the trigger file.
func place(s triggerfile.Source) map[string]any {
	m := map[string]any{"bucket": s.Bucket, "path": s.Path}
	if s.Path == "" {
		m["path"] = "/"
	}
	for name, value := range map[string]string{
		"region": s.Region, "endpoint": s.Endpoint, "roleARN": s.RoleARN, "type": s.Type,
		"digest": s.Digest,
	} {
		if value != "" {
			m[name] = value
		}
	}
	if s.ForcePathStyle != nil {
		m["forcePathStyle"] = *s.ForcePathStyle
	}
	if s.Anonymous {
		m["anonymous"] = true
	}
	for name, list := range map[string][]string{"include": s.Include, "exclude": s.Exclude} {
		if len(list) > 0 {
			m[name] = list
		}
	}
	return m
}

// Trigger is the trigger file of an application: its name, its text and its sources.
type Trigger struct {
	File    string
	Text    []byte
	Sources []triggerfile.Source
}

// ReadTrigger reads the trigger file in a directory of an application, or the parameter that an application without one has.
func ReadTrigger(call argo.Call, dir string, files fs.FS) (t Trigger, err error) {
	t.Text, err = fs.ReadFile(files, triggerfile.Name)
	if t.File, t.Text, err = trigger(call, path.Join(dir, triggerfile.Name), t.Text, err); err != nil {
		return t, err
	}
	t.Sources, err = triggerfile.Parse(t.File, t.Text)
	return t, err
}

// trigger returns the text of an application's trigger file and its name in messages: the file that was read, or the parameter source.
func trigger(call argo.Call, file string, data []byte, err error) (name string, text []byte, _ error) {
	parameter := call.Parameter("source")
	switch {
	case parameter != "" && err == nil:
		return "", nil, fmt.Errorf("%s exists, and the parameter source is set; only one of them is allowed", file)
	case parameter != "" && errors.Is(err, fs.ErrNotExist):
		return "parameter source", []byte(parameter), nil
	case errors.Is(err, fs.ErrNotExist):
		return "", nil, fmt.Errorf("%s: there is no such file", file)
	case err != nil:
		return "", nil, err
	}
	return file, data, nil
}
