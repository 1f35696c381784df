package browser

import (
	"strconv"
	"testing"

	"github.com/argosy-cd/argosy/browser/boot"
)

func many(t testing.TB) *page {
	t.Helper()
	url, _ := start(t, "board", "--listen", "127.0.0.1:0", "--recording", recording(t, boot.Options{Apps: 2000, Waves: 10, Done: 5, Fail: 1002}))
	p := open(t, url, 1440, 900)
	// Applications below one that does not exist yet are not known.
	p.until(`document.querySelectorAll('.lane .card').length`, "1736")
	return p
}

func TestMany(t *testing.T) {
	p := many(t)
	p.until(`document.getElementById('headline').textContent.startsWith('longhorn-1002 blocks the boot')`, "true")
	p.click("#b-gantt")
	// Only rows that are seen are there.
	p.until(`document.querySelectorAll('.bar-row').length > 5 && document.querySelectorAll('.bar-row').length < 60`, "true")
	p.eval(`document.getElementById('q').value = 'longhorn'; document.getElementById('q').dispatchEvent(new Event('input'))`)
	p.until(`document.getElementById('matches').textContent`, "88 of 1737")
}

// interactions are what a viewer does, each a script that ends when the page has been drawn.
var interactions = []struct{ name, script string }{
	{"search", `const q = document.getElementById('q'); q.value = i % 2 ? 'long' : ''; q.dispatchEvent(new Event('input'))`},
	{"scrub", `const s = document.getElementById('scrub'); s.value = String(100 + (i * 137) % 800); s.dispatchEvent(new Event('input'))`},
	{"select", `document.querySelectorAll('.lane .card')[(i * 31) % 1736].click()`},
}

// BenchmarkInteraction measures from an event to the frame that shows it, with 2,000 Applications. The budget is 200 ms, what people call
// at once.
func BenchmarkInteraction(b *testing.B) {
	p := many(b)
	for _, x := range interactions {
		b.Run(x.name, func(b *testing.B) {
			n := 0
			for b.Loop() {
				n++
			}
			text := p.eval(`let worst = 0, sum = 0, n = 12; for (let i = 0; i < n; i++) { const at = performance.now(); ` + x.script + `;
				await new Promise((r) => requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = r; c.port2.postMessage(0); }));
				const took = performance.now() - at; sum += took; worst = Math.max(worst, took); await new Promise((r) => setTimeout(r, 50)); }
				return (sum / n).toFixed(1) + ' ' + worst.toFixed(1)`)
			var mean, worst string
			for i, c := range text {
				if c == ' ' {
					mean, worst = text[:i], text[i+1:]
				}
			}
			report := func(text, unit string) {
				if v, err := strconv.ParseFloat(text, 64); err == nil {
					b.ReportMetric(v, unit)
				}
			}
			report(mean, "ms/event")
			report(worst, "ms/worst")
			b.ReportMetric(0, "ns/op")
		})
	}
}
