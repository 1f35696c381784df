//go:build linux

package main

import (
	"bufio"
	"bytes"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	ossignal "os/signal"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unsafe"
)

// demoRun is argosy demo as a process of its own, in a directory for temporary files of its own.
type demoRun struct {
	*testing.T
	cmd  *exec.Cmd
	temp string
	mark string // in the environment of all of its processes
	done chan error
}

func newDemoRun(t *testing.T, args ...string) *demoRun {
	t.Helper()
	program, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	// Short, as a socket's name must be.
	temp, err := os.MkdirTemp("", "demo")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(temp) })
	r := &demoRun{T: t, temp: temp, mark: "ARGOSY_TEST_DEMO=" + filepath.Base(temp), done: make(chan error, 1)}
	r.cmd = exec.Command(program, append([]string{"demo"}, args...)...)
	r.cmd.Args[0] = "argosy" // which makes the test's program ours
	r.cmd.Env = append(os.Environ(), r.mark, "TMPDIR="+temp, "TERM=xterm", "NO_COLOR=")
	return r
}

func (r *demoRun) start() {
	r.Helper()
	if err := r.cmd.Start(); err != nil {
		r.Fatal(err)
	}
	go func() { r.done <- r.cmd.Wait() }()
	r.Cleanup(func() { _ = r.cmd.Process.Kill() })
}

// ended waits for the process.
func (r *demoRun) ended() error {
	r.Helper()
	select {
	case err := <-r.done:
		return err
	case <-time.After(time.Minute):
		r.Fatal("it does not end")
		return nil
	}
}

// nothingLeft waits until there are no processes, no files and no ports of it, and fails if there are some after a while.
func (r *demoRun) nothingLeft(ports []string) {
	r.Helper()
	var left []string
	for range 300 {
		left = nil
		processes, _ := filepath.Glob("/proc/[0-9]*/environ")
		for _, file := range processes {
			if data, err := os.ReadFile(file); err == nil && bytes.Contains(data, []byte(r.mark+"\x00")) {
				left = append(left, "process "+file)
			}
		}
		files, _ := filepath.Glob(r.temp + "/*")
		left = append(left, files...)
		for _, p := range ports {
			if listens(r.T)[p] != "" {
				left = append(left, "port "+p)
			}
		}
		if len(left) == 0 {
			return
		}
		time.Sleep(100 * time.Millisecond)
	}
	r.Errorf("left behind: %v", left)
}

// listens are the addresses that somebody listens on, and the inodes of their sockets.
func listens(t *testing.T) map[string]string {
	t.Helper()
	data, err := os.ReadFile("/proc/net/tcp")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); len(f) > 9 && f[3] == "0A" {
			out[f[1]] = f[9]
		}
	}
	return out
}

// ports are those that the process listens on now.
func (r *demoRun) ports() []string {
	r.Helper()
	own := map[string]bool{}
	fds, _ := filepath.Glob(fmt.Sprintf("/proc/%d/fd/*", r.cmd.Process.Pid))
	for _, fd := range fds {
		if to, err := os.Readlink(fd); err == nil {
			own[to] = true
		}
	}
	var out []string
	for address, inode := range listens(r.T) {
		if own["socket:["+inode+"]"] {
			out = append(out, address)
		}
	}
	return out
}

// TestDemoTerminal boots on a terminal: there is a picture that changes, it goes on after the boot, a change in the repository is found by
// the next tick, and Ctrl-C ends it with nothing left.
func TestDemoTerminal(t *testing.T) {
	repo := t.TempDir()
	for name, data := range map[string]string{
		"root.yaml":        `{apiVersion: argoproj.io/v1alpha1, kind: Application, metadata: {name: root}, spec: {project: default, source: {repoURL: https://x/y, path: apps}, destination: {name: in-cluster, namespace: argocd}, syncPolicy: {automated: {}}}}`,
		"apps/a.yaml":      `{apiVersion: argoproj.io/v1alpha1, kind: ApplicationSet, metadata: {name: a}, spec: {generators: [{git: {repoURL: https://x/y, revision: main, directories: [{path: teams/*}]}}], template: {metadata: {name: '{{path.basename}}'}, spec: {project: default, source: {repoURL: https://x/y, path: '{{path}}'}, destination: {name: in-cluster, namespace: x}, syncPolicy: {automated: {}}}}}}`,
		"teams/red/d.yaml": `{apiVersion: apps/v1, kind: Deployment, metadata: {name: red}}`,
	} {
		put(t, filepath.Join(repo, name), data)
	}
	r := newDemoRun(t, "--speed", "100", "--repo", repo)
	screen := r.terminal()
	r.start()
	screen.expect("root is booted: 2 Applications healthy after")
	screen.expect("Ctrl-C ends the demo")
	ports := r.ports()
	if len(ports) != 3 { // Git, S3 and the board
		t.Errorf("it listens on %v", ports)
	}
	put(t, filepath.Join(repo, "teams/blue/d.yaml"), `{apiVersion: apps/v1, kind: Deployment, metadata: {name: blue}}`)
	screen.expect("root: + Application blue")
	screen.send("\x03")
	if err := r.ended(); err != nil {
		t.Errorf("it ended with %v", err)
	}
	r.nothingLeft(ports)
	for _, want := range []string{"\x1b[", "A\r\x1b[J", "\x1b[32m●\x1b[0m", "root wave 0", "2 of 2 healthy"} {
		if !strings.Contains(screen.seen(), want) {
			t.Errorf("%q is not on the screen", want)
		}
	}
	for line := range strings.SplitSeq(screen.seen(), "\n") {
		if plain := regexp.MustCompile("\x1b\\[[0-9]*[a-zA-Z]|\r").ReplaceAllString(line, ""); strings.Contains(plain, "wave 0  ") &&
			len([]rune(plain)) > 60 {
			t.Errorf("wider than the terminal: %q", plain)
		}
	}
}

