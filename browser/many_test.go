package browser

import (
	"context"
	"slices"
	"strconv"
	"testing"

	"github.com/chromedp/cdproto/performance"
	"github.com/chromedp/chromedp"

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

// interactions are what a viewer does, each a script that changes something; i counts.
var interactions = []struct{ name, script string }{
	{"search", `const q = document.getElementById('q'); q.value = ['long', 'longh', 'cert', ''][i % 4]; q.dispatchEvent(new Event('input'))`},
	{"filter", `const s = document.getElementById('f-state'); s.value = ['healthy', 'waiting', ''][i % 3]; s.dispatchEvent(new Event('change'))`},
	{"scrub", `const s = document.getElementById('scrub'); s.value = String(100 + (i * 137) % 800); s.dispatchEvent(new Event('input'))`},
	{"select", `document.querySelectorAll('.lane .card')[(i * 31) % 1736].click()`},
	{"scroll", `document.getElementById('board').scrollBy((i % 2 ? -1 : 1) * 700, (i % 4 < 2 ? 1 : -1) * 500)`},
	{"arrows", `document.activeElement.dispatchEvent(new KeyboardEvent('keydown', { key: ['ArrowDown', 'ArrowRight', 'ArrowUp', 'ArrowLeft'][i % 4], bubbles: true }))`},
}

// budget is how long the page may take from an event to its frame: what people call at once.
const budget = 100.0

// BenchmarkInteraction measures with 2,000 Applications what the page does from an event to the frame that shows it: the processor time of its
// thread, which other programs do not change, and the time on the clock. The budget is for the former.
func BenchmarkInteraction(b *testing.B) {
	p := many(b)
	p.do(performance.Enable().WithTimeDomain(performance.EnableTimeDomainThreadTicks))
	for _, x := range interactions {
		b.Run(x.name, func(b *testing.B) {
			var clock []float64
			before := p.busy()
			for b.Loop() {
				text := p.eval(`const i = ` + strconv.Itoa(len(clock)) + `, at = performance.now(); ` + x.script + `;
					await new Promise((r) => requestAnimationFrame(() => { const c = new MessageChannel(); c.port1.onmessage = r; c.port2.postMessage(0); }));
					return performance.now() - at`)
				took, err := strconv.ParseFloat(text, 64)
				if err != nil {
					b.Fatal(err)
				}
				clock = append(clock, took)
			}
			cpu := (p.busy() - before) / float64(len(clock))
			slices.Sort(clock)
			b.ReportMetric(cpu, "ms/event")
			b.ReportMetric(100*cpu/budget, "%budget")
			b.ReportMetric(clock[len(clock)/2], "clock-ms/event")
			b.ReportMetric(0, "ns/op")
		})
	}
}

// busy is the processor time that the thread of the page has taken so far, in milliseconds.
func (p *page) busy() float64 {
	p.t.Helper()
	var out float64
	p.do(chromedp.ActionFunc(func(ctx context.Context) error {
		metrics, err := performance.GetMetrics().Do(ctx)
		for _, m := range metrics {
			if m.Name == "TaskDuration" {
				out = m.Value * 1000
			}
		}
		return err
	}))
	return out
}
