// Package live is a model of a boot that happens now: Applications and ApplicationSets of a cluster, who deploys whom, in which wave, what
// runs and what waits for what. Its input is a stream of events, in the order in which they happened; its output are snapshots that never
// change. It has no clock, no network and no terminal: time is in the events.
//
// It keeps only the fields of an Application that are needed, so thousands of them fit into a small process. Gaps are explicit: a lost
// Source has its reason.
package live

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// What is the kind of an event.
type What string

// Kinds of events. A changed object is Seen again.
const (
	Seen   What = "seen"   // an object was added, or has changed
	Gone   What = "gone"   // an object was deleted
	Listed What = "listed" // all objects of a source have been seen
	Lost   What = "lost"   // a source cannot be watched
)

// Event is a change in the cluster, and a line of a recording.
type Event struct {
	At   time.Time `json:"at"`
	What What      `json:"what"`
	// Object is the seen object, or the identity of a deleted one. An Application may have only Fields.
	Object manifest.Object `json:"object,omitempty"`
	// Source is the listed or lost source.
	Source Scope `json:"-"`
	// Reason is why a source is lost.
	Reason string `json:"reason,omitempty"`
	// Lacks is the right that is missing, nil if that is not the reason.
	Lacks *Right `json:"lacks,omitempty"`
}

// Key names an object.
type Key struct{ Group, Kind, Namespace, Name string }

func (k Key) String() string {
	if k.Namespace == "" {
		return k.Kind + " " + k.Name
	}
	return fmt.Sprintf("%s %s/%s", k.Kind, k.Namespace, k.Name)
}

// KeyOf is the name of an object.
func KeyOf(o manifest.Object) Key {
	return Key{
		manifest.Group(o), manifest.String(o, "kind"), manifest.String(o, "metadata", "namespace"),
		manifest.String(o, "metadata", "name"),
	}
}

// isArgo reports whether k is an Application or an ApplicationSet.
func (k Key) isArgo() bool {
	return k.Group == argo.Group && (k.Kind == argo.KindApplication || k.Kind == argo.KindApplicationSet)
}

// maxLine bounds one event of a recording. An API server takes objects of 3 MiB.
const maxLine = 8 << 20

// recorded is an event in a recording.
type recorded struct {
	Event
	// Text names the source in words. Older recordings have only that.
	Text  string `json:"source,omitempty"`
	Scope *Scope `json:"scope,omitempty"`
}

// Write appends an event to a recording: a line of JSON.
func Write(w io.Writer, e Event) error {
	r := recorded{Event: e}
	if e.Source != (Scope{}) {
		r.Text, r.Scope = e.Source.String(), &e.Source
	}
	line, err := json.Marshal(r)
	if err == nil {
		_, err = w.Write(append(line, '\n'))
	}
	if err != nil {
		return fmt.Errorf("recording: %w", err)
	}
	return nil
}

// Read calls next for each event of a recording. name is its name in errors. An incomplete last line is dropped: the recorder was killed.
func Read(name string, r io.Reader, next func(Event)) error {
	lines := bufio.NewScanner(r)
	lines.Buffer(make([]byte, 64<<10), maxLine)
	complete := true
	lines.Split(func(data []byte, atEOF bool) (int, []byte, error) {
		if i := bytes.IndexByte(data, '\n'); i >= 0 {
			return i + 1, data[:i], nil
		}
		if atEOF && len(data) > 0 {
			complete = false
			return len(data), data, nil
		}
		return 0, nil, nil
	})
	for number := 1; lines.Scan(); number++ {
		if len(bytes.TrimSpace(lines.Bytes())) == 0 {
			continue
		}
		var r recorded
		if err := json.Unmarshal(lines.Bytes(), &r); err != nil && !complete && number > 1 {
			return nil
		} else if err != nil {
			return fmt.Errorf("%s:%d: not an event of a recording: %w", name, number, err)
		}
		e := r.Event
		if e.Source = parseScope(r.Text); r.Scope != nil {
			e.Source = *r.Scope
		}
		if e.Lacks == nil { // an older recording
			e.Lacks = Lacking(e.Reason)
		}
		if err := e.check(); err != nil {
			return fmt.Errorf("%s:%d: %w", name, number, err)
		}
		next(e)
	}
	if err := lines.Err(); errors.Is(err, bufio.ErrTooLong) {
		return fmt.Errorf("%s: a line has more than %d MiB", name, maxLine>>20)
	} else if err != nil {
		return fmt.Errorf("reading %s: %w", name, err)
	}
	return nil
}

func (e Event) check() error {
	switch e.What {
	case Seen, Gone:
		if k := KeyOf(e.Object); k.Kind == "" || k.Name == "" {
			return errors.New("object: kind and metadata.name must be set")
		}
	case Listed, Lost:
		if e.Source.Kind == "" && e.Source.Name == "" {
			return errors.New("source must be set")
		}
	default:
		return fmt.Errorf("field \"what\" must be seen, gone, listed or lost, it is %q", string(e.What))
	}
	return nil
}
