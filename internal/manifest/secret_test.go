package manifest_test

import (
	"errors"
	"testing"

	"github.com/argosy-cd/argosy/internal/manifest"
)

func TestSecretValue(t *testing.T) {
	for name, c := range map[string]struct {
		in   manifest.Object
		want string
		err  string
	}{
		"none":          {},
		"another key":   {in: manifest.Object{"data": map[string]any{"y": "YQ=="}}},
		"data":          {in: manifest.Object{"data": map[string]any{"x": "YQ=="}}, want: "a"},
		"stringData":    {in: manifest.Object{"stringData": map[string]any{"x": "b"}}, want: "b"},
		"both":          {in: manifest.Object{"data": map[string]any{"x": "YQ=="}, "stringData": map[string]any{"x": "b"}}, want: "b"},
		"emptied":       {in: manifest.Object{"data": map[string]any{"x": "YQ=="}, "stringData": map[string]any{"x": ""}}},
		"not base64":    {in: manifest.Object{"data": map[string]any{"x": "s3cret!"}}, err: "data.x: not base64"},
		"another type":  {in: manifest.Object{"data": map[string]any{"x": int64(1)}, "stringData": "x"}},
		"another field": {in: manifest.Object{"data": map[string]any{"x": "YQ==", "y": "!"}}, want: "a"},
	} {
		got, err := manifest.SecretValue(c.in, "x")
		if err == nil {
			err = errors.New("")
		}
		if got.Reveal() != c.want || err.Error() != c.err {
			t.Errorf("%s: %q, %v", name, got.Reveal(), err)
		}
	}
}
