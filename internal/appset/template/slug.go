package template

import "strings"

// latin has the replacements of Argo CD's library for the letters from U+00C0 to U+017F.
const latin = "A|A|A|A|A|A|AE|C|E|E|E|E|I|I|I|I|D|N|O|O|O|O|O|x|O|U|U|U|U|Y|Th|ss|a|a|a|a|a|a|ae|c|e|e|e|e|i|i|i|i|d|n|o|o|o|o|o|/|o|" +
	"u|u|u|u|y|th|y|" +
	"A|a|A|a|A|a|C|c|C|c|C|c|C|c|D|d|D|d|E|e|E|e|E|e|E|e|E|e|G|g|G|g|G|g|G|g|H|h|H|h|I|i|I|i|I|i|I|i|I|i|IJ|ij|J|j|K|k|k|L|l|L|l|" +
	"L|l|L|l|L|l|N|n|N|n|N|n|'n|ng|NG|" +
	"O|o|O|o|O|o|OE|oe|R|r|R|r|R|r|S|s|S|s|S|s|S|s|T|t|T|t|T|t|U|u|U|u|U|u|U|u|U|u|U|u|W|w|Y|y|Y|Z|z|Z|z|Z|z|s"

const firstLatin, slugLength = 0xC0, 50

// Slug is branch_slug of Argo CD's pull request generator: lower case letters, digits and dashes, at most 50 of them, cut at a dash. It
// reports false for a name with letters that Argo CD's library has a table for and we have not.
func Slug(name string) (string, bool) {
	letters := strings.Split(latin, "|")
	var b strings.Builder
	for _, c := range strings.TrimSpace(name) {
		switch {
		case c == '"' || c == '\'' || c == '’':
		case c == '&':
			b.WriteString("and")
		case c == '@':
			b.WriteString("at")
		case c == '‒' || c == '–' || c == '—' || c == '―':
			b.WriteByte('-')
		case c < 0x80:
			b.WriteRune(c)
		case c >= firstLatin && int(c-firstLatin) < len(letters):
			b.WriteString(letters[c-firstLatin])
		default:
			return "", false
		}
	}
	// Of the characters that are left, only those of a name stay; an underscore is a dash, too.
	s := invalidSlugChars.ReplaceAllString(strings.ToLower(b.String()), "-")
	s = strings.Trim(s, "-")
	if len(s) <= slugLength {
		return s, true
	}
	if i := strings.LastIndexByte(s[:slugLength+1], '-'); i >= 0 {
		return s[:i], true
	}
	return s[:slugLength], true
}
