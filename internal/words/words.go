// Package words has the small words of reports and messages: numbers with their nouns, lists that are cut, and names that are safe to
// print.
package words

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Count is a number with its noun: "1 object", "2 objects".
func Count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// IsAre is the verb for a number of things.
func IsAre(n int) string {
	if n == 1 {
		return "is"
	}
	return "are"
}

// Some names the first eight of many.
func Some(names []string) string { return First(names, 8) }

// First names the first of many, and counts the others. It never leaves one out: that name takes no more space than "and 1 more".
func First(names []string, most int) string {
	if len(names) <= most+1 {
		return strings.Join(names, ", ")
	}
	return fmt.Sprintf("%s and %d more", strings.Join(names[:most], ", "), len(names)-most)
}

// Clock is a time since a boot began; a negative one never comes.
func Clock(d time.Duration) string {
	if d < 0 {
		return "never"
	}
	return d.Round(time.Second).String()
}

// Shorten cuts a text after so many bytes.
func Shorten(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most], "") + " …"
}

// OneLine returns a text in one line of at most so many bytes. It reads no more of the text than needed.
func OneLine(s string, most int) string {
	var b strings.Builder
	for word := range strings.FieldsSeq(s) {
		if b.Len() > most {
			break
		}
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(word[:min(len(word), most+1)])
	}
	return Shorten(b.String(), most)
}

// Ends is OneLine with the middle left out, for errors of libraries: they end with the cause. The end has two thirds of the bytes.
func Ends(s string, most int) string {
	s = strings.Join(strings.Fields(s), " ")
	if len(s) <= most {
		return s
	}
	return strings.ToValidUTF8(s[:most/3], "") + " … " + strings.ToValidUTF8(s[len(s)-(most-most/3):], "")
}

// Cut makes a line as short as a terminal is wide.
func Cut(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:max(width-1, 0)]) + "…"
}

// Age is a time since something began, with one unit as kubectl has it: 45s, 12m, 3h, 4d. One before it began is 0s.
func Age(d time.Duration) string {
	switch d = max(d, 0); {
	case d < 2*time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < 2*time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	}
	return fmt.Sprintf("%dd", int(d.Hours()/24))
}

// Printable returns a name unchanged, or quoted if a terminal could interpret it.
func Printable(s string) string {
	for _, r := range s {
		if !unicode.IsPrint(r) {
			return strconv.Quote(s)
		}
	}
	return s
}

// Harmless returns a text without characters that a terminal would interpret.
func Harmless(s string) string {
	return strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) && r != '\t' {
			return unicode.ReplacementChar
		}
		return r
	}, s)
}

// SafeJSON returns JSON with every character escaped that a terminal would interpret. encoding/json escapes only those below U+0020.
func SafeJSON(data []byte) []byte {
	hidden := func(r rune) bool { return r >= 0x7f && !unicode.IsPrint(r) }
	if !bytes.ContainsFunc(data, hidden) {
		return data
	}
	out := make([]byte, 0, len(data)+len(data)/8)
	for _, r := range string(data) {
		switch {
		case !hidden(r):
			out = utf8.AppendRune(out, r)
		case r > 0xffff:
			high, low := utf16.EncodeRune(r)
			out = fmt.Appendf(out, `\u%04x\u%04x`, high, low)
		default:
			out = fmt.Appendf(out, `\u%04x`, r)
		}
	}
	return out
}

// OrDash is a text, or a dash in the place of none.
func OrDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// Line prints a line of data. If it does not arrive, the command has failed.
func Line(w io.Writer, format string, args ...any) error {
	if _, err := fmt.Fprintf(w, format+"\n", args...); err != nil {
		return fmt.Errorf("writing: %w", err)
	}
	return nil
}

// Nearest returns the first of the names that differ the least from a typed one, by fewer characters than the limit and ignoring case; ""
// is none.
func Nearest(typed string, names []string, limit int) string {
	best, least := "", limit
	for _, n := range names {
		if d := distance(strings.ToLower(typed), strings.ToLower(n)); d < least {
			best, least = n, d
		}
	}
	return best
}

// Similar returns the names that begin with a typed one, or differ from it in two characters at most, ignoring case: sorted, each once.
func Similar(typed string, names []string) []string {
	var out []string
	typed = strings.ToLower(typed)
	for _, n := range names {
		if lower := strings.ToLower(n); strings.HasPrefix(lower, typed) || distance(typed, lower) <= 2 {
			out = append(out, n)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// DidYouMean ends a message with names that were probably meant. It is "" without names.
func DidYouMean(names ...string) string {
	if names = slices.DeleteFunc(slices.Clone(names), func(n string) bool { return n == "" }); len(names) == 0 {
		return ""
	}
	return "; did you mean " + Some(names) + "?"
}

// distance is how many characters must be inserted, removed or replaced to make one text of another.
func distance(a, b string) int {
	row := make([]int, len(b)+1)
	for j := range row {
		row[j] = j
	}
	for i := range len(a) {
		before := row[0]
		row[0] = i + 1
		for j := range len(b) {
			cost := before
			if a[i] != b[j] {
				cost++
			}
			before = row[j+1]
			row[j+1] = min(cost, row[j]+1, row[j+1]+1)
		}
	}
	return row[len(b)]
}
