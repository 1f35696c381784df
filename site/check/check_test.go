package main

import (
	"strings"
	"testing"
	"testing/fstest"
)

func TestCheck(t *testing.T) {
	file := func(text string) *fstest.MapFile { return &fstest.MapFile{Data: []byte(text)} }
	site := fstest.MapFS{
		"index.html": file(`<a href="docs/a.html#one">x</a><a href="#top">x</a><a href="https://example.com">x</a><h1 id="top">x</h1><img src="docs/p.png">`),
		"docs/a.html": file(`<h2 id="one">x</h2><a href="../index.html">x</a><a href="b.html">x</a><a href="#two">x</a><a href="/index.html">x</a>` +
			`<a href="../../x.html">x</a><a href="p.png#x">x</a><script src="https://example.com/x.js"></script><link href="none.css"><a href="../docs">x</a>`),
		"docs/p.png": file(""),
	}
	problems, links, err := check(site)
	want := []string{
		"docs/a.html: https://example.com/x.js is loaded from elsewhere",
		"docs/a.html: link to #two: there is no such title",
		"docs/a.html: link to ../../x.html: there is no such file",
		"docs/a.html: link to ../docs: there is no such file",
		"docs/a.html: link to /index.html: it is not relative, so the site works at one address only",
		"docs/a.html: link to b.html: there is no such file",
		"docs/a.html: link to p.png#x: there is no such title",
		"docs/a.html: loads none.css: there is no such file",
	}
	if got := strings.Join(problems, "\n"); got != strings.Join(want, "\n") || links != 13 || err != nil {
		t.Errorf("%d links, %v:\n%s", links, err, got)
	}
}
