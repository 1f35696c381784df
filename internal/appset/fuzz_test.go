package appset_test

import (
	"bytes"
	"testing"

	"github.com/argosy-cd/argosy/internal/appset/appsettest"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// FuzzGenerate starts from the cases and checks that nothing panics or hangs, and that the answer is always the same.
func FuzzGenerate(f *testing.F) {
	suite := appsettest.Load(f, "testdata")
	for _, c := range suite.Cases {
		f.Add(c.Input)
	}
	clusters := suite.Cases[0].Clusters
	f.Fuzz(func(t *testing.T, data []byte) {
		run := func() string {
			objects, err := suite.Ours(appsettest.Case{Input: data, Clusters: clusters})
			if err != nil {
				return err.Error()
			}
			var buf bytes.Buffer
			if err := manifest.WriteYAML(&buf, objects...); err != nil {
				t.Fatal(err)
			}
			return buf.String()
		}
		if first, second := run(), run(); first != second {
			t.Errorf("got\n%s\nthen\n%s", first, second)
		}
	})
}
