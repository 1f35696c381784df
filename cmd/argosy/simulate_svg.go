package main

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"time"

	"github.com/argosy-cd/argosy/internal/simulate"
)

// bootSVG draws the time line of a boot.
func bootSVG(w io.Writer, b *simulate.Boot) error {
	const label, width, line, top = 260, 720, 20, 40
	out := bufio.NewWriter(w)
	height := top + line*len(b.Runs) + 20
	total := max(b.Total, time.Second)
	x := func(d time.Duration) int { return label + int(int64(d)*width/int64(total)) }
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">
<style>.wait{fill:#d8dee9}.run{fill:#88a7d8}.never{fill:#d88888}text{fill:#222}.grid{stroke:#ddd}@media(prefers-color-scheme:dark){text{fill:#ddd}.grid{stroke:#444}}</style>
`, label+width+20, height)
	for i := range 5 {
		at := total * time.Duration(i) / 4
		fmt.Fprintf(out, `<line class="grid" x1="%d" y1="%d" x2="%d" y2="%d"/><text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", x(at), top-10, x(at), height-10, x(at), top-16, clock(at))
	}
	for i, r := range b.Runs {
		y := top + line*i
		fmt.Fprintf(out, `<text x="%d" y="%d">%s</text>`+"\n", 10+12*r.Depth, y+13, html.EscapeString(r.Name))
		if r.Created < 0 {
			continue
		}
		end, class := r.Healthy, "run"
		if end < 0 {
			end, class = total, "never"
		}
		started := r.Started
		if started < 0 {
			started = end
		}
		fmt.Fprintf(out, `<rect class="wait" x="%d" y="%d" width="%d" height="12"/>`, x(r.Created), y+3, max(x(started)-x(r.Created), 0))
		fmt.Fprintf(out, `<rect class="%s" x="%d" y="%d" width="%d" height="12"><title>%s: %s to %s</title></rect>`+"\n", class, x(started), y+3, max(x(end)-x(started), 2), html.EscapeString(r.Name), clock(r.Created), clock(r.Healthy))
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}
