package lint

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestShown: each rule about waves, prerequisites, wedges and losses names a test of the lab that there is, or says why it has none.
func TestShown(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("../../lab/e2e/*_test.go")
	if err != nil || len(files) == 0 {
		t.Fatal(err, files)
	}
	var code strings.Builder
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		code.Write(data)
	}
	named := map[string]bool{}
	for _, r := range Rules() {
		needs := slices.Contains([]Family{Waves, Prerequisites, Wedges, Loss}, r.Family)
		switch has := r.Shown.Test != ""; {
		case has == (r.Shown.Not != "") && (needs || has):
			t.Errorf("%s needs either a test or the reason why it has none: %+v", r.Name, r.Shown)
		case has && !strings.Contains(code.String(), "\nfunc "+r.Shown.Test+"(t *testing.T) {"):
			t.Errorf("%s: lab/e2e has no %s", r.Name, r.Shown.Test)
		}
		named[r.Name] = true
	}
	for _, list := range []map[string]string{shownBy, notShown} {
		for name := range list {
			if !named[name] {
				t.Errorf("there is no rule %s", name)
			}
		}
	}
}
