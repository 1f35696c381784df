package manifest

import (
	"bytes"
	"encoding/json"
	"fmt"
)

// Fields are the fields of an object that Pick keeps. Nil keeps a text, a number or a boolean. The fields of a list are those of its
// elements.
type Fields map[string]Fields

// pickCost is about what a value takes in memory beside its text. An empty object of two bytes is a map.
const pickCost = 64

// PickError says that the wanted fields of an object are larger than they may be.
type PickError struct{ Limit int }

func (e *PickError) Error() string {
	return fmt.Sprintf("the fields of it that are needed have more than %d KiB", e.Limit>>10)
}

// Pick decodes some fields of a JSON object. It skips all others, so they cost no memory. The fields that it keeps may have limit bytes,
// each with a surcharge; beyond that the error is a *PickError. With an error the Object has the fields before it, so data may be the
// beginning of a larger object.
func Pick(data []byte, want Fields, limit int) (Object, error) {
	p := &picker{dec: json.NewDecoder(bytes.NewReader(data)), limit: limit, left: limit}
	v, err := p.value(want, false)
	o, ok := v.(map[string]any)
	if err == nil && !ok {
		err = fmt.Errorf("it is no object")
	}
	return o, err
}

type picker struct {
	dec         *json.Decoder
	limit, left int
}

// skipped is any value that is not wanted.
type skipped struct{}

// UnmarshalJSON implements json.Unmarshaler.
func (skipped) UnmarshalJSON([]byte) error { return nil }

// value reads a value. It is nil if it has another type than what is wanted.
func (p *picker) value(want Fields, inList bool) (any, error) {
	t, err := p.dec.Token()
	if err != nil {
		return nil, err
	}
	switch delim, _ := t.(json.Delim); {
	case delim == '[' && !inList:
		return p.list(want)
	case delim == '[':
		for p.dec.More() {
			if err := p.dec.Decode(&skipped{}); err != nil {
				return nil, err
			}
		}
		_, err := p.dec.Token()
		return nil, err
	case delim == '{':
		o, err := p.object(want)
		if want == nil {
			return nil, err
		}
		return o, err
	case want != nil:
		return nil, nil
	}
	text, _ := t.(string)
	return t, p.pay(len(text))
}

func (p *picker) pay(size int) error {
	if p.left -= size + pickCost; p.left < 0 {
		return &PickError{p.limit}
	}
	return nil
}

func (p *picker) list(want Fields) (any, error) {
	out := []any{}
	if err := p.pay(0); err != nil {
		return out, err
	}
	for p.dec.More() {
		// An element of another type is kept as nil, so that others keep their numbers.
		if err := p.pay(0); err != nil {
			return out, err
		}
		v, err := p.value(want, true)
		out = append(out, v)
		if err != nil {
			return out, err
		}
	}
	_, err := p.dec.Token()
	return out, err
}

func (p *picker) object(want Fields) (map[string]any, error) {
	out := map[string]any{}
	if err := p.pay(0); err != nil {
		return out, err
	}
	for p.dec.More() {
		t, err := p.dec.Token()
		if err != nil {
			return out, err
		}
		key, _ := t.(string)
		inner, ok := want[key]
		if !ok {
			if err := p.dec.Decode(&skipped{}); err != nil {
				return out, err
			}
			continue
		}
		v, err := p.value(inner, false)
		if v != nil {
			out[key] = v
		}
		if err != nil {
			return out, err
		}
	}
	_, err := p.dec.Token()
	return out, err
}
