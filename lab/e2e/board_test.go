package e2e

import (
	"bufio"
	"encoding/json"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"strings"
	"time"
)

// boardScene is what the page of the board is told, as far as it is compared.
type boardScene struct {
	Mode, Stale string
	Unknown     []string
	Apps        []boardApp
}

type boardApp struct {
	Name    string
	Set     bool
	History []struct {
		At     int64
		Is     string
		Health string
	}
}

// board serves argosy board until the test ends, and returns its URL.
func (k *kit) board(args ...string) string {
	k.Helper()
	cmd := exec.CommandContext(k.ctx, argosy, append([]string{"board", "--listen", "127.0.0.1:0"}, args...)...)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	k.must(err)
	k.must(cmd.Start())
	k.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	})
	lines := bufio.NewScanner(out)
	if !lines.Scan() {
		k.Fatal("the board prints no address")
	}
	return strings.TrimSpace(lines.Text())
}

// scene asks a board for what it shows.
func (k *kit) scene(board string) boardScene {
	k.Helper()
	request, err := http.NewRequestWithContext(k.ctx, http.MethodGet, strings.TrimSuffix(board, "/")+"/api/scene", nil)
	k.must(err)
	answer, err := http.DefaultClient.Do(request)
	k.must(err)
	defer answer.Body.Close()
	var shown struct{ Scene boardScene }
	k.must(json.NewDecoder(answer.Body).Decode(&shown))
	return shown.Scene
}

// boardAgrees compares a board that has watched a boot with the journal of the API server: it has the same Applications, all healthy, and where
// by the journal one of an earlier wave was healthy before another was made, so it was on the board. Argo CD's times are whole seconds.
func (x *exampleLab) boardAgrees(board string, s simulated) {
	x.Helper()
	shown := x.scene(board)
	// The board watches by itself, and may hear of the end a moment later.
	unhealthy := func(a boardApp) bool {
		return !a.Set && (len(a.History) == 0 || a.History[len(a.History)-1].Is != "healthy")
	}
	for range 60 {
		if !slices.ContainsFunc(shown.Apps, unhealthy) {
			break
		}
		x.must(sleep(x.ctx, time.Second))
		shown = x.scene(board)
	}
	if shown.Mode != "live" || shown.Stale != "" || len(shown.Unknown) > 0 {
		x.Errorf("the board is %q, %q, and does not know %q", shown.Mode, shown.Stale, shown.Unknown)
	}
	made, healthy := map[string]int64{}, map[string]int64{}
	for _, a := range shown.Apps {
		if a.Set {
			continue
		}
		if n := len(a.History); n == 0 || a.History[n-1].Is != "healthy" {
			x.Errorf("on the board %s is %+v", a.Name, a.History)
		}
		made[a.Name], healthy[a.Name] = -1, -1
		for _, h := range a.History {
			if h.Is != "waiting" && made[a.Name] < 0 {
				made[a.Name] = h.At
			}
			if h.Is == "healthy" && healthy[a.Name] < 0 {
				healthy[a.Name] = h.At
			}
		}
	}
	compared := 0
	for _, b := range s.Applications {
		if _, ok := made[b.Name]; !ok {
			x.Errorf("%s is not on the board", b.Name)
			continue
		}
		created, ok := x.journal.First("Application", b.Name, "created", 0)
		for _, a := range s.Applications {
			if !ok || a.Parent != b.Parent || a.Wave >= b.Wave || !x.goodAt(a.Name, created.Revision) {
				continue
			}
			compared++
			if healthy[a.Name] > made[b.Name]+1000 {
				x.Errorf("on the board %s was healthy at %d ms, after %s was made at %d; by the journal before", a.Name, healthy[a.Name], b.Name,
					made[b.Name])
			}
		}
	}
	if len(made) != len(s.Applications) || compared < 50 {
		x.Errorf("the board has %d Applications, and %d pairs were compared", len(made), compared)
	}
}

// goodAt reports whether an Application was what the board calls healthy when something else happened: also synced, and without a sync.
// For a wave, health is enough, and Argo CD takes some that is not synced for healthy for a moment.
func (x *exampleLab) goodAt(name string, revision int64) bool {
	now := map[string]string{}
	for _, e := range x.journal.Entries("Application", name) {
		if e.Revision < revision {
			what, value, _ := strings.Cut(e.What, " ")
			now[what] = value
		}
	}
	return now["health"] == "Healthy" && now["sync"] == "Synced" && now["operation"] != "Running"
}
