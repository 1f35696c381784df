package main

import (
	"bytes"
	"context"
	"encoding/xml"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/environ"
)

const (
	clusterURL  = "https://git.example.com/home/cluster.git"
	clusterRoot = "../../examples/cluster/infrastructure/controllers/argocd/root.yaml"
)

// TestPlanSVG draws the example.
func TestPlanSVG(t *testing.T) {
	var out, talk bytes.Buffer
	if code := execute(context.Background(), stdio{Out: &out, Err: &talk, Env: environ.New(os.Environ()...)},
		[]string{"plan", "--offline", "-o", "svg", "--repo", clusterURL + "=../../examples/cluster", clusterRoot}); code != 0 {
		t.Fatal(talk.String())
	}
	d := xml.NewDecoder(&out)
	texts := 0
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		if start, ok := token.(xml.StartElement); ok && start.Name.Local == "text" {
			texts++
		}
	}
	if texts != 1+6+28+3+7 { // the root, waves, Applications, sets, the legend
		t.Errorf("%d texts", texts)
	}
}

// TestPlanExample plans the example cluster: the table is that of the architecture it was made from, with the waves that do not
// wait; with the plugin appset on the root, all of them do.
func TestPlanExample(t *testing.T) {
	root, err := os.ReadFile(clusterRoot)
	if err != nil {
		t.Fatal(err)
	}
	plugin := filepath.Join(t.TempDir(), "root.yaml")
	text := strings.Replace(string(root), "    path: infrastructure/controllers/argocd/apps\n",
		"    path: infrastructure/controllers/argocd/apps\n    plugin: {name: appset}\n", 1)
	if err := os.WriteFile(plugin, []byte(text), 0o600); err != nil || text == string(root) {
		t.Fatal(err)
	}
	for name, file := range map[string]string{"stock": clusterRoot, "plugin": plugin} {
		var out, talk bytes.Buffer
		if code := execute(context.Background(), stdio{Out: &out, Err: &talk, Env: environ.New(os.Environ()...)},
			[]string{"plan", "--offline", "--repo", clusterURL + "=../../examples/cluster", file}); code != 0 {
			t.Fatal(talk.String())
		}
		got := strings.ReplaceAll(out.String(), filepath.Dir(plugin)+"/", "")
		golden := filepath.Join("testdata/plan", name+".txt")
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		want, err := os.ReadFile(golden)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(string(want), got); diff != "" {
			t.Errorf("%s (-want +got):\n%s", name, diff)
		}
		if waits := !strings.Contains(out.String(), "DOES NOT WAIT"); waits != (name == "plugin") {
			t.Errorf("%s: waits: %v", name, waits)
		}
	}
}