// TestDemoKilled ends demos at moments by chance, in all ways that there are. Whatever they were doing, nothing is left.
func TestDemoKilled(t *testing.T) {
	seed := uint64(time.Now().UnixNano())
	t.Logf("seed %d", seed)
	random := rand.New(rand.NewPCG(seed, 0))
	signals := []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP}
	if ossignal.Ignored(syscall.SIGHUP) { // by nohup: a process ignores it, too, until it says otherwise
		signals[3] = syscall.SIGTERM
	}
	listened := 0
	for i := range 16 {
		signal, after := signals[i%len(signals)], time.Duration(random.IntN(1200))*time.Millisecond
		r := newDemoRun(t, "--speed", "10")
		// A group of its own, all of which is killed, as by a shell or a CI system.
		r.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
		r.start()
		for range 300 { // the last ones when they serve, however slow the machine is
			if i < 12 || len(r.ports()) == 2 {
				break
			}
			time.Sleep(100 * time.Millisecond)
		}
		time.Sleep(after)
		ports := r.ports()
		if listened += len(ports); i >= 12 && len(ports) != 2 {
			t.Errorf("it listens on %v", ports)
		}
		if err := syscall.Kill(-r.cmd.Process.Pid, signal); err != nil {
			t.Fatal(err)
		}
		if err := r.ended(); err == nil {
			t.Errorf("%s after %s: it ended as if nothing had happened", signal, after)
		}
		r.nothingLeft(ports)
		if t.Failed() {
			t.Fatalf("%s after %s", signal, after)
		}
	}
	t.Logf("%d ports were open", listened)
}

// terminal is the other side of a terminal.
type terminal struct {
	*testing.T
	file  *os.File
	lines chan string
	text  strings.Builder
}

// terminal gives the process a terminal of 60 columns and 20 lines.
func (r *demoRun) terminal() *terminal {
	r.Helper()
	file, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		r.Fatal(err)
	}
	control := func(request uintptr, value unsafe.Pointer) {
		if _, _, code := syscall.Syscall(syscall.SYS_IOCTL, file.Fd(), request, uintptr(value)); code != 0 {
			r.Fatal(code)
		}
	}
	var unlock, number int32
	control(syscall.TIOCSPTLCK, unsafe.Pointer(&unlock))
	control(syscall.TIOCGPTN, unsafe.Pointer(&number))
	size := [4]uint16{20, 60}
	control(syscall.TIOCSWINSZ, unsafe.Pointer(&size))
	other, err := os.OpenFile("/dev/pts/"+strconv.Itoa(int(number)), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		r.Fatal(err)
	}
	r.cmd.Stdin, r.cmd.Stdout, r.cmd.Stderr = other, other, other
	r.cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	s := &terminal{T: r.T, file: file, lines: make(chan string, 10_000)}
	go func() {
		defer close(s.lines)
		for in := bufio.NewReader(file); ; {
			line, err := in.ReadString('\n')
			if err != nil {
				return
			}
			s.lines <- line
		}
	}()
	r.Cleanup(func() { _, _ = file.Close(), other.Close() })
	return s
}

// expect waits for a line with a text.
func (s *terminal) expect(text string) {
	s.Helper()
	deadline := time.After(time.Minute)
	for {
		select {
		case line, ok := <-s.lines:
			if !ok {
				s.Fatalf("%q did not come:\n%s", text, s.text.String())
			}
			if s.text.WriteString(line); strings.Contains(line, text) {
				return
			}
		case <-deadline:
			s.Fatalf("%q did not come:\n%s", text, s.text.String())
		}
	}
}

func (s *terminal) send(keys string) {
	s.Helper()
	if _, err := s.file.WriteString(keys); err != nil {
		s.Fatal(err)
	}
}

// seen is all that was written by now.
func (s *terminal) seen() string {
	for {
		select {
		case line, ok := <-s.lines:
			if !ok {
				return s.text.String()
			}
			s.text.WriteString(line)
		default:
			return s.text.String()
		}
	}
}

func put(t *testing.T, name, data string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(name), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(name, []byte(data), 0o644); err != nil {
		t.Fatal(err)
	}
}
