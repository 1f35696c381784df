package sidecar

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/argocd"
)

// TestInstalledVersion follows a server that is away at first, is upgraded, and goes away again. No request fails, and the server is asked
// no more often than it must be.
func TestInstalledVersion(t *testing.T) {
	says, asked := "", 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked++
		if says == "" || r.URL.Path != "/api/version" {
			http.Error(w, "no", http.StatusServiceUnavailable)
			return
		}
		fmt.Fprintf(w, `{"Version": %q}`, says)
	}))
	defer server.Close()
	client, err := argocd.New(argocd.Config{Server: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	var told []string
	i := &installedVersion{server: client, given: 3, now: func() time.Time {
		return now
	}, tell: func(v versions.Version, from string, err error) {
		told = append(told, fmt.Sprintf("%s %s %v", v, from, err))
	}}
	for _, step := range []struct {
		after time.Duration
		says  string
		want  versions.Version
		asked int
	}{
		{0, "", 3, 1},                             // away: the flag
		{29 * time.Second, "v3.4.1+abc", 3, 1},    // not yet asked again
		{time.Second, "v3.4.1+abc", 4, 2},         // it is back
		{9 * time.Minute, "v3.5.0", 4, 2},         // upgraded, not yet asked
		{time.Minute, "v3.5.0", 5, 3},             // asked
		{10 * time.Minute, "", 5, 4},              // away: the last answer
		{30 * time.Second, "v3.1.0", 2, 5},        // older than all that are known
		{10 * time.Minute, "not a version", 2, 6}, // nonsense: the last answer
		{30 * time.Second, "v4.0.0", 5, 7},        // newer than all that are known
	} {
		now, says = now.Add(step.after), step.says
		if got := i.current(t.Context()); got != step.want || asked != step.asked {
			t.Errorf("%+v: %s, asked %d times", step, got, asked)
		}
		if got := i.current(t.Context()); got != step.want || asked != step.asked {
			t.Errorf("%+v: %s, asked %d times at once", step, got, asked)
		}
	}
	want := []string{
		"3.3 flag asking the Argo CD API server for its version: 503 Service Unavailable", "3.4 server <nil>", "3.5 server <nil>",
		"3.5 server asking the Argo CD API server for its version: 503 Service Unavailable",
		"3.2 server the Argo CD API server is version v3.1.0, and Argosy knows 3.2 to 3.5; it renders as the nearest",
		`3.2 server the Argo CD API server says that it is "not a version", which is no version`,
		"3.5 server the Argo CD API server is version v4.0.0, and Argosy knows 3.2 to 3.5; it renders as the nearest",
	}
	if !slices.Equal(told, want) {
		t.Errorf("told: %q", told)
	}
}

// TestInstalledVersionSlow: while one request waits for the server, others get the last answer.
func TestInstalledVersionSlow(t *testing.T) {
	says := make(chan string)
	asked := make(chan struct{}, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		select {
		case text := <-says:
			fmt.Fprintf(w, `{"Version": %q}`, text)
		case <-r.Context().Done():
		}
	}))
	defer server.Close()
	client, err := argocd.New(argocd.Config{Server: server.URL})
	if err != nil {
		t.Fatal(err)
	}
	now := time.Unix(0, 0)
	i := &installedVersion{server: client, now: func() time.Time { return now }}
	ask := func() chan versions.Version {
		got := make(chan versions.Version, 1)
		go func() { got <- i.current(t.Context()) }()
		<-asked
		return got
	}
	first := ask()
	says <- "v3.4.1"
	if v := <-first; v != 4 {
		t.Errorf("first %s", v)
	}
	now = now.Add(versionRefresh)
	slow := ask()
	if v := i.current(t.Context()); v != 4 {
		t.Errorf("meanwhile %s", v)
	}
	select {
	case says <- "v3.5.0":
	case <-slow:
		t.Fatal("others have waited until the server was given up")
	}
	if v := <-slow; v != 5 {
		t.Errorf("at last %s", v)
	}
}

func TestInstalledVersionWithoutServer(t *testing.T) {
	for given, want := range map[versions.Version]string{0: "3.5 newest", 2: "3.2 flag"} {
		told := ""
		i := &installedVersion{given: given, tell: func(v versions.Version, from string, _ error) { told += v.String() + " " + from }}
		for range 2 {
			if got := i.current(t.Context()); got.String()+" "+i.from() != want {
				t.Errorf("%s", got)
			}
		}
		if told != want {
			t.Errorf("told %q", told)
		}
	}
}
