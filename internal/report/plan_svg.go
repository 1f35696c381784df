package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

// Measures of the drawing, in pixels.
const (
	svgColumn = 220 // at least
	svgGap    = 44
	svgLine   = 22
	svgMargin = 20
	svgHead   = 46
)

// svgBox is a line in a column.
type svgBox struct {
	text  string
	class string
	depth int
}

// svgWave is a column.
type svgWave struct {
	title string
	waits bool
	last  bool
	boxes []svgBox
	// blocked says why it never begins; "" if no reason is known.
	blocked string
}

// width is that of the longest name.
func (w svgWave) width(names *svgNames) int {
	width := svgColumn
	for _, b := range w.boxes {
		width = max(width, svgWidth(names.of(b.text))+16*b.depth+32)
	}
	return width
}

// svgSection is an Application that deploys others.
type svgSection struct {
	name  string
	waves []svgWave
}

func svgSections(p *plan.Plan) []svgSection {
	var out []svgSection
	ends := newEnds(p)
	for _, app := range p.Applications {
		if app != p.Root && !app.DeploysOthers() {
			continue
		}
		s := svgSection{name: app.Name}
		waves := app.Waves()
		blocked := ""
		for i, wave := range waves {
			w := svgWave{
				title: fmt.Sprintf("wave %d%s", wave.Wave, phaseName(wave.Phase)), waits: true, last: i == len(waves)-1,
				blocked: blocked,
			}
			others := 0
			for _, item := range wave.Items {
				switch {
				case item.Application != nil:
					w.boxes = append(w.boxes, svgBox{item.Name, boxClass(item.Application), 0})
				case item.Children != nil:
					w.boxes = append(w.boxes, svgBox{item.Name, setClass(item), 0})
					for _, child := range item.Children {
						w.boxes = append(w.boxes, svgBox{child.Name, boxClass(child), 1})
					}
				default:
					others++
					continue
				}
				w.waits = w.waits && item.Waits
				if why := ends.stops(item); why != "" && blocked == "" {
					blocked = fmt.Sprintf("%s: %s waits for %s, which %s", svgForEver, w.title, item.Name, why)
				}
			}
			if others > 0 {
				w.boxes = append(w.boxes, svgBox{words.Count(others, "object"), "other", 0})
			}
			s.waves = append(s.waves, w)
		}
		out = append(out, s)
	}
	return out
}

func setClass(item *plan.Item) string {
	switch {
	case item.Broken:
		return "broken"
	case item.Unknown != "":
		return "unknown"
	}
	return "set"
}

func boxClass(app *plan.Application) string {
	if app.Broken != "" {
		return "broken"
	}
	for _, s := range app.Sources {
		if s.Unknown != "" {
			return "unknown"
		}
	}
	return "app"
}

// planSigns are the legend of a plan.
func planSigns() []svgSign {
	arrow := func(waits bool) func(io.Writer, int, int) {
		return func(w io.Writer, x, y int) { svgArrow(w, x, x+24, y+7, waits) }
	}
	return []svgSign{
		{svgSwatch("app"), "Application"},
		{svgSwatch("set"), "ApplicationSet"},
		{svgSwatch("unknown"), "not known completely"},
		{svgSwatch("broken"), "broken: Argo CD cannot render it"},
		{arrow(true), "the next wave waits"},
		{arrow(false), "the next wave does not wait"},
		{func(w io.Writer, x, y int) { svgCross(w, x+7, y+2, svgForEver) }, svgForEver + ": an earlier wave waits for something broken"},
	}
}

