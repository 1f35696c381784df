package appset_test

import (
	"testing"

	"github.com/argosy-cd/argosy/internal/appset/appsettest"
)

// FuzzGenerate starts from the cases and checks that nothing panics or hangs, and that the answer is always the same.
func FuzzGenerate(f *testing.F) {
	suite := appsettest.Load(f, "testdata")
	for _, c := range suite.Cases {
		f.Add(c.Input)
	}
	clusters := suite.Cases[0].Clusters
	f.Fuzz(func(t *testing.T, data []byte) {
		c := appsettest.Case{Input: data, Clusters: clusters}
		if first, second := printed(t, suite, c), printed(t, suite, c); first != second {
			t.Errorf("got\n%s\nthen\n%s", first, second)
		}
	})
}
