package demo

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

	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/words"
)

// workDir is what a demo has on disk. A process of its own removes it when the demo has ended, however it has: it sees the end of a pipe,
// which only the end of our process is. What is still written until then is removed, too.
type workDir struct {
	path string
	pipe io.Closer // which is not closed; nil is nobody who would see it
}

const dirPrefix = "argosy-demo-"

// newWorkDir makes a directory. Who removes it is there first.
func newWorkDir() (*workDir, error) {
	base, err := filepath.Abs(os.TempDir()) // the other process is elsewhere
	if err != nil || len(base) > 60 {       // a socket's name has 104 characters at most
		base = "/tmp"
	}
	for range 100 {
		d := &workDir{path: filepath.Join(base, dirPrefix+strings.ToLower(rand.Text()[:10]))}
		stop := d.watch()
		err := os.Mkdir(d.path, 0o700)
		if err == nil {
			return d, nil
		}
		stop() // before it removes what is somebody else's
		if !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("making a temporary directory: %w", problem.Path(err))
		}
	}
	return nil, fmt.Errorf("making a temporary directory in %s: all names are taken", base)
}

// watch starts who removes the directory. If that cannot be, we do it alone.
func (d *workDir) watch() (stop func()) {
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
func (d *workDir) remove() error {
	if err := os.RemoveAll(d.path); err != nil && d.pipe == nil {
		return problem.Path(err)
	}
	return nil
}

// Sweep removes the directory of a demo when pipe ends. Signals that end the demo do not end it.
func Sweep(pipe io.Reader, dir string) error {
	if !strings.HasPrefix(filepath.Base(dir), dirPrefix) {
		return problem.Usagef("%s is not the directory of a demo", words.Printable(dir))
	}
	// Whatever ends the demo by its name, or that of its group, must not end this.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	if _, err := io.Copy(io.Discard, pipe); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
