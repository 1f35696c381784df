package manifest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unicode/utf8"
)

// Fields are the fields of an object that Pick keeps. Nil keeps a text, a number or a boolean. The fields of a list are those of its
// elements.
type Fields map[string]Fields

// pickCost is about the memory of a value besides its text. An empty object of two bytes becomes a map.
const pickCost = 64

// PickError says that the wanted fields of an object are larger than they may be.
type PickError struct{ Limit int }

func (e *PickError) Error() string {
	return fmt.Sprintf("its needed fields have more than %d KiB", e.Limit>>10)
}

// Pick decodes some fields of a JSON object. It skips all others without decoding them, so they cost no memory, and mistakes in them may
// not be seen. The fields that it keeps may have limit bytes, each with a surcharge; beyond that the error is a *PickError. With an error
// the Object has the fields before it, so data may be the beginning of a larger object.
func Pick(data []byte, want Fields, limit int) (Object, error) {
	p := &picker{data: data, limit: limit, left: limit}
	v, err := p.value(want, false)
	o, ok := v.(map[string]any)
	if err == nil && !ok {
		err = errors.New("it is no object")
	}
	return o, err
}

// picker reads JSON. The decoder of encoding/json takes three times as long for the tokens of an Application.
type picker struct {
	data        []byte // that is left
	limit, left int
}

// begin returns the first byte of the next value without reading it.
func (p *picker) begin() (byte, error) {
	for i, c := range p.data {
		if c != ' ' && c != '\t' && c != '\n' && c != '\r' {
			p.data = p.data[i:]
			return c, nil
		}
	}
	p.data = nil
	return 0, io.ErrUnexpectedEOF
}

// expect reads one byte.
func (p *picker) expect(want byte) error {
	c, err := p.begin()
	if err == nil && c != want {
		err = fmt.Errorf("it has %q instead of %q", c, want)
	}
	if err == nil {
		p.data = p.data[1:]
	}
	return err
}

// value reads a value. It is nil if it does not have the wanted type.
func (p *picker) value(want Fields, inList bool) (any, error) {
	c, err := p.begin()
	if err != nil {
		return nil, err
	}
	switch {
	case c == '[' && !inList:
		return p.list(want)
	case c == '{' && want != nil:
		return p.object(want)
	case c == '{':
		if err := p.pay(0); err != nil {
			return nil, err
		}
		return nil, p.skip()
	case c == '[' || want != nil:
		return nil, p.skip()
	case c == '"':
		s, err := p.text()
		if err != nil {
			return nil, err
		}
		return s, p.pay(len(s))
	}
	before := p.data
	if err := p.skip(); err != nil {
		return nil, err
	}
	var v any
	if err := json.Unmarshal(before[:len(before)-len(p.data)], &v); err != nil {
		return nil, err
	}
	return v, p.pay(0)
}

func (p *picker) pay(size int) error {
	if p.left -= size + pickCost; p.left < 0 {
		return &PickError{p.limit}
	}
	return nil
}

// more reports whether a list or an object has another element, and reads the separator or the end.
func (p *picker) more(first bool, end byte) (bool, error) {
	c, err := p.begin()
	if err != nil {
		return false, err
	}
	if c == end {
		p.data = p.data[1:]
		return false, nil
	}
	if !first {
		return true, p.expect(',')
	}
	return true, nil
}

func (p *picker) list(want Fields) (any, error) {
	out := []any{}
	if err := errors.Join(p.pay(0), p.expect('[')); err != nil {
		return out, err
	}
	for first := true; ; first = false {
		if more, err := p.more(first, ']'); err != nil || !more {
			return out, err
		}
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
}

func (p *picker) object(want Fields) (map[string]any, error) {
	out := map[string]any{}
	if err := errors.Join(p.pay(0), p.expect('{')); err != nil {
		return out, err
	}
	for first := true; ; first = false {
		if more, err := p.more(first, '}'); err != nil || !more {
			return out, err
		}
		if c, err := p.begin(); err != nil || c != '"' {
			return out, errors.Join(errors.New("it has a key that is no text"), err)
		}
		key, err := p.text()
		if err == nil {
			err = p.expect(':')
		}
		if err != nil {
			return out, err
		}
		inner, ok := want[key]
		if !ok {
			if err := p.skip(); err != nil {
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
}

// quoted returns how long the text is that data begins with, with its quotes, and whether it is as it stands there.
func quoted(data []byte) (size int, plain bool, err error) {
	plain = true
	for i := 1; i < len(data); i++ {
		switch data[i] {
		case '"':
			return i + 1, plain, nil
		case '\\':
			plain = false
			i++
		}
	}
	return 0, false, io.ErrUnexpectedEOF
}

// text reads a text.
func (p *picker) text() (string, error) {
	size, plain, err := quoted(p.data)
	if err != nil {
		return "", err
	}
	raw := p.data[:size]
	p.data = p.data[size:]
	for _, c := range raw {
		plain = plain && c >= ' '
	}
	if inner := raw[1 : size-1]; plain && utf8.Valid(inner) {
		return string(inner), nil
	}
	var s string
	err = json.Unmarshal(raw, &s)
	return s, err
}

// skip passes over a value.
func (p *picker) skip() error {
	if _, err := p.begin(); err != nil {
		return err
	}
	depth := 0
	for i := 0; i < len(p.data); {
		switch p.data[i] {
		case '"':
			size, _, err := quoted(p.data[i:])
			if err != nil {
				return err
			}
			i += size
		case '{', '[':
			depth++
			i++
		case '}', ']':
			if depth == 0 {
				return fmt.Errorf("it has %q instead of a value", p.data[i])
			}
			depth--
			i++
		case ',', ':', ' ', '\t', '\n', '\r':
			if depth == 0 {
				return fmt.Errorf("it has %q instead of a value", p.data[i])
			}
			i++
			continue
		default:
			for i < len(p.data) && !delimits(p.data[i]) {
				i++
			}
		}
		if depth == 0 {
			p.data = p.data[i:]
			return nil
		}
	}
	return io.ErrUnexpectedEOF
}

// delimits reports whether a number, a boolean or null ends before a byte.
func delimits(c byte) bool {
	switch c {
	case ',', ':', '}', ']', '{', '[', '"', ' ', '\t', '\n', '\r':
		return true
	}
	return false
}
