package conformance

import (
	"os"
	"regexp"
	"testing"
)

// TestSameLibraries checks that the product is built with the versions of the libraries that Argo CD 3.2.11 renders
// with. In this module both sides get the same ones, so a difference would not show here, only at users.
func TestSameLibraries(t *testing.T) {
	ours, theirs := versions(t, "../go.mod"), versions(t, "go.mod")
	for _, module := range []string{
		"dario.cat/mergo", "github.com/Masterminds/goutils", "github.com/Masterminds/semver/v3", "github.com/Masterminds/sprig/v3",
		"github.com/huandu/xstrings", "github.com/mitchellh/copystructure", "github.com/mitchellh/reflectwalk",
		"github.com/shopspring/decimal",
		"github.com/spf13/cast", "sigs.k8s.io/yaml",
	} {
		if ours[module] == "" || ours[module] != theirs[module] {
			t.Errorf("%s: %q in the product, %q with Argo CD", module, ours[module], theirs[module])
		}
	}
}

func versions(t *testing.T, file string) map[string]string {
	t.Helper()
	data, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for _, m := range regexp.MustCompile(`(?m)^\t(\S+) (v\S+)`).FindAllStringSubmatch(string(data), -1) {
		out[m[1]] = m[2]
	}
	return out
}
