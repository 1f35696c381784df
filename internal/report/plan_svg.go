package report

import (
	"bufio"
	"fmt"
	"io"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

// Measures of the drawing, in pixels.
const (
	svgColumn = 220
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
}

// svgSection is an Application that deploys others.
type svgSection struct {
	name  string
	waves []svgWave
}

func svgSections(p *plan.Plan) []svgSection {
	var out []svgSection
	for _, app := range p.Applications {
		if app != p.Root && !app.DeploysOthers() {
			continue
		}
		s := svgSection{name: app.Name}
		waves := app.Waves()
		for i, wave := range waves {
			w := svgWave{title: fmt.Sprintf("wave %d%s", wave.Wave, phaseName(wave.Phase)), waits: true, last: i == len(waves)-1}
			others := 0
			for _, item := range wave.Items {
				switch {
				case item.Application != nil:
					w.boxes = append(w.boxes, svgBox{item.Name, boxClass(item.Application), 0})
				case item.Children != nil:
					w.boxes = append(w.boxes, svgBox{item.Name, "set", 0})
					for _, child := range item.Children {
						w.boxes = append(w.boxes, svgBox{child.Name, boxClass(child), 1})
					}
				default:
					others++
					continue
				}
				w.waits = w.waits && item.Waits
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

func boxClass(app *plan.Application) string {
	for _, s := range app.Sources {
		if s.Unknown != "" {
			return "unknown"
		}
	}
	return "app"
}

// planSVG draws a plan: a row for each Application that deploys others, a column for each wave. An arrow that is crossed out leads to a
// wave that does not wait.
func planSVG(out io.Writer, p *plan.Plan) error {
	sections := svgSections(p)
	width, height := 0, svgMargin
	for _, s := range sections {
		width = max(width, len(s.waves)*(svgColumn+svgGap)-svgGap)
		height += s.height() + svgMargin
	}
	width += 2 * svgMargin
	w := bufio.NewWriter(out)
	fmt.Fprintf(w, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" font-family="system-ui, sans-serif" font-size="13">
<style>.bg{fill:#fff}.col{fill:#f4f6f8}.app{fill:#dbeafe}.set{fill:#fde68a}.unknown{fill:#eee;stroke:#999;stroke-dasharray:4 3}.other{fill:none}.wait{stroke:#15803d}.nowait{stroke:#b91c1c}.t{font-weight:600}</style>
<rect class="bg" width="100%%" height="100%%"/>
`, width, height, width, height)
	y := svgMargin
	for _, s := range sections {
		s.draw(w, y)
		y += s.height() + svgMargin
	}
	fmt.Fprintln(w, "</svg>")
	return flush(w)
}

func (s svgSection) rows() int {
	rows := 1
	for _, wave := range s.waves {
		rows = max(rows, len(wave.boxes))
	}
	return rows
}

func (s svgSection) height() int { return svgHead + 10 + s.rows()*svgLine + 28 }

func (s svgSection) draw(w io.Writer, y int) {
	fmt.Fprintf(w, "<text class=\"t\" x=\"%d\" y=\"%d\" font-size=\"16\">%s</text>\n", svgMargin, y+16, svgText(s.name, 80))
	top := y + 26
	for i, wave := range s.waves {
		x := svgMargin + i*(svgColumn+svgGap)
		fmt.Fprintf(w, "<rect class=\"col\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"6\"/>\n", x, top, svgColumn, s.height()-26)
		fmt.Fprintf(w, "<text class=\"t\" x=\"%d\" y=\"%d\">%s</text>\n", x+10, top+20, svgText(wave.title, 26))
		for j, box := range wave.boxes {
			bx, by := x+8+16*box.depth, top+30+j*svgLine
			fmt.Fprintf(w, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"4\"/><text x=\"%d\" y=\"%d\">%s</text>\n",
				box.class, bx, by, svgColumn-16-16*box.depth, svgLine-4, bx+8, by+14, svgText(box.text, 26-2*box.depth))
		}
		if wave.last {
			continue
		}
		class, from, to, middle := "wait", x+svgColumn+4, x+svgColumn+svgGap-4, top+14
		if !wave.waits {
			class = "nowait"
		}
		fmt.Fprintf(w, "<path class=\"%s\" stroke-width=\"2\" fill=\"none\" d=\"M%d %dH%dm-6 -5l6 5l-6 5\"/>\n", class, from, middle, to)
		if !wave.waits {
			center := (from + to) / 2
			fmt.Fprintf(w, "<path class=\"nowait\" stroke-width=\"2\" d=\"M%d %dl10 10m0 -10l-10 10\"><title>the next wave does not wait</title></path>\n", center-7, middle-5)
		}
	}
}

// svgText is text for a drawing, shortened to so many characters.
func svgText(s string, most int) string {
	if utf8.RuneCountInString(s) > most {
		s = string([]rune(s)[:most-1]) + "…"
	}
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s))
}
