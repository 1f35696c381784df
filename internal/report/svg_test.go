package report

import (
	"strings"
	"testing"
)

func TestSVGText(t *testing.T) {
	for text, want := range map[string]string{
		"<a & \"b\">\x00" + strings.Repeat("é", 30): "&lt;a &amp; &quot;b&quot;&gt; ééé…",
		"fourteen chars":  "fourteen chars",
		"fifteen letters": "fifteen lette…",
		"a\u202eb\xffc":   "a b c",
	} {
		if got := svgText(text, 14); got != want {
			t.Errorf("%q: %q", text, got)
		}
	}
}
