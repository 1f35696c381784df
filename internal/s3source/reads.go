package s3source

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
)

// Reads are the sources that an application reads from S3, with the state that was read.
type Reads struct {
	Sources []triggerfile.Source
	// Marks has one for each source. It is empty if they could not be read.
	Marks []bucket.Mark
	At    time.Time // when it was read, to the millisecond
	// Project is the application's project. It is published to compare the space of projects.
	Project string
}

// ReadsOf returns the reads of sources and their snapshots. Without snapshots, it has only the sources.
func ReadsOf(sources []triggerfile.Source, fetched []Fetched) Reads {
	r := Reads{Sources: sources}
	for _, f := range fetched {
		r.Marks = append(r.Marks, pinned(f.Source, f.Snapshot.Mark))
	}
	return r
}

// pinned returns the mark of a source; with a digest, it is the digest, because no change of the bucket matters.
func pinned(s triggerfile.Source, m bucket.Mark) bucket.Mark {
	if s.Digest != "" {
		return bucket.Mark{Sum: s.Digest}
	}
	return m
}

// Look returns the current marks of sources. It checks the policy before it reads a bucket.
func (c Config) Look(ctx context.Context, r Reads) ([]bucket.Mark, error) {
	if err := c.Check(r.Sources); err != nil {
		return nil, err
	}
	var marks []bucket.Mark
	for i, s := range r.Sources {
		m, err := c.look(ctx, s, r.Key(i))
		if err != nil {
			return nil, c.wrap(s, err)
		}
		marks = append(marks, pinned(s, m))
	}
	return marks, nil
}

func (c Config) look(ctx context.Context, s triggerfile.Source, key string) (bucket.Mark, error) {
	if s.Digest != "" {
		return bucket.Mark{}, nil
	}
	reader, err := c.Open(ctx, s.Access)
	if err != nil {
		return bucket.Mark{}, err
	}
	return reader.Look(ctx, request(s), key)
}

// Key is the object that decided the content of a source; "" if there was none.
func (r Reads) Key(i int) string {
	if i < len(r.Marks) {
		return r.Marks[i].Key
	}
	return ""
}

// Prefix is the prefix that a look at a source lists.
func (r Reads) Prefix(i int) string {
	if key := r.Key(i); key != "" {
		return key
	}
	return request(r.Sources[i]).Prefix()
}

// Same reports whether both read the same places.
func (r Reads) Same(other Reads) bool {
	a, errA := Reads{Sources: r.Sources}.Encode()
	b, errB := Reads{Sources: other.Sources}.Encode()
	return errA == nil && errB == nil && string(a) == string(b)
}

// MaxReads bounds Encode. Most applications need some 300 bytes.
const MaxReads = 4 << 10

type encodedReads struct {
	Sources []map[string]any `json:"sources"`
	Marks   [][2]string      `json:"marks,omitempty"`
	At      int64            `json:"at,omitempty"`
	Project string           `json:"project,omitempty"`
}

// Encode writes reads as JSON. The sources have the names of the trigger file; how a chart is rendered is left out.
func (r Reads) Encode() ([]byte, error) {
	e := encodedReads{Project: r.Project}
	for _, s := range r.Sources {
		e.Sources = append(e.Sources, place(s))
	}
	if !r.At.IsZero() {
		e.At = r.At.UnixMilli()
	}
	for _, m := range r.Marks {
		e.Marks = append(e.Marks, [2]string{m.Key, m.Sum})
	}
	data, err := json.Marshal(e)
	if err == nil && len(data) > MaxReads {
		err = fmt.Errorf("%d bytes are over the limit of %d", len(data), MaxReads)
	}
	return data, err
}

// DecodeReads reads what Encode has written. It is checked as a trigger file is.
func DecodeReads(data []byte) (Reads, error) {
	if len(data) > MaxReads {
		return Reads{}, fmt.Errorf("%d bytes are over the limit of %d", len(data), MaxReads)
	}
	var e encodedReads
	if err := json.Unmarshal(data, &e); err != nil {
		return Reads{}, err
	}
	file, err := json.Marshal(map[string]any{"sources": e.Sources})
	if err != nil {
		return Reads{}, err
	}
	sources, err := triggerfile.Parse("sources", file)
	if err != nil {
		return Reads{}, err
	}
	if len(e.Marks) > 0 && len(e.Marks) != len(sources) {
		return Reads{}, errors.New("marks must be as many as sources")
	}
	r := Reads{Sources: sources, Project: e.Project}
	if e.At != 0 {
		r.At = time.UnixMilli(e.At)
	}
	for _, m := range e.Marks {
		r.Marks = append(r.Marks, bucket.Mark{Key: m[0], Sum: m[1]})
	}
	return r, nil
}

// Changed reports whether the marks differ from those of the read.
func (r Reads) Changed(now []bucket.Mark) bool { return !slices.Equal(r.Marks, now) }
