package conformance

import (
	"context"
	"net/http/httptest"
	"sync/atomic"
	"testing"
	"time"

	"github.com/argoproj/argo-cd/v3/util/git"

	"github.com/argosy-cd/argosy/internal/gitserver"
	"github.com/argosy-cd/argosy/internal/trigger"
)

// TestArgoCDReadsClocks asks a trigger repository with Argo CD's own Git client: go-git for references, git for fetches.
func TestArgoCDReadsClocks(t *testing.T) {
	var now atomic.Int64
	now.Store(1_800_000_000)
	clocks := &trigger.Clocks{Interval: time.Minute, Now: func() time.Time { return time.Unix(now.Load(), 0) }}
	server := httptest.NewServer(&gitserver.Server{Open: func(_ context.Context, path string) (gitserver.Repository, error) {
		return clocks.Open(path)
	}})
	defer server.Close()
	client, err := git.NewClientExt(server.URL+"/appset.git", t.TempDir(), git.NopCreds{}, false, false, "", "")
	if err != nil {
		t.Fatal(err)
	}
	if err := client.Init(); err != nil {
		t.Fatal(err)
	}
	seen := map[string]bool{}
	for range 3 {
		for _, revision := range []string{"HEAD", "main", ""} {
			commit, err := client.LsRemote(revision)
			if err != nil {
				t.Fatal(err)
			}
			seen[commit] = true
			if err := client.Fetch(commit); err != nil {
				t.Fatal(err)
			}
			if _, err := client.Checkout(commit, false); err != nil {
				t.Fatal(err)
			}
			if at, err := client.CommitSHA(); err != nil || at != commit {
				t.Errorf("%s, %v; want %s", at, err, commit)
			}
		}
		// Before the next fetch the clock may tick: Argo CD then asks by hash for what was the latest.
		commit, err := client.LsRemote("main")
		if err != nil {
			t.Fatal(err)
		}
		now.Add(60)
		if err := client.Fetch(commit); err != nil {
			t.Error(err)
		}
	}
	if len(seen) != 3 {
		t.Errorf("%d commits in three ticks", len(seen))
	}
}
