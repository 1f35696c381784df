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
	"time"

	"github.com/spf13/cobra"
)

// demoDir is what a demo has on disk. A process of its own removes it when the demo has ended, however it has: it sees the end of a pipe.
type demoDir struct {
	path    string
	sweeper *exec.Cmd // nil is none
	pipe    io.Closer
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
		if err := d.watch(); err != nil {
			d.sweeper = nil // then we do it alone
		}
		err := os.Mkdir(d.path, 0o700)
		if err == nil {
			return d, nil
		}
		d.release()
		if !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("making a temporary directory: %w", pathError(err))
		}
	}
	return nil, fmt.Errorf("making a temporary directory in %s: all names are taken", base)
}

// watch starts who removes the directory.
func (d *demoDir) watch() error {
	program, err := os.Executable()
	if err != nil {
		return err
	}
	cmd := exec.Command(program, "demo", "sweep", d.path) //nolint:noctx // it outlives us
	cmd.Args[0], cmd.Dir = "argosy", filepath.Dir(d.path)
	cmd.SysProcAttr = ownSession()
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return errors.Join(err, pipe.Close())
	}
	d.sweeper, d.pipe = cmd, pipe
	return nil
}

// remove removes the directory.
func (d *demoDir) remove() error {
	err := os.RemoveAll(d.path)
	d.release()
	return err
}

// release lets the other process end.
func (d *demoDir) release() {
	if d.sweeper != nil {
		_ = d.pipe.Close()
		// What it could not do, we could not either, and if it is stopped, we are not.
		ended := make(chan struct{})
		go func() {
			_ = d.sweeper.Wait()
			close(ended)
		}()
		select {
		case <-ended:
		case <-time.After(2 * time.Second):
		}
	}
}

// newSweepCommand removes the directory of a demo when its standard input ends.
func newSweepCommand(std stdio) *cobra.Command {
	return &cobra.Command{
		Use: "sweep DIR", Hidden: true, Short: "Remove what a demo has left", Args: exactly(1, "DIR"),
		RunE: func(_ *cobra.Command, args []string) error {
			if !strings.HasPrefix(filepath.Base(args[0]), demoPrefix) {
				return usagef("%s is not the directory of a demo", printable(args[0]))
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
