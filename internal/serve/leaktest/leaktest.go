// Package leaktest finds goroutines of ours that a package's tests have left behind: servers that do not end with their context.
package leaktest

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"
)

const module = "github.com/argosy-cd/argosy/"

// patience is how long a goroutine may take to end after the last test. It only ends runs that leak.
const patience = 20 * time.Second

// Main runs the tests of a package, and fails if a goroutine of ours is still there afterwards. It is all that a TestMain does.
func Main(m *testing.M) {
	code := m.Run()
	if code == 0 {
		if left := Left(); len(left) > 0 {
			fmt.Fprintf(os.Stderr, "FAIL: %d goroutines are left after the tests:\n\n%s\n", len(left), strings.Join(left, "\n\n"))
			code = 1
		}
	}
	os.Exit(code)
}

// Left waits until all goroutines of ours but this one have ended, and returns the stacks of those that have not.
func Left() []string {
	for began := time.Now(); ; time.Sleep(20 * time.Millisecond) {
		left := ours(stacks())
		if len(left) == 0 || time.Since(began) > patience {
			return left
		}
	}
}

// ours returns the stacks with a function of ours, also as the creator, without the current one.
func ours(stacks []string) []string {
	return slices.DeleteFunc(stacks, func(stack string) bool {
		return !strings.Contains(stack, module) || strings.Contains(stack, module+"internal/serve/leaktest.Left(")
	})
}

func stacks() []string {
	buf := make([]byte, 1<<20)
	for {
		n := runtime.Stack(buf, true)
		if n < len(buf) {
			return strings.Split(strings.TrimSpace(string(buf[:n])), "\n\n")
		}
		buf = make([]byte, 2*len(buf))
	}
}
