package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestDocsTroubleshooting holds the messages of docs/troubleshooting.md to the code: each part between two … is in a text of the program.
func TestDocsTroubleshooting(t *testing.T) {
	page, err := os.ReadFile("../../docs/troubleshooting.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := programTexts(t)
	section, messages := "", 0
	for line := range strings.Lines(string(page)) {
		if title, ok := strings.CutPrefix(line, "## "); ok {
			section = title
		}
		cells := strings.SplitN(line, "|", 3)
		// Symptoms without a message, and messages of Argo CD itself, are not ours.
		if len(cells) < 3 || strings.HasPrefix(section, "No message") || strings.Contains(section, "its own messages") {
			continue
		}
		for _, span := range codeSpan.FindAllStringSubmatch(cells[1], -1) {
			messages++
			for part := range strings.SplitSeq(strings.ReplaceAll(span[1], `"…"`, "…"), "…") {
				if part = strings.Trim(part, " :"); part != "" && !strings.Contains(texts, part) {
					t.Errorf("the program has no text %q, of the message %q", part, span[1])
				}
			}
		}
	}
	if messages < 40 {
		t.Errorf("only %d messages were found in the page", messages)
	}
}

var (
	codeSpan   = regexp.MustCompile("`([^`]+)`")
	formatVerb = regexp.MustCompile(`%(\[\d+\])?[-+#.0-9]*[a-zA-Z]`)
)

// programTexts are all string literals of the program, with … for verbs of formats, a line each.
func programTexts(t *testing.T) string {
	t.Helper()
	var out strings.Builder
	for _, dir := range []string{"../../cmd", "../../internal"} {
		err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
			if err != nil || filepath.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") {
				return err
			}
			file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				e, ok := n.(ast.Expr)
				text := literal(e)
				if text != "" {
					out.WriteString(formatVerb.ReplaceAllString(text, "…") + "\n")
				}
				return !ok || text == ""
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return out.String()
}

// literal is the text of a string that is in the code, also if it is broken over several lines; "" if there is none.
func literal(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.BasicLit:
		if text, err := strconv.Unquote(e.Value); err == nil && e.Kind == token.STRING {
			return text
		}
	case *ast.BinaryExpr:
		if left, right := literal(e.X), literal(e.Y); e.Op == token.ADD && left != "" && right != "" {
			return left + right
		}
	}
	return ""
}
