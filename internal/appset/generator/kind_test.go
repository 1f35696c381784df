package generator_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// TestNodes: generators are found in their places, in sets that need not be valid.
func TestNodes(t *testing.T) {
	docs, err := manifest.Decode("set.yaml", []byte(`
kind: x
generators:
- list: {generators: [{git: {}}]}
- null
- text
- clusters: null
- merge: text
- plugin: {}
  git: {}
- matrix: {generators: [{git: {}}, {merge: {generators: [{clusters: {}}, {unknown: {}}]}}]}
`))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, n := range generator.Nodes(docs[0].Object["generators"]) {
		line := strings.Join(n.At(), ".")
		if n.Parent != nil {
			line += " in " + string(n.Parent.Kind)
		}
		got = append(got, line)
	}
	want := []string{
		"generators.[0].list", "generators.[4].merge", "generators.[5].git", "generators.[5].plugin", "generators.[6].matrix",
		"generators.[6].matrix.generators.[0].git in matrix", "generators.[6].matrix.generators.[1].merge in matrix",
		"generators.[6].matrix.generators.[1].merge.generators.[0].clusters in merge",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if got := generator.Nodes("text"); got != nil {
		t.Error(got)
	}
}

// TestKinds: which kinds ask an API, which have parameters from repositories, and which nest.
func TestKinds(t *testing.T) {
	var apis, repositories, nests []generator.Kind
	for _, k := range generator.Kinds() {
		for list, has := range map[*[]generator.Kind]bool{&apis: k.AsksAPI(), &repositories: k.FromRepositories(), &nests: k.Nests()} {
			if has {
				*list = append(*list, k)
			}
		}
	}
	for _, c := range []struct{ got, want []generator.Kind }{
		{apis, []generator.Kind{"scmProvider", "clusterDecisionResource", "pullRequest", "plugin"}},
		{repositories, []generator.Kind{"git", "scmProvider", "pullRequest"}},
		{nests, []generator.Kind{"matrix", "merge"}},
	} {
		if !slices.Equal(c.got, c.want) {
			t.Errorf("%v, want %v", c.got, c.want)
		}
	}
}
