package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// complete returns results that have every metric, each with the same value.
func complete() results {
	r := results{values: map[metric]float64{}, about: map[string]string{"rclone": "v1"}, order: []string{"rclone"}}
	for _, g := range groups {
		for _, x := range g.rows {
			for _, m := range x.ours {
				r.values[m] = 1e5
			}
			for _, m := range x.peer {
				if _, ok := r.values[m]; !ok {
					r.values[m] = 1e8
				}
			}
		}
	}
	return r
}

// TestPage: every row has its values, a ratio and a verdict.
func TestPage(t *testing.T) {
	r := complete()
	for _, name := range []string{"search", "filter", "scrub", "select", "scroll", "arrows"} {
		r.values[metric{"Interaction/" + name, "ms/event"}] = 30
	}
	text, missing := r.page("a machine")
	if len(missing) > 0 {
		t.Fatal(missing)
	}
	for _, want := range []string{
		"on one machine: a machine.", "- rclone: v1\n",
		"| 1,000 Applications, time | 100 µs | Argo CD's own code | 100 ms | 1,000× | 200×: met |",
		"| search | 30.0 ms |  |  |  | at most 100 ms: met |", "| `git ls-remote` | 100 µs |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// TestWords: the page does not claim one run, and says which figures a run does not measure.
func TestWords(t *testing.T) {
	if text, _ := complete().page("a machine"); strings.Contains(text, "in one run") || !strings.Contains(text, "may be of several runs") {
		t.Error(text)
	}
	figure := regexp.MustCompile(`[0-9] m?s\b`)
	found := 0
	for _, g := range groups {
		for _, x := range g.rows {
			if at := figure.FindStringIndex(x.why); at != nil {
				found++
				if !strings.Contains(x.why[:at[0]], earlier) {
					t.Errorf("%s, %s: %s", g.name, x.name, x.why)
				}
			}
		}
	}
	if found == 0 {
		t.Error("no reason has a figure")
	}
}

// TestMissed: an aim that is missed has its reason, or there is no page. The same holds for a measure that is not there.
func TestMissed(t *testing.T) {
	r := complete()
	r.values[metric{"Copy/n=1000/unchanged/by=argosy", "ns/op"}] = 1e9
	for _, name := range []string{"search", "filter", "scrub", "select", "scroll", "arrows"} {
		r.values[metric{"Interaction/" + name, "ms/event"}] = 30
	}
	text, missing := r.page("")
	if len(missing) > 0 || !strings.Contains(text, "| 0.20× | **at most 1.3 of it: missed** [1] |") || !strings.Contains(text, "\n[1] A pull reads") {
		t.Errorf("%v\n%s", missing, text)
	}
	r.values[metric{"Refs", "ns/op"}] = 1e9
	delete(r.values, metric{"Step", "ns/op"})
	if _, missing = r.page(""); len(missing) != 2 || !strings.Contains(missing[0], "no reason") || !strings.Contains(missing[1], "not measured") {
		t.Errorf("%q", missing)
	}
}

// TestRead: the format of Go's benchmarks, with and without the number of cores, and versions.
func TestRead(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.txt")
	text := "goos: linux\nrclone: v1.2\nBenchmarkRefs-2 \t 1000\t 12.5 ns/op\t 3 B/op\nBenchmarkLook/by=argosy-why 1 7 requests\nPASS\nok x 1s\n"
	r := results{values: map[metric]float64{}, about: map[string]string{}}
	if err := r.read(strings.NewReader(text)); err != nil {
		t.Fatal(err)
	}
	if r.values[metric{"Refs", "ns/op"}] != 12.5 || r.values[metric{"Refs", "B/op"}] != 3 || r.values[metric{"Look/by=argosy-why", "requests"}] != 7 {
		t.Errorf("%v", r.values)
	}
	if len(r.order) != 1 || r.about["rclone"] != "v1.2" {
		t.Errorf("%v", r.about)
	}
	for _, bad := range []string{"BenchmarkX 1 a ns/op\n", "--- FAIL: BenchmarkX\n"} {
		if err := r.read(strings.NewReader(bad)); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
	// Without results there is no page, and the file that is there stays.
	page := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := run(&bytes.Buffer{}, page, []string{file}); err == nil {
		t.Error("a page of nothing")
	}
	if _, err := os.Stat(page); err == nil {
		t.Error("the page was written")
	}
}
