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

	"github.com/argosy-cd/argosy/lab"
)

// shared is the lab of all tests. Each test has applications, repositories and namespaces of its own.
var shared *lab.Lab

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
	var err error
	shared, err = lab.Start(ctx, lab.Config{Progress: os.Stderr, ProgressiveSyncs: true, Settings: map[string]string{healthKey: copyingLua}})
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	defer shared.Stop()
	tool = filepath.Join(shared.Dir, "lab-tool")
	if out, err := exec.Command("go", "build", "-o", tool, "../cmd/lab").CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "error: building the lab command: %v\n%s", err, out)
		return 1
	}
	argosy = filepath.Join(shared.Dir, "bin", "argosy")
	build := exec.Command("go", "build", "-o", argosy, "./cmd/argosy")
	build.Dir = "../.."
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Fprintf(os.Stderr, "error: building argosy: %v\n%s", err, out)
		return 1
	}
	// Tests wait for their lab, and not for each other.
	if err := flag.Set("test.parallel", "100"); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		return 1
	}
	code := m.Run()
	defer lab.StopAll()
	if code != 0 {
		fmt.Fprintln(os.Stderr, "logs of the lab:", shared.KeepLogs())
	}
	return code
}
