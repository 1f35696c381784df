package gitsource

import (
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/gittree/gittest"
	"github.com/argosy-cd/argosy/internal/tree"
)

func TestSelect(t *testing.T) {
	dir := gittest.New(t, "a/x", "a/y/z", "a-b/x", "a0/x", "b", "a.c")
	for name, l := range map[string]Local{"disk": {Path: dir}, "commit": {Path: dir, Revision: "HEAD"}} {
		tr, err := open(t, l, "")
		if err != nil {
			t.Fatal(err)
		}
		for _, c := range []struct {
			wanted tree.Selection
			want   string
		}{
			{tree.Selection{}, "a-b/x a.c a/x a/y/z a0/x b"},
			{tree.Selection{Dir: "a"}, "a/x a/y/z"},
			{tree.Selection{Dir: "a/"}, "a/x a/y/z"},
			{tree.Selection{Dir: "a/y"}, "a/y/z"},
			{tree.Selection{Dir: "none"}, ""},
			{tree.Selection{Names: []string{"b", "a/x", "none", "a", "b"}}, "a/x b"},
			{tree.In("a", func(name string) bool { return name == "a/x" }), "a/x"},
			{tree.Selection{MaxBytes: int64(len("content of b"))}, "b"},
		} {
			files, err := tr.Select(t.Context(), c.wanted)
			if err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, f := range files {
				got = append(got, f.Name)
				if string(f.Data) != "content of "+f.Name {
					t.Errorf("%s: %s", f.Name, f.Data)
				}
			}
			if s := strings.Join(got, " "); s != c.want {
				t.Errorf("%s: %+v: %s, want %s", name, c.wanted, s, c.want)
			}
		}
	}
}
