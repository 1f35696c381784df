package report

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Measures of names in drawings. A letter is as wide as the widest common ones of the fonts, on average.
const (
	svgLetter    = 8  // pixels
	svgLongest   = 60 // characters of a name; longer ones are cut
	svgForEver   = "blocked for ever"
	svgCrossSize = 10 // pixels
)

// svgText returns text for a drawing: escaped, and with spaces for unprintable characters.
func svgText(s string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;").Replace(strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) || r == utf8.RuneError {
			return ' '
		}
		return r
	}, s))
}

// svgNames are names as a drawing shows them. Long ones are cut in the middle, so that their beginnings and ends are seen, and no two of
// them become equal.
type svgNames struct {
	short map[string]string // by name
	taken map[string]bool
}

func newSVGNames(names ...string) *svgNames {
	n := &svgNames{short: map[string]string{}, taken: map[string]bool{}}
	for _, name := range names { // those that are whole stay so
		if utf8.RuneCountInString(name) <= svgLongest {
			n.short[name], n.taken[name] = name, true
		}
	}
	for _, name := range names {
		if n.short[name] != "" {
			continue
		}
		short := middle(name, svgLongest)
		for i := 2; n.taken[short]; i++ {
			number := "~" + strconv.Itoa(i)
			short = middle(name, svgLongest-len(number)) + number
		}
		n.short[name], n.taken[short] = short, true
	}
	return n
}

// of returns the shown form of a name. Other texts stay unchanged.
func (n *svgNames) of(name string) string {
	if short, ok := n.short[name]; ok {
		return short
	}
	return name
}

// text is the content of a text element: a name as it is shown, and the whole one as its title if it is cut.
func (n *svgNames) text(name string) string {
	if short := n.of(name); short != name {
		return svgText(short) + "<title>" + svgText(name) + "</title>"
	}
	return svgText(name)
}

// svgWidth is the width of the longest of some texts, in pixels.
func svgWidth(texts ...string) int {
	longest := 0
	for _, text := range texts {
		longest = max(longest, utf8.RuneCountInString(text))
	}
	return longest * svgLetter
}

// middle is a text without its middle, if it has more than so many characters.
func middle(s string, most int) string {
	r := []rune(s)
	if len(r) <= most {
		return s
	}
	head := (most - 1) / 2
	return string(r[:head]) + "…" + string(r[len(r)-(most-1-head):])
}

// svgOpen begins a drawing. Screen readers and browser tabs show its title.
func svgOpen(w io.Writer, width, height int, title, style string) {
	fmt.Fprintf(w,
		`<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %d %d" width="%d" height="%d" role="img" font-family="system-ui, sans-serif" font-size="13">
<title>%s</title>
<style>%s.blocked{stroke:#b91c1c;stroke-width:2;fill:none}</style>
`, width, height, width, height, svgText(title), style)
}

// svgCross draws the mark of a blocked item, with its left upper corner at x and y.
func svgCross(w io.Writer, x, y int, why string) {
	fmt.Fprintf(w, "<path class=\"blocked\" d=\"M%d %dl%d %dm0 -%dl-%d %d\"><title>%s</title></path>\n", x, y, svgCrossSize, svgCrossSize,
		svgCrossSize, svgCrossSize, svgCrossSize, svgText(why))
}

// svgSign is a line of a legend: something that is drawn in 24 by 12 pixels, and what it means.
type svgSign struct {
	draw func(w io.Writer, x, y int)
	text string
}

// svgLegendHeight is the height of a legend.
func svgLegendHeight(signs []svgSign) int { return len(signs)*18 + 8 }

// svgLegend draws a legend.
func svgLegend(w io.Writer, x, y int, signs []svgSign) {
	for _, s := range signs {
		s.draw(w, x, y)
		fmt.Fprintf(w, "<text x=\"%d\" y=\"%d\" font-size=\"12\">%s</text>\n", x+34, y+11, svgText(s.text))
		y += 18
	}
}

// svgSwatch is a small box of a class.
func svgSwatch(class string) func(w io.Writer, x, y int) {
	return func(w io.Writer, x, y int) {
		fmt.Fprintf(w, "<rect class=\"%s\" x=\"%d\" y=\"%d\" width=\"24\" height=\"12\" rx=\"3\"/>\n", class, x, y+1)
	}
}
