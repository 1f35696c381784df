package siegetest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Memory of the deployed sidecar; see deploy/kustomize.
const (
	Memory       = 1 << 30 // argosy cmp
	RepoMemory   = 512 << 20
	EventsMemory = 256 << 20
)

// Build builds argosy as a release is built, and returns its file.
func Build(ctx context.Context, dir string) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/argosy-cd/argosy").Output()
	if err != nil {
		return "", fmt.Errorf("finding the module: %w", err)
	}
	file := filepath.Join(dir, "argosy")
	cmd := exec.CommandContext(ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", file, "./cmd/argosy")
	cmd.Dir, cmd.Env = strings.TrimSpace(string(root)), append(os.Environ(), "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("building argosy: %w\n%s", err, out)
	}
	return file, nil
}

// Program is argosy, running in a process with little memory.
type Program struct {
	// URL is where it serves HTTP.
	URL string
	// Ended is closed when the process has ended.
	Ended <-chan struct{}

	cmd *exec.Cmd
	mem *memoryLimit

	mu  sync.Mutex
	log []string // the last lines
	err error    // of the process
}

// Run configures a run of the program.
type Run struct {
	File   string // argosy
	Args   []string
	Env    []string // the whole environment
	Memory int64
	// Alone are more Args, for where its memory is limited in a way that it does not see.
	Alone []string
	// Line is called with each line of the log. Nil is not called.
	Line func(string)
}

var listening = regexp.MustCompile(`msg=listening address=([0-9.:]+)`)

// Start starts argosy and waits until it listens.
func Start(ctx context.Context, r Run) (*Program, error) {
	limit, err := newMemoryLimit(r.Memory)
	if err != nil {
		return nil, err
	}
	ended := make(chan struct{})
	p := &Program{Ended: ended, mem: limit}
	args := append([]string{"-c", limit.script() + `; exec "$@"`, "sh", r.File}, r.Args...)
	if limit.group == "" {
		args = append(args, r.Alone...)
	}
	p.cmd = exec.Command("/bin/sh", args...)
	p.cmd.Env = r.Env
	stderr, err := p.cmd.StderrPipe()
	if err != nil {
		return nil, err
	}
	if err := p.cmd.Start(); err != nil {
		return nil, errors.Join(err, limit.remove())
	}
	found := make(chan string, 1)
	go func() {
		for s := bufio.NewScanner(stderr); s.Scan(); {
			line := s.Text()
			if m := listening.FindStringSubmatch(line); m != nil {
				found <- m[1]
			}
			p.keep(line)
			if r.Line != nil {
				r.Line(line)
			}
		}
		err := p.cmd.Wait()
		p.mu.Lock()
		p.err = err
		p.mu.Unlock()
		close(ended)
	}()
	select {
	case address := <-found:
		p.URL = "http://" + address
		return p, nil
	case <-ended:
		return nil, fmt.Errorf("it did not start: %w\n%s", p.Err(), p.Log())
	case <-ctx.Done():
		p.Kill()
		return nil, ctx.Err()
	}
}

// keep keeps the last lines of the log.
func (p *Program) keep(line string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.log = append(p.log, line); len(p.log) > 400 {
		p.log = p.log[200:]
	}
}

// Log is the end of the log.
func (p *Program) Log() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return strings.Join(p.log, "\n")
}

// Err is how the process has ended.
func (p *Program) Err() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.err
}

// Alive reports whether the process runs.
func (p *Program) Alive() bool {
	select {
	case <-p.Ended:
		return false
	default:
		return true
	}
}

// Stop ends the process as Kubernetes does, and returns how it has ended.
func (p *Program) Stop() error {
	if !p.Alive() {
		return errors.Join(fmt.Errorf("the process has ended by itself: %w", p.Err()), p.mem.remove())
	}
	if err := p.cmd.Process.Signal(syscall.SIGTERM); err != nil {
		return err
	}
	<-p.Ended
	return errors.Join(p.Err(), p.mem.remove())
}

// Kill ends the process at once. Its workers end with it.
func (p *Program) Kill() {
	_ = p.cmd.Process.Kill()
	<-p.Ended
	_ = p.mem.remove()
}

// Peaks are the most memory that was in use, in bytes.
type Peaks struct {
	Process   int64 // of the process itself, resident
	Container int64 // of the process and its workers, with files that the system keeps in memory; 0 is not known
	Killed    int64 // processes that the system ended because the container had no memory left
	By        string
}

// Peaks returns the most memory that was in use.
func (p *Program) Peaks() Peaks {
	out := Peaks{Container: p.mem.peak(), Killed: p.mem.killed(), By: p.mem.String()}
	data, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", p.cmd.Process.Pid))
	if err == nil {
		if _, rest, ok := strings.Cut(string(data), "VmHWM:"); ok {
			kib, _ := strconv.ParseInt(strings.Fields(rest)[0], 10, 64)
			out.Process = kib << 10
		}
	}
	return out
}

// Workers are the processes of its workers.
func (p *Program) Workers() []int {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", p.cmd.Process.Pid))
	var out []int
	for _, file := range files {
		data, _ := os.ReadFile(file)
		for text := range strings.FieldsSeq(string(data)) {
			if pid, err := strconv.Atoi(text); err == nil {
				out = append(out, pid)
			}
		}
	}
	return out
}

// Get asks for a page.
func (p *Program) Get(ctx context.Context, path string) (code int, body string, err error) {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, p.URL+path, nil)
	if err != nil {
		return 0, "", err
	}
	res, err := http.DefaultClient.Do(r)
	if err != nil {
		return 0, "", err
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	return res.StatusCode, string(data), err
}

// Metrics returns the sums of all series of each metric.
func (p *Program) Metrics(ctx context.Context) (map[string]float64, error) {
	_, body, err := p.Get(ctx, "/metrics")
	if err != nil {
		return nil, err
	}
	out := map[string]float64{}
	for line := range strings.Lines(body) {
		if strings.HasPrefix(line, "#") {
			continue
		}
		series, value, ok := strings.Cut(strings.TrimSpace(line), "} ")
		if !ok {
			series, value, _ = strings.Cut(strings.TrimSpace(line), " ")
		}
		n, err := strconv.ParseFloat(value, 64)
		if err != nil {
			continue
		}
		name, _, _ := strings.Cut(series, "{")
		out[name] += n
	}
	return out, nil
}
