package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// checkFlags checks that the commands and the flags of a command line exist. Values may be placeholders.
func checkFlags(line string) error {
	for part := range strings.SplitSeq(line, "|") {
		_, args, ok := strings.Cut(" "+part+" ", " argosy ")
		if !ok {
			continue
		}
		words := strings.Fields(args)
		cmd, rest, err := newRootCommand(stdio{}).Find(slices.DeleteFunc(slices.Clone(words), func(w string) bool { return strings.HasPrefix(w, "-") }))
		if err != nil {
			return err
		}
		if cmd.HasAvailableSubCommands() && len(rest) > 0 && regexp.MustCompile(`^[a-z]+$`).MatchString(rest[0]) {
			return fmt.Errorf("%s has no command %q", cmd.CommandPath(), rest[0])
		}
		for _, word := range words {
			if err := checkFlag(cmd, word); err != nil {
				return err
			}
		}
	}
	return nil
}

func checkFlag(cmd *cobra.Command, word string) error {
	var flag *pflag.Flag
	cmd.InitDefaultHelpFlag()
	cmd.InitDefaultVersionFlag()
	name, _, _ := strings.Cut(strings.TrimLeft(word, "-"), "=")
	switch {
	case strings.HasPrefix(word, "--"):
		flag = cmd.Flag(name)
	case strings.HasPrefix(word, "-") && len(word) > 1:
		flag = cmd.Flags().ShorthandLookup(name[:1])
	default:
		return nil
	}
	if flag == nil {
		return fmt.Errorf("%s has no flag %s", cmd.CommandPath(), word)
	}
	return nil
}

// TestDocsChecks holds the checks of pages to what they must find.
func TestDocsChecks(t *testing.T) {
	for line, wrong := range map[string]bool{
		"argosy plan --diff main... root.yaml": false, "X=1 argosy repo --listen :8080": false, "argosy lint -o sarif": false,
		"kubectl get x | argosy health check -f - --lua x.lua": false, "argosy plan --help": false, "argosy": false,
		"argosy plan --nope": true, "argosy nope": true, "argosy appset nope": true, "argosy lint -z": true, "argosy install | argosy plan --nope": true,
	} {
		if err := checkFlags(line); (err != nil) != wrong {
			t.Errorf("%s: %v", line, err)
		}
	}
	for _, c := range []struct {
		out, lines string
		want       bool
	}{
		{"a  b\nc\nd\n", "a b\nd", true},
		{"a b\nc\nd\n", "a …\n…\nd", true},
		{"a b\nc\n", "c\na b", false},
		{"a b\n", "a", false},
		{"a.b\n", "a…c", false},
	} {
		if missing, ok := printed(c.out, strings.Split(c.lines, "\n")); ok != c.want {
			t.Errorf("%q in %q: %v, %q", c.lines, c.out, ok, missing)
		}
	}
	blocks := blocksOf("x.md", "```sh\nls\nargosy a   # x\n```\n\n```\nout\n```\n\n```\nout of nothing\n```\ntext\n```console\n$ A=1 argosy b\ntwo\n$ x | argosy c\n```\n"+
		"```yaml\nargosy d\n```\n")
	var got []string
	for _, b := range blocks {
		for _, c := range b.commands {
			got = append(got, c.line+" > "+strings.Join(c.output, ","))
		}
	}
	if want := "argosy a > out,out of nothing; A=1 argosy b > two; x | argosy c > "; strings.Join(got, "; ") != want {
		t.Errorf("got  %s\nwant %s", strings.Join(got, "; "), want)
	}
}

// docsOtherFlags are flags of other programs that pages name.
var docsOtherFlags = []string{
	"--cascade", "--enable-progressive-syncs", "--filter", "--max-resources-status-count", "--platform", "--server-side",
}

// TestDocsNames checks that the commands, flags, metrics and variables that pages name exist.
func TestDocsNames(t *testing.T) {
	known := map[string]bool{}
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		cmd.Flags().VisitAll(func(f *pflag.Flag) { known["--"+f.Name] = true })
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(newRootCommand(stdio{}))
	for _, flag := range docsOtherFlags {
		known[flag] = true
	}
	texts := programTexts(t)
	alerts, err := os.ReadFile("../../deploy/chart/argosy/alerts.yaml")
	if err != nil {
		t.Fatal(err)
	}
	code := regexp.MustCompile("(?s)```.*?```|`[^`\n]+`")
	flags := regexp.MustCompile("`(--[a-z0-9-]+)")
	name := regexp.MustCompile(`\b(ARGOSY_[A-Z0-9_]+|argosy_[a-z0-9_]+)(\.md)?`) // a page of the reference is no metric
	alert := regexp.MustCompile("`(Argosy[A-Z][A-Za-z]+)`")
	found := 0
	for page, text := range docsPages(t) {
		if page == "docs/lab.md" { // it has variables of its own
			continue
		}
		for _, m := range flags.FindAllStringSubmatch(text, -1) {
			if found++; !known[m[1]] {
				t.Errorf("%s: no command has the flag %s", page, m[1])
			}
		}
		for _, m := range name.FindAllStringSubmatch(text, -1) {
			if found++; m[2] == "" && !strings.Contains(texts, m[1]) {
				t.Errorf("%s: the program has no %s", page, m[1])
			}
		}
		for _, m := range alert.FindAllStringSubmatch(text, -1) {
			if found++; !strings.Contains(string(alerts), "alert: "+m[1]+"\n") {
				t.Errorf("%s: the chart has no alert %s", page, m[1])
			}
		}
		for _, span := range code.FindAllString(text, -1) {
			for line := range strings.Lines(strings.Trim(span, "`")) {
				line, _, _ = strings.Cut(line, " # ")
				if !runsArgosy.MatchString(strings.TrimSpace(line)) {
					continue
				}
				if found++; checkFlags(line) != nil {
					t.Errorf("%s: `%s`: %v", page, strings.TrimSpace(line), checkFlags(line))
				}
			}
		}
	}
	// The page for administrators has all metrics and alerts.
	operations := docsPages(t)["docs/operations.md"]
	for _, metric := range regexp.MustCompile(`(?m)^argosy_(cmp|workers|s3|refresh|repo|events|board)_[a-z0-9_]+$`).FindAllString(texts, -1) {
		if !strings.Contains(operations, "`"+metric+"`") {
			t.Errorf("docs/operations.md does not have the metric %s", metric)
		}
	}
	for _, m := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(alerts), -1) {
		if !strings.Contains(operations, "`"+m[1]+"`") {
			t.Errorf("docs/operations.md does not have the alert %s", m[1])
		}
	}
	if found < 300 {
		t.Errorf("only %d names were found", found)
	}
}
