// Package e2e holds the end-to-end tests: real Kubernetes, real Argo CD, real Git and S3.
package e2e

import (
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"syscall"
	"testing"

	"golang.org/x/sync/errgroup"

	"github.com/argosy-cd/argosy/lab"
)

// free are the labs that tests share, and that no test uses now. Each test has applications, repositories and namespaces of its own, but
// some change the settings of Argo CD.
var free = make(chan *lab.Lab, sharedLabs)

// sharedLabs is how many there are: tests wait more than they compute, and a third would not make a run of two cores shorter.
const sharedLabs = 2

// long is for repetitions and numbers that prove more and take minutes: make e2e-long.
var long = os.Getenv("LONG") != ""

// tool is the lab command, for plugins of tests; argosy is our own command.
var tool, argosy string

func TestMain(m *testing.M) {
	flag.Parse()
	os.Exit(run(m))
}

func run(m *testing.M) int {
	ctx := context.Background()
	// An interrupted run leaves nothing behind either.
	interrupted := make(chan os.Signal, 1)
	signal.Notify(interrupted, os.Interrupt, syscall.SIGTERM)
	go func() {
		<-interrupted
		lab.StopAll()
		os.Exit(1)
	}()
	defer lab.StopAll()
	dir, err := os.MkdirTemp("", "argosy-lab-bin-")
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	defer os.RemoveAll(dir)
	var group errgroup.Group
	labs := make([]*lab.Lab, sharedLabs)
	for i := range labs {
		group.Go(func() (err error) {
			cfg := lab.Config{Progress: os.Stderr, ProgressiveSyncs: true, Settings: map[string]string{healthKey: seedLua}}
			labs[i], err = lab.Start(ctx, cfg)
			return err
		})
	}
	tool, argosy = filepath.Join(dir, "lab-tool"), filepath.Join(dir, "argosy")
	group.Go(func() error { return build("..", tool, "./cmd/lab") })
	// Without the directory in it, the binary is made of what other checkouts have compiled.
	group.Go(func() error { return build("../..", argosy, "-trimpath", "./cmd/argosy") })
	if err := group.Wait(); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	for _, l := range labs {
		free <- l
	}
	// Tests wait for their lab, and not for each other.
	if err := flag.Set("test.parallel", "100"); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	code := m.Run()
	if code != 0 {
		for _, l := range labs {
			fmt.Fprintln(os.Stderr, "logs of a lab:", l.KeepLogs())
		}
	}
	return code
}

// build builds a program of a directory.
func build(dir, out string, args ...string) error {
	cmd := exec.Command("go", append([]string{"build", "-o", out}, args...)...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "CGO_ENABLED=0")
	if text, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s: %w\n%s", filepath.Base(out), err, text)
	}
	return nil
}
