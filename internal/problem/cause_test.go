package problem

import (
	"errors"
	"fmt"
	"io/fs"
	"testing"
)

func TestCause(t *testing.T) {
	denied := &fs.PathError{Op: "open", Path: "x.yaml", Err: fs.ErrPermission}
	wrapped := fmt.Errorf("reading: %w", denied)
	other := errors.New("other")
	for _, tt := range []struct {
		name      string
		got, want error
		text      string
	}{
		{"innermost", Innermost(wrapped), fs.ErrPermission, "permission denied"},
		{"innermost of one", Innermost(other), other, "other"},
		{"file", File(wrapped), fs.ErrPermission, "x.yaml: permission denied"},
		{"no file", File(other), other, "other"},
	} {
		if !errors.Is(tt.got, tt.want) || tt.got.Error() != tt.text {
			t.Errorf("%s: %v, want %q", tt.name, tt.got, tt.text)
		}
	}
}
