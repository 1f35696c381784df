package argosy_test

import (
	"io/fs"
	"maps"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// markdown reads the Markdown files of the repository, by name. Code is blanked out: nothing in it is a link or a title.
func markdown(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{}
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if base := d.Name(); d.IsDir() && name != "." && (base == "testdata" || base == "dist" || base == "bin" || base == ".git") {
			return filepath.SkipDir
		}
		if d.IsDir() || filepath.Ext(name) != ".md" {
			return nil
		}
		data, err := os.ReadFile(name)
		pages[filepath.ToSlash(name)] = withoutBlocks(string(data))
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return pages
}

// withoutBlocks empties the lines of fenced blocks.
func withoutBlocks(text string) string {
	lines := strings.Split(text, "\n")
	inside := false
	for i, line := range lines {
		fence := strings.HasPrefix(strings.TrimSpace(line), "```")
		if fence || inside {
			lines[i] = ""
		}
		inside = inside != fence
	}
	return strings.Join(lines, "\n")
}

var (
	inlineCode = regexp.MustCompile("`[^`\n]*`")
	// A link, a picture, the definition of a link, and HTML.
	linkForms = []*regexp.Regexp{
		regexp.MustCompile(`\]\(\s*<?([^)\s>]*)>?(?:\s+"[^"]*")?\s*\)`),
		regexp.MustCompile(`(?m)^\s*\[[^\]]+\]:\s*(\S+)`),
		regexp.MustCompile(`(?:href|src|srcset)="([^"]*)"`),
	}
	elsewhere = regexp.MustCompile(`^(https?|mailto):`)
)

// linksOf are the targets that a page links to in this repository.
func linksOf(text string) []string {
	text = inlineCode.ReplaceAllString(text, "code")
	var out []string
	for _, form := range linkForms {
		for _, m := range form.FindAllStringSubmatch(text, -1) {
			if !elsewhere.MatchString(m[1]) {
				out = append(out, m[1])
			}
		}
	}
	return out
}

// anchorsOf are the titles of a page as GitHub and the site name them.
func anchorsOf(text string) map[string]bool {
	out := map[string]bool{}
	seen := map[string]int{}
	for _, m := range regexp.MustCompile(`(?m)^#{1,6} +(.*?) *$`).FindAllStringSubmatch(text, -1) {
		title := regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`).ReplaceAllString(m[1], "$1")
		title = regexp.MustCompile(`[^\p{L}\p{N} _-]`).ReplaceAllString(strings.ToLower(title), "")
		anchor := strings.ReplaceAll(title, " ", "-")
		if n := seen[anchor]; n > 0 {
			out[anchor+"-"+strconv.Itoa(n)] = true
		}
		seen[anchor]++
		out[anchor] = true
	}
	return out
}

// deadLink says what is wrong with a link of a page; "" if nothing is.
func deadLink(pages map[string]string, page, link string) string {
	link, err := url.PathUnescape(link)
	if err != nil {
		return err.Error()
	}
	name, anchor, _ := strings.Cut(link, "#")
	target := page
	if name != "" {
		target = path.Join(path.Dir(page), name)
	}
	switch _, err := os.Stat(target); {
	case path.IsAbs(name), target == "..", strings.HasPrefix(target, "../"):
		return "it leads out of the repository"
	case err != nil:
		return "there is no such file"
	case anchor == "":
		return ""
	case path.Ext(target) != ".md":
		return "only pages have titles"
	case !anchorsOf(pages[target])[anchor]:
		return "the page has no such title"
	}
	return ""
}

// TestLinks: every link of every page in this repository leads to a file and to a title in it.
func TestLinks(t *testing.T) {
	pages := markdown(t)
	links := 0
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		for _, link := range linksOf(pages[page]) {
			links++
			if wrong := deadLink(pages, page, link); wrong != "" {
				t.Errorf("%s: link to %s: %s", page, link, wrong)
			}
		}
	}
	if links < 400 {
		t.Errorf("only %d links were found", links)
	}
}

// TestLinksFindsDeadOnes holds the check above to what it must find.
func TestLinksFindsDeadOnes(t *testing.T) {
	pages := map[string]string{"docs/README.md": "# One `two`: three\n\n## Same\n\n## Same\n"}
	for link, dead := range map[string]bool{
		"plan.md": false, "": false, "#same": false, "#same-1": false, "#one-two-three": false, "../README.md": false, "../deploy/chart": false,
		"#same-2": true, "nowhere.md": true, "../../README.md": true, "/docs/plan.md": true, "board.png#x": true, "Plan.md": true, "%zz": true,
	} {
		if wrong := deadLink(pages, "docs/README.md", link); (wrong != "") != dead {
			t.Errorf("%s: %q", link, wrong)
		}
	}
	text := withoutBlocks("[a](one.md) ![b](<two.png> \"t\") `[c](no.md)`\n[d]: three.md\n<img src=\"four.svg\">\n```\n[e](no.md)\n```\n[f](https://example.com)")
	if got, want := strings.Join(linksOf(text), " "), "one.md two.png three.md four.svg"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestNoHTML: pages have no HTML outside of code. GitHub and the site leave out what is no tag that they know.
func TestNoHTML(t *testing.T) {
	tag := regexp.MustCompile(`(^|[^\\])<[a-zA-Z/!][^>]*>`)
	for page, text := range markdown(t) {
		for _, m := range tag.FindAllString(inlineCode.ReplaceAllString(text, "code"), -1) {
			t.Errorf("%s: %s is HTML; write code, or \\<", page, m)
		}
	}
}

// TestTables: every row of a table has as many cells as its head. Others are cut, also in code: write \\|.
func TestTables(t *testing.T) {
	bar := regexp.MustCompile(`(^|[^\\])\|`)
	tables := 0
	for page, text := range markdown(t) {
		cells := 0 // of the table that a line is in
		for i, line := range strings.Split(text, "\n") {
			n := len(bar.FindAllString(line, -1))
			switch {
			case !strings.HasPrefix(strings.TrimSpace(line), "|"):
				cells = 0
			case cells == 0:
				cells = n
				tables++
			case n != cells:
				t.Errorf("%s:%d: %d cells, want %d", page, i+1, n-1, cells-1)
			}
		}
	}
	if tables < 100 {
		t.Errorf("only %d tables were found", tables)
	}
}

// TestIndex: docs/README.md, from which the site takes its navigation, has every page of docs once under a chapter. Pages of the reference
// and of rules are below one that it has.
func TestIndex(t *testing.T) {
	pages := markdown(t)
	named := map[string]int{}
	_, chapters, ok := strings.Cut(pages["docs/README.md"], "\n## ")
	if !ok {
		t.Fatal("docs/README.md has no chapters")
	}
	for _, m := range regexp.MustCompile(`\]\(([^)#]+\.md)\)`).FindAllStringSubmatch(chapters, -1) {
		named[path.Join("docs", m[1])]++
	}
	for _, page := range slices.Sorted(maps.Keys(pages)) {
		if path.Dir(page) == "docs" && page != "docs/README.md" && named[page] != 1 {
			t.Errorf("docs/README.md has %s %d times, without a title, in its chapters; want once", page, named[page])
		}
	}
}