// planSVG draws a plan: a row for each Application that deploys others, a column for each wave. An arrow that is crossed out leads to a
// wave that does not wait.
func planSVG(out io.Writer, p *plan.Plan) error {
	sections := svgSections(p)
	names := planNames(sections)
	width, height := 400, svgMargin
	for _, s := range sections {
		width = max(width, s.width(names))
		height += s.height() + svgMargin
	}
	width += 2 * svgMargin
	signs := planSigns()
	height += svgLegendHeight(signs)
	w := bufio.NewWriter(out)
	svgOpen(w, width, height, p.Root.Name+": what is deployed in which wave",
		".bg{fill:#fff}.col{fill:#f4f6f8}.app{fill:#dbeafe}.set{fill:#fde68a}.unknown{fill:#eee;stroke:#999;stroke-dasharray:4 "+
			"3}.broken{fill:#fecaca;stroke:#b91c1c}.other{fill:none}"+
			".wait{stroke:#15803d}.nowait{stroke:#b91c1c}.t{font-weight:600}")
	fmt.Fprintln(w, `<rect class="bg" width="100%" height="100%"/>`)
	y := svgMargin
	for _, s := range sections {
		s.draw(w, y, names)
		y += s.height() + svgMargin
	}
	svgLegend(w, svgMargin, y, signs)
	fmt.Fprintln(w, "</svg>")
	return flush(w)
}

// planNames are all names of a drawing.
func planNames(sections []svgSection) *svgNames {
	var all []string
	for _, s := range sections {
		all = append(all, s.name)
		for _, wave := range s.waves {
			for _, box := range wave.boxes {
				all = append(all, box.text)
			}
		}
	}
	slices.Sort(all) // a cut name does not depend on the order of Applications
	return newSVGNames(slices.Compact(all)...)
}

func (s svgSection) width(names *svgNames) int {
	width := svgWidth(names.of(s.name)) * 16 / 13
	columns := -svgGap
	for _, wave := range s.waves {
		columns += wave.width(names) + svgGap
	}
	return max(width, columns)
}

func (s svgSection) rows() int {
	rows := 1
	for _, wave := range s.waves {
		rows = max(rows, len(wave.boxes))
	}
	return rows
}

func (s svgSection) height() int { return svgHead + 10 + s.rows()*svgLine + 28 }

func (s svgSection) draw(w io.Writer, y int, names *svgNames) {
	fmt.Fprintf(w, "<text class=\"t\" x=\"%d\" y=\"%d\" font-size=\"16\">%s</text>\n", svgMargin, y+16, names.text(s.name))
	top, x := y+26, svgMargin
	for _, wave := range s.waves {
		width := wave.width(names)
		fmt.Fprintf(w, "<rect class=\"col\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", x, top, width, s.height()-26)
		fmt.Fprintf(w, "<text class=\"t\" x=\"%d\" y=\"%d\">%s</text>\n", x+10, top+20, svgText(wave.title))
		if wave.blocked != "" {
			svgCross(w, x+width-20, top+10, wave.blocked)
		}
		for j, box := range wave.boxes {
			bx, by := x+8+16*box.depth, top+30+j*svgLine
			fmt.Fprintf(w, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/><text x=\"%d\" y=\"%d\">%s</text>\n",
				box.class, bx, by, width-16-16*box.depth, svgLine-4, bx+8, by+14, names.text(box.text))
		}
		if !wave.last {
			svgArrow(w, x+width+4, x+width+svgGap-4, top+14, wave.waits)
		}
		x += width + svgGap
	}
}

// svgArrow leads to the next wave. It is crossed out if that does not wait.
func svgArrow(w io.Writer, from, to, y int, waits bool) {
	class := "wait"
	if !waits {
		class = "nowait"
	}
	fmt.Fprintf(w, "<path class=\"%s\" stroke-width=\"2\" fill=\"none\" d=\"M%d %dH%dm-6 -5l6 5l-6 5\"/>\n", class, from, y, to)
	if !waits {
		fmt.Fprintf(w, "<path class=\"nowait\" stroke-width=\"2\" d=\"M%d %dl10 10m0 -10l-10 10\"><title>the next wave does not "+
			"wait</title></path>\n", (from+to)/2-7, y-5)
	}
}
