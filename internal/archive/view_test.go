package archive

import (
	"fmt"
	"strings"
	"testing"
)

// TestView: small files are there after one pass, others after one more for their directory, and names are bounded.
func TestView(t *testing.T) {
	large := strings.Repeat("x", earlyFile+1)
	var content strings.Builder
	for i := range maxScans + 1 {
		content.WriteString(record('0', fmt.Sprintf("d%d/large", i), large))
	}
	v, err := View(t.Context(), opener(gz(content.String()+record('0', "a/small", "s")+end)), RepositoryLimits)
	if err != nil {
		t.Fatal(err)
	}
	if data, err := v.Read(t.Context(), "a/small"); err != nil || string(data) != "s" {
		t.Errorf("%q, %v", data, err)
	}
	for i := range maxScans {
		if data, err := v.Read(t.Context(), fmt.Sprintf("d%d/large", i)); err != nil || len(data) != len(large) {
			t.Fatalf("%d: %d bytes, %v", i, len(data), err)
		}
	}
	if _, err := v.Read(t.Context(), fmt.Sprintf("d%d/large", maxScans)); err == nil ||
		!strings.Contains(err.Error(), "large files in more than") {
		t.Error(err)
	}
	deep := strings.Repeat("d/", maxDepth+1) + "f"
	if _, err := View(t.Context(), opener(gz(pax('x', "x", "path", deep)+record('0', "f", "x")+end)), RepositoryLimits); err == nil ||
		!strings.Contains(err.Error(), "not a name in a repository") {
		t.Error(err)
	}
}
