package main

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/words"
)

// demoDir is what a demo has on disk. A process of its own removes it when the demo has ended, however it has: it sees the end of a pipe,
// which only the end of our process is. What is still written until then is removed, too.
type demoDir struct {
	path string
	pipe io.Closer // which is not closed; nil is nobody who would see it
}

const demoPrefix = "argosy-demo-"

// newDemoDir makes a directory. Who removes it is there first.
func newDemoDir() (*demoDir, error) {
	base, err := filepath.Abs(os.TempDir()) // the other process is elsewhere
	if err != nil || len(base) > 60 {       // a socket's name has 104 characters at most
		base = "/tmp"
	}
	for range 100 {
		d := &demoDir{path: filepath.Join(base, demoPrefix+strings.ToLower(rand.Text()[:10]))}
		stop := d.watch()
		err := os.Mkdir(d.path, 0o700)
		if err == nil {
			return d, nil
		}
		stop() // before it removes what is somebody else's
		if !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("making a temporary directory: %w", pathError(err))
		}
	}
	return nil, fmt.Errorf("making a temporary directory in %s: all names are taken", base)
}

// watch starts who removes the directory. If that cannot be, we do it alone.
func (d *demoDir) watch() (stop func()) {
	stop = func() {}
	program, err := os.Executable()
	if err != nil {
		return stop
	}
	cmd := exec.Command(program, "demo", "sweep", d.path) //nolint:noctx // it outlives us
	cmd.Args[0], cmd.Dir = "argosy", filepath.Dir(d.path)
	cmd.SysProcAttr = ownSession()
	pipe, err := cmd.StdinPipe()
	if err != nil || cmd.Start() != nil {
		return stop
	}
	d.pipe = pipe
	return func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
}

// remove removes the directory, as far as nobody writes to it any more.
func (d *demoDir) remove() error {
	if err := os.RemoveAll(d.path); err != nil && d.pipe == nil {
		return pathError(err)
	}
	return nil
}

// newSweepCommand removes the directory of a demo when its standard input ends.
func newSweepCommand(std stdio) *cobra.Command {
	return &cobra.Command{
		Use: "sweep DIR", Hidden: true, Short: "Remove what a demo has left", Args: exactly(1, "DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			if !strings.HasPrefix(filepath.Base(args[0]), demoPrefix) {
				return usagef("%s is not the directory of a demo", words.Printable(args[0]))
			}
			// Whatever ends the demo by its name, or that of its group, must not end this.
			signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
			if _, err := io.Copy(io.Discard, std.in); err != nil {
				return err
			}
			return os.RemoveAll(args[0])
		},
	}
}
