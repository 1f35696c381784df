package report

import (
	"bufio"
	"fmt"
	"html"
	"io"
	"time"

	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/words"
)

// Sizes of the picture of a boot.
const (
	bootLabel, bootWidth, bootLine, bootTop = 260, 720, 20, 60
)

// bootSVG draws the time line of a boot, or of several, one below the other and on one scale. Several are those of a comparison.
func bootSVG(w io.Writer, boots ...*simulate.Boot) error {
	out := bufio.NewWriter(w)
	height, total := 0, time.Second
	for _, b := range boots {
		height += bootHeight(b)
		total = max(total, b.Total)
	}
	fmt.Fprintf(out, `<svg xmlns="http://www.w3.org/2000/svg" width="%d" height="%d" font-family="sans-serif" font-size="12">
<style>.wait{fill:#d8dee9}.run{fill:#88a7d8}.never{fill:#d88888}text{fill:#222}text.why{fill:#b00020}.grid{stroke:#ddd}@media(prefers-color-scheme:dark){text{fill:#ddd}text.why{fill:#ff8a80}.grid{stroke:#444}}</style>
`, bootLabel+bootWidth+20, height)
	top := 0
	for i, b := range boots {
		title := ""
		if len(boots) > 1 {
			title = "with the " + Renderers()[i]
		}
		drawBoot(out, b, title, top, total)
		top += bootHeight(b)
	}
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

func bootHeight(b *simulate.Boot) int {
	shown, rest := rows(b)
	return bootTop + bootLine*(len(culprits(b))+len(shown)+min(len(rest), 1)) + 20
}

func bootText(out io.Writer, x, y int, class, text string) {
	fmt.Fprintf(out, `<text x="%d" y="%d"%s>%s</text>`+"\n", x, y, class, html.EscapeString(words.Harmless(text)))
}

// drawBoot draws one boot. What keeps it from ending is at its top, and what is never made is one line.
func drawBoot(out io.Writer, b *simulate.Boot, title string, top int, total time.Duration) {
	x := func(d time.Duration) int { return bootLabel + int(int64(d)*bootWidth/int64(total)) }
	end := top + bootHeight(b)
	y := top + bootTop - 40
	bootText(out, 10, y, "", title)
	for _, line := range because(b) {
		y += bootLine
		bootText(out, 10, y, ` class="why"`, line)
	}
	y += 24
	for i := range 5 {
		at := total * time.Duration(i) / 4
		fmt.Fprintf(out, `<line class="grid" x1="%d" y1="%d" x2="%d" y2="%d"/><text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n", x(at), y+6, x(at), end-10, x(at), y, words.Clock(at))
	}
	y += 16
	shown, rest := rows(b)
	for _, r := range shown {
		bootText(out, 10+12*r.Depth, y+13, "", r.Name)
		drawRun(out, r, x, y, total)
		y += bootLine
	}
	if len(rest) > 0 {
		bootText(out, 10, y+13, "", restLine(b, rest))
	}
}

func drawRun(out io.Writer, r *simulate.Run, x func(time.Duration) int, y int, total time.Duration) {
	if r.Created < 0 {
		return
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
	fmt.Fprintf(out, `<rect class="%s" x="%d" y="%d" width="%d" height="12"><title>%s: %s to %s</title></rect>`+"\n", class, x(started), y+3, max(x(end)-x(started), 2), html.EscapeString(words.Harmless(r.Name)), words.Clock(r.Created), words.Clock(r.Healthy))
}
