package kube

import (
	"bytes"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
)

// TestStreamParts: values are the same however the connection cuts them.
func TestStreamParts(t *testing.T) {
	const text = `{"a": "x\"}\\", "b": [1, {"c": "]"}], "d": null} "q\\" 17 true [{"e":{}}]` + "\n" + `-1.5e3 "" {}`
	want := []string{
		`{"a": "x\"}\\", "b": [1, {"c": "]"}], "d": null}`, `"q\\"`, `17`, `true`, `[{"e":{}}]`, `-1.5e3`, `""`, `{}`,
	}
	for name, r := range map[string]io.Reader{
		"whole": strings.NewReader(text), "bytes": iotest.OneByteReader(strings.NewReader(text)), "halves": iotest.HalfReader(strings.NewReader(text)),
	} {
		s := newStream(r)
		for i, w := range want {
			if i == 4 {
				s.left = len(" ") + len(w) // it ends at its last byte
			} else {
				s.left = maxPage
			}
			if got, whole, err := s.value(); string(got) != w || !whole || err != nil {
				t.Errorf("%s: value %d is %q, %t, %v; want %q", name, i, got, whole, err, w)
			}
		}
		if _, _, err := s.value(); !errors.Is(err, io.EOF) {
			t.Errorf("%s: after the last value: %v", name, err)
		}
	}
}

// TestStreamLimits: a value over the limit of an object is cut, and one over the limit of a page is an error.
func TestStreamLimits(t *testing.T) {
	large := append(append([]byte(`{"a": "`), bytes.Repeat([]byte("x"), maxObject)...), `"} 7`...)
	s := newStream(bytes.NewReader(large))
	if got, whole, err := s.value(); len(got) != maxObject || whole || err != nil {
		t.Errorf("%d bytes, %t, %v", len(got), whole, err)
	}
	if got, whole, err := s.value(); string(got) != "7" || !whole || err != nil {
		t.Errorf("%q, %t, %v", got, whole, err)
	}
	s = newStream(bytes.NewReader(large))
	s.left = 100
	if _, _, err := s.value(); !errors.Is(err, errPage) {
		t.Error(err)
	}
	if _, _, err := s.value(); !errors.Is(err, errPage) {
		t.Error(err)
	}
}

// TestStreamSeparators: separators count, too. A page that ends between two values is an error.
func TestStreamSeparators(t *testing.T) {
	for _, left := range []int{0, 1, 3} {
		s := newStream(strings.NewReader(" ,\n  7"))
		s.left = left
		if _, _, err := s.value(); !errors.Is(err, errPage) {
			t.Errorf("%d bytes left: %v", left, err)
		}
	}
}
