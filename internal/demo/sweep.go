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

// workDir is a demo's directory. The sweeper, another process, removes it when its pipe closes, which happens only when this process ends,
// however it ends. Files written until then are removed, too.
type workDir struct {
	path string
	pipe io.Closer // write end, never closed; nil if no sweeper runs
}

const dirPrefix = "argosy-demo-"

// newWorkDir starts a sweeper, and then creates the directory.
func newWorkDir() (*workDir, error) {
	base, err := filepath.Abs(os.TempDir()) // the sweeper has another working directory
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
		stop() // before it removes another process's directory
		if !errors.Is(err, os.ErrExist) {
			return nil, fmt.Errorf("making a temporary directory: %w", problem.Path(err))
		}
	}
	return nil, fmt.Errorf("making a temporary directory in %s: all names are taken", base)
}

// watch starts the sweeper process. If that fails, only this process removes the directory.
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

// remove removes the directory. If a sweeper runs, an error is ignored: the sweeper removes the rest.
func (d *workDir) remove() error {
	if err := os.RemoveAll(d.path); err != nil && d.pipe == nil {
		return problem.Path(err)
	}
	return nil
}

// Sweep removes the directory of a demo when pipe ends. Signals that end the demo are ignored.
func Sweep(pipe io.Reader, dir string) error {
	if !strings.HasPrefix(filepath.Base(dir), dirPrefix) {
		return problem.Usagef("%s is not the directory of a demo", words.Printable(dir))
	}
	// A signal to all processes of this name, or to the process group, must not end the sweeper.
	signal.Ignore(os.Interrupt, syscall.SIGTERM, syscall.SIGHUP)
	if _, err := io.Copy(io.Discard, pipe); err != nil {
		return err
	}
	return os.RemoveAll(dir)
}
