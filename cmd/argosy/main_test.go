package main

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/argosy-cd/argosy/internal/hostile"
	"github.com/argosy-cd/argosy/internal/scm/scmtest"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"argosy": main})
}

// exits runs a program and compares its exit code: exits 2 argosy appset nope.
func exits(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: exits CODE PROGRAM ARGS...")
	}
	code := 0
	err := ts.Exec(args[1], args[2:]...)
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) {
		code = exit.ExitCode()
	} else {
		ts.Check(err)
	}
	if strconv.Itoa(code) != args[0] {
		ts.Fatalf("exit code %d, want %s", code, args[0])
	}
}

// TestScripts runs the commands as a user does. The scripts read like a manual: one behaviour each.
func TestScripts(t *testing.T) { scripts(t, "testdata/script") }

// TestLargeScripts runs scripts that take minutes with the race detector, which sees nothing new in them.
func TestLargeScripts(t *testing.T) {
	hostile.Unraced(t)
	scripts(t, "testdata/large")
}

func scripts(t *testing.T, dir string) {
	t.Helper()
	testscript.Run(t, testscript.Params{
		Dir:                 dir,
		UpdateScripts:       os.Getenv("UPDATE") != "",
		RequireExplicitExec: true,
		RequireUniqueNames:  true,
		Cmds: map[string]func(*testscript.TestScript, bool, []string){
			"exits": exits, "get": download, "open": open, "s3put": s3put, "s3keys": s3keys, "s3fault": s3fault, "s3count": s3count,
		},
		Setup: func(env *testscript.Env) error {
			setupS3(t, env)
			env.Setenv("CHARTS", charts(t))
			action, err := filepath.Abs("../../action")
			if err != nil {
				return err
			}
			env.Setenv("ACTION", action)
			env.Setenv("GORACE", os.Getenv("GORACE"))
			env.Setenv("GITHUB", scmtest.New(t, "github").URL)
			env.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
			env.Setenv("GIT_CONFIG_SYSTEM", os.DevNull)
			for _, who := range []string{"AUTHOR", "COMMITTER"} {
				env.Setenv("GIT_"+who+"_NAME", "A Tester")
				env.Setenv("GIT_"+who+"_EMAIL", "tester@example.com")
			}
			return nil
		},
	})
}
