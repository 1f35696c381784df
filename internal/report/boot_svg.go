package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"time"

	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/words"
)

// Sizes of the picture of a boot. The label is at least so wide.
const (
	bootLabel, bootWidth, bootLine, bootTop = 260, 720, 20, 60
)

// bootPicture has the values that all boots of a picture share.
type bootPicture struct {
	names *svgNames
	label int
	total time.Duration
}

func (p bootPicture) x(d time.Duration) int { return p.label + int(int64(d)*bootWidth/int64(p.total)) }

// bootSigns are the legend of a picture of boots.
func bootSigns() []svgSign {
	return []svgSign{
		{svgSwatch("wait"), "created, and not syncing yet"},
		{svgSwatch("run"), "from its sync until it is healthy"},
		{svgSwatch("never"), "not healthy at the end"},
		{func(w io.Writer, x, y int) {
			svgCross(w, x+7, y+2, svgForEver)
		}, svgForEver + ": without a change it never becomes healthy, or is never created"},
	}
}

// bootSVG draws the time line of a boot of each plan, one below the other and on one scale. Several are those of a comparison.
func bootSVG(w io.Writer, title string, plans []*plan.Plan, boots []*simulate.Boot) error {
	out := bufio.NewWriter(w)
	signs := bootSigns()
	height, picture := svgLegendHeight(signs), bootPicture{label: bootLabel, total: time.Second}
	var all []string
	for _, b := range boots {
		height += bootHeight(b)
		picture.total = max(picture.total, b.Total)
		for _, r := range b.Runs {
			all = append(all, r.Name)
		}
	}
	slices.Sort(all)
	picture.names = newSVGNames(slices.Compact(all)...)
	for _, b := range boots {
		for _, r := range b.Runs {
			picture.label = max(picture.label, 20+12*r.Depth+svgWidth(picture.names.of(r.Name)))
		}
	}
	svgOpen(out, picture.label+bootWidth+30, height, title,
		".wait{fill:#d8dee9}.run{fill:#88a7d8}.never{fill:#d88888}text{fill:#222}text.why{fill:#b00020}"+
			".t{font-weight:600}.grid{stroke:#ddd}"+
			"@media(prefers-color-scheme:dark){text{fill:#ddd}text.why{fill:#ff8a80}.grid{stroke:#444}}")
	top := 0
	for i, b := range boots {
		if len(boots) > 1 {
			title = "with the " + Renderers()[i]
		}
		picture.draw(out, plans[i], b, title, top)
		top += bootHeight(b)
	}
	svgLegend(out, 10, top, signs)
	fmt.Fprintln(out, "</svg>")
	return out.Flush()
}

func bootHeight(b *simulate.Boot) int {
	shown, rest := rows(b)
	return bootTop + bootLine*(len(because(b))+len(shown)+min(len(rest), 1)) + 20
}

func bootText(out io.Writer, x, y int, class, text string) {
	fmt.Fprintf(out, `<text x="%d" y="%d"%s>%s</text>`+"\n", x, y, class, svgText(text))
}

// draw draws one boot. The causes of a boot that does not end are at its top, and Applications that are never created are one line.
func (p bootPicture) draw(out io.Writer, planned *plan.Plan, b *simulate.Boot, title string, top int) {
	end := top + bootHeight(b)
	y := top + bootTop - 40
	bootText(out, 10, y, ` class="t"`, title)
	for _, line := range because(b) {
		y += bootLine
		bootText(out, 10, y, ` class="why"`, line)
	}
	y += 24
	for i := range 5 {
		at := p.total * time.Duration(i) / 4
		fmt.Fprintf(out, `<line class="grid" x1="%d" y1="%d" x2="%d" y2="%d"/><text x="%d" y="%d" text-anchor="middle">%s</text>`+"\n",
			p.x(at), y+6, p.x(at), end-10, p.x(at), y, words.Clock(at))
	}
	y += 16
	shown, rest := rows(b)
	for _, r := range shown {
		fmt.Fprintf(out, `<text x="%d" y="%d">%s</text>`+"\n", 10+12*r.Depth, y+13, p.names.text(r.Name))
		p.run(out, r, y)
		if why := forEver(b, r); why != "" {
			svgCross(out, p.x(p.total)+6, y+4, why)
		}
		y += bootLine
	}
	if len(rest) == 0 {
		return
	}
	x := 10
	if !b.Update && !b.Cut {
		svgCross(out, x, y+4, svgForEver+": never created")
		x += 18
	}
	bootText(out, x, y+13, "", restLine(planned, b, rest))
}

// forEver says why an Application never becomes healthy, or never gets an update. It is "" if it does, if it must be synced by hand, or if
// the end of the boot is unknown.
func forEver(b *simulate.Boot, r *simulate.Run) string {
	switch {
	case b.Cut || r.ByHand():
		return ""
	case r.Old():
		return svgForEver + ": it never gets the update"
	case r.Created >= 0 && r.Healthy < 0:
		return svgForEver + ": it never becomes healthy"
	case r.GivenUp:
		return svgForEver + ": its sync was given up"
	}
	return ""
}

// run draws the line of an Application.
func (p bootPicture) run(out io.Writer, r *simulate.Run, y int) {
	if r.Created < 0 {
		return
	}
	end, class := r.Healthy, "run"
	if end < 0 {
		end, class = p.total, "never"
	}
	started := r.Started
	if started < 0 {
		started = end
	}
	fmt.Fprintf(out, `<rect class="wait" x="%d" y="%d" width="%d" height="12"/>`, p.x(r.Created), y+3, max(p.x(started)-p.x(r.Created), 0))
	fmt.Fprintf(out, `<rect class="%s" x="%d" y="%d" width="%d" height="12"><title>%s: %s to %s</title></rect>`+"\n", class, p.x(started),
		y+3, max(p.x(end)-p.x(started), 2), svgText(r.Name), words.Clock(r.Created), words.Clock(r.Healthy))
}
