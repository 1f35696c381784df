package manifest

import (
	"errors"
	"fmt"
)

// PlacedError is an error at a position, which its text begins with.
type PlacedError struct {
	Position Position
	Err      error
}

func (e *PlacedError) Error() string { return e.Position.Document() + ": " + e.Err.Error() }

// Unwrap returns the error without its position.
func (e *PlacedError) Unwrap() error { return e.Err }

// Errorf makes an error at a position.
func (p Position) Errorf(format string, args ...any) error {
	return &PlacedError{p, fmt.Errorf(format, args...)}
}

// Errorf makes an error in a file, of which no line is known.
func Errorf(file, format string, args ...any) error {
	return Position{File: file}.Errorf(format, args...)
}

// PositionOf returns the position of an error. If several are inside each other, it is that of the outermost, whose text is in front.
func PositionOf(err error) (p Position, ok bool) {
	var placed *PlacedError
	if !errors.As(err, &placed) {
		return Position{}, false
	}
	return placed.Position, true
}
