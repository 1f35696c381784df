package browser

import (
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/browser/boot"
)

// hostile are names that nobody has, and that a cluster may send nevertheless.
var hostile = []string{
	`<img src=x onerror="window.hacked=1">`, `"><script>window.hacked=2</script>`, `javascript:window.hacked=3`, `'+window.hacked+'`,
	"\u202eevil", strings.Repeat("x", 3000), `</title><svg onload=window.hacked=4>`, `__proto__`, `constructor`, "a\nb\x00c", `../../api/why`, `&lt;b&gt;`, `%3Cscript%3E`, `${window.hacked=5}`,
}

func TestHostileNames(t *testing.T) {
	url, _ := start(t, "board", "--listen", "127.0.0.1:0", "--recording", recording(t, boot.Options{
		Apps: len(hostile), Waves: 2, Done: 1, Fail: 9, Name: func(i int) string { return hostile[i] },
	}))
	p := open(t, url, 1200, 800)
	p.until(`document.querySelectorAll('.lane .card').length`, fmt.Sprint(len(hostile)))
	names := p.eval(`return [...document.querySelectorAll('.lane .card .name')].map((n) => n.textContent).join('\u0001')`)
	for _, name := range hostile {
		if !strings.Contains(names, name) {
			t.Errorf("%.40q is not shown as it is", name)
		}
	}
	p.click("#b-gantt")
	p.click("#b-edges")
	p.eval(`for (const c of document.querySelectorAll('.card')) { c.click(); await new Promise((r) => setTimeout(r, 60)); }`)
	if got := p.eval(`return window.hacked + ' ' + document.querySelectorAll('img, iframe, body script, .lane svg[onload]').length`); got != "undefined 0" {
		t.Errorf("names became markup: %s", got)
	}
	if got := p.eval(`return Object.prototype.history`); got != "undefined" {
		t.Error("a name changed the prototype")
	}
	// A picture has them as text, too.
	if got := p.eval(`const { picture } = await import('/export.js'); const d = new DOMParser().parseFromString(picture().replaceAll('\u0000', ''), 'image/svg+xml');
		return d.querySelectorAll('script, image, foreignObject, parsererror').length + ' ' + (d.querySelectorAll('circle').length)`); got != fmt.Sprintf("0 %d", len(hostile)) {
		t.Errorf("the picture has %s", got)
	}
}
