package worker

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a worker, as its host sees it.
type process struct {
	cmd    *exec.Cmd
	in     *bufio.Reader
	out    *bufio.Writer
	pipes  []*os.File
	errors *tail
	jobs   int
	doing  string
	// inherited is memory of the host that the system counts as the process's own.
	inherited int64

	ended chan struct{}
	once  sync.Once
}

// Descriptors of a worker besides the three that every process has.
const (
	fdIn  = 3
	fdOut = 4
)

// startProcess starts a worker, and returns when it is ready.
func startProcess(ctx context.Context, s *spawner, cfg Config) (*process, Confinement, error) {
	path := cfg.Path
	if path == "" {
		var err error
		if path, err = executable(); err != nil {
			return nil, Confinement{}, err
		}
	}
	fromHost, toWorker, err := os.Pipe()
	if err != nil {
		return nil, Confinement{}, err
	}
	fromWorker, toHost, err := os.Pipe()
	if err != nil {
		return nil, Confinement{}, errors.Join(err, fromHost.Close(), toWorker.Close())
	}
	w := &process{
		in: bufio.NewReaderSize(fromWorker, 64<<10), out: bufio.NewWriterSize(toWorker, 64<<10),
		pipes: []*os.File{fromWorker, toWorker}, errors: &tail{}, ended: make(chan struct{}),
	}
	w.cmd = exec.Command(path) //nolint:noctx // it outlives the call that starts it
	w.cmd.Args = append(append([]string{}, cfg.Args...), strconv.FormatInt(cfg.Memory, 10), strconv.FormatBool(!cfg.unfiltered))
	// The worker gets none of the host's environment: no token, no keys, no addresses.
	w.cmd.Env = []string{
		"GOMAXPROCS=2", "GOTRACEBACK=single", "GOGC=" + strconv.Itoa(cfg.GCPercent),
		"GOMEMLIMIT=" + strconv.FormatInt(cfg.Memory*8/10, 10),
	}
	w.cmd.Dir = string(os.PathSeparator)
	w.cmd.ExtraFiles = []*os.File{fromHost, toHost}
	// All three are given, because an image may have no /dev/null.
	w.cmd.Stdin, w.cmd.Stdout, w.cmd.Stderr = fromHost, w.errors, w.errors
	w.cmd.WaitDelay = time.Second // if something else has its standard error
	err = s.start(w.cmd)
	w.inherited = ownPeak() // afterwards, because the host may have grown until the process began
	_, _ = fromHost.Close(), toHost.Close()
	if err != nil {
		w.close()
		return nil, Confinement{}, err
	}
	go func() {
		_ = w.cmd.Wait()
		close(w.ended)
	}()
	c, err := w.hello(ctx)
	if err != nil {
		w.kill()
		w.wait()
		return nil, Confinement{}, err
	}
	return w, c, nil
}

// executable is this program, even if its file was replaced.
func executable() (string, error) {
	const self = "/proc/self/exe"
	if _, err := os.Lstat(self); err == nil && runtime.GOOS == "linux" {
		return self, nil
	}
	if name, err := os.Executable(); err == nil {
		return name, nil
	}
	// Without /proc, the system does not say.
	return exec.LookPath(os.Args[0])
}

// hello waits until a worker is ready.
func (w *process) hello(ctx context.Context) (c Confinement, err error) {
	stop := context.AfterFunc(ctx, w.kill)
	defer stop()
	kind, size, err := readHead(w.in)
	if err == nil && (kind != frameHello || size > maxHello) {
		err = errProtocol
	}
	var m Message
	if err == nil {
		_, m, err = readBody(w.in, size)
	}
	if err == nil {
		err = m.Decode(&c)
	}
	if err == nil {
		return c, nil
	}
	if ctx.Err() != nil {
		return c, context.Cause(ctx)
	}
	w.kill()
	w.wait()
	if line, _, _ := strings.Cut(w.errors.String(), "\n"); line != "" {
		return c, errors.New(printable(line))
	}
	return c, fmt.Errorf("it ended before it was ready: %w", err)
}

// kill ends a worker and everything that it may have started.
func (w *process) kill() { w.once.Do(func() { killGroup(w.cmd.Process) }) }

// wait waits until a worker has ended.
func (w *process) wait() {
	<-w.ended
	w.close()
}

func (w *process) close() {
	for _, f := range w.pipes {
		_ = f.Close()
	}
}

// watch lowers the priority of a worker that computes for longer than that, so that short jobs are not slowed down by long ones. The caller
// ends the watch with stop, which reports whether the priority was lowered: the worker cannot get it back.
func (w *process) watch(long time.Duration) (stop func() (lowered bool)) {
	pid := w.cmd.Process.Pid
	began := computed(pid)
	var mu sync.Mutex
	done, lowered := false, false
	var timer *time.Timer
	mu.Lock()
	defer mu.Unlock()
	timer = time.AfterFunc(long, func() {
		mu.Lock()
		defer mu.Unlock()
		if done || w.exited() {
			return
		}
		// It may have waited, for its host or for a processor.
		if left := long - (computed(pid) - began); left > 0 {
			timer.Reset(max(left, minWatch))
			return
		}
		lowered = lower(pid)
	})
	return func() bool {
		mu.Lock()
		defer mu.Unlock()
		done = true
		timer.Stop()
		return lowered
	}
}

// minWatch is how long a worker is not looked at again at least.
const minWatch = 50 * time.Millisecond

// exited reports whether a worker has ended.
func (w *process) exited() bool {
	select {
	case <-w.ended:
		return true
	default:
		return false
	}
}

// reason returns why a worker has ended that we have not killed.
func (w *process) reason(memory int64) Reason {
	text := w.errors.String()
	status, _ := w.cmd.ProcessState.Sys().(syscall.WaitStatus)
	switch {
	case strings.Contains(text, "stack overflow"):
		return ReasonStack
	case strings.Contains(text, "out of memory"), strings.Contains(text, "cannot allocate memory"),
		strings.Contains(text, "failed to create new OS thread"), strings.Contains(text, "pthread_create failed"):
		return ReasonMemory
	case strings.Contains(text, "SIGXCPU"):
		return ReasonCPU
	case status.Signaled() && status.Signal() == syscall.SIGKILL:
		return ReasonKilled
	case strings.Contains(text, "SIGSEGV") && strings.Contains(text, "goroutine 0 gp="),
		peak(w.cmd.ProcessState) > max(memory/2, w.inherited):
		// Without memory, the runtime fails in many ways, and not always with words.
		return ReasonMemory
	}
	return ReasonCrash
}

// tail keeps the beginning of a worker's standard error.
type tail struct {
	mu   sync.Mutex
	text bytes.Buffer
}

const maxTail = 4 << 10

func (t *tail) Write(p []byte) (int, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.text.Write(p[:min(len(p), maxTail-t.text.Len())])
	return len(p), nil
}

func (t *tail) String() string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.text.String()
}
