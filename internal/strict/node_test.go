package strict

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestNodes finds scalars in their text: what is between the offsets is what was written.
func TestNodes(t *testing.T) {
	in := "\uFEFF# ü\u2028ä: 'it''s'\r\nb: \"\\\"\" # c\n---\n---\n- é\n- &a x\n- |\n  y\n- [z, *a]\n- p\n  q\n- ~\n-\n"
	docs, err := Nodes([]byte(in))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	var visit func(n *Node)
	visit = func(n *Node) {
		if n.Kind == ScalarNode {
			text := "?"
			if n.End > 0 {
				text = in[n.Start:n.End]
			}
			got = append(got, n.Value+"="+text)
		}
		for _, f := range n.Fields {
			visit(f.Key)
			visit(f.Value)
		}
		for _, item := range n.Items {
			visit(item)
		}
	}
	for _, d := range docs {
		visit(d)
	}
	want := []string{"ä=ä", "it's='it''s'", "b=b", `"="\""`, "é=é", "x=?", "y\n=?", "z=z", "p q=?", "~=~", "="}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
	if _, err := Nodes([]byte("a: [")); err == nil {
		t.Error("no error")
	}
}
