package template

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestErrorCauses: what callers learn about an error without reading its text.
func TestErrorCauses(t *testing.T) {
	strict := Config{Go: true, Options: []string{"missingkey=error"}}
	for name, tt := range map[string]struct {
		cfg  Config
		in   string
		want *Error
	}{
		"missing":           {strict, "{{ .nope }}", &Error{Cause: Missing, Path: "spec.path", Parameter: "nope"}},
		"missing, deeper":   {strict, "{{ .top.nope }}", &Error{Cause: Missing, Path: "spec.path"}},
		"no object":         {strict, "{{ .text.nope }}", &Error{Cause: Missing, Path: "spec.path"}},
		"no value":          {Config{Go: true}, "{{ upper .nope }}", &Error{Cause: NoValue, Path: "spec.path"}},
		"different":         {strict, "{{ now }}", &Error{Cause: Different, Path: "spec.path"}},
		"different, inside": {strict, "{{ upper (randAlpha 3) }}", &Error{Cause: Different, Path: "spec.path"}},
		"removed":           {strict, `{{ env "HOME" }}`, &Error{Cause: Undefined, Path: "spec.path"}},
		"undefined":         {strict, "{{ nope }}", &Error{Cause: Undefined, Path: "spec.path"}},
		"anything else":     {strict, "{{ fail .text }}", nil},
		"not a template":    {strict, "{{ .", nil},
	} {
		t.Run(name, func(t *testing.T) {
			e, err := New(tt.cfg)
			if err != nil {
				t.Fatal(err)
			}
			tree, err := e.Compile("spec", map[string]any{"path": tt.in})
			if err == nil {
				_, err = tree.Render(context.Background(), map[string]any{"text": "map has no entry", "top": map[string]any{}})
			}
			if err == nil {
				t.Fatal("there is no error")
			}
			var got *Error
			errors.As(err, &got)
			if diff := cmp.Diff(tt.want, got, cmpopts.IgnoreUnexported(Error{})); diff != "" {
				t.Errorf("%v (-want +got):\n%s", err, diff)
			}
		})
	}
}
