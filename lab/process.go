package lab

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"time"
)

// Process is a program of a lab. It can be stopped, killed, paused and started again.
type Process struct {
	Name string
	Log  string // path of its log

	path  string
	args  []string
	env   []string
	ready func(context.Context) error

	mu   sync.Mutex
	cmd  *exec.Cmd
	done chan struct{}
}

// spawn starts commands on a thread that lives as long as this process: the kernel kills a child that asked for it
// when the thread that started it ends.
var spawn = sync.OnceValue(func() func(*exec.Cmd) error {
	type request struct {
		cmd *exec.Cmd
		err chan error
	}
	requests := make(chan request)
	go func() {
		runtime.LockOSThread()
		for r := range requests {
			r.err <- r.cmd.Start()
		}
	}()
	return func(cmd *exec.Cmd) error {
		r := request{cmd, make(chan error)}
		requests <- r
		return <-r.err
	}
})

// Start starts the process and waits until it is ready.
func (p *Process) Start(ctx context.Context) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.running() {
		return fmt.Errorf("%s is running", p.Name)
	}
	log, err := os.OpenFile(p.Log, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer log.Close()
	cmd := exec.Command(p.path, p.args...)
	cmd.Dir = filepath.Dir(p.Log)
	cmd.Env = append(os.Environ(), p.env...)
	cmd.Stdout, cmd.Stderr = log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	if err := spawn()(cmd); err != nil {
		return fmt.Errorf("starting %s: %w", p.Name, err)
	}
	done := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		p.account(cmd.ProcessState)
		close(done)
	}()
	p.cmd, p.done = cmd, done
	if p.ready == nil {
		return nil
	}
	return p.await(ctx, p.ready)
}

// account appends the processor time of a process that has ended to the file that LAB_USAGE names: its name, and milliseconds
// as a user and in the kernel. Without the variable it does nothing.
func (p *Process) account(s *os.ProcessState) {
	name := os.Getenv("LAB_USAGE")
	if name == "" || s == nil {
		return
	}
	f, err := os.OpenFile(name, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return
	}
	defer f.Close()
	fmt.Fprintln(f, p.Name, s.UserTime().Milliseconds(), s.SystemTime().Milliseconds())
}

// await polls until check succeeds or the process ends. Readiness of a foreign program can only be polled.
func (p *Process) await(ctx context.Context, check func(context.Context) error) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	var last error
	for {
		select {
		case <-p.done:
			return fmt.Errorf("%s has ended; %s", p.Name, p.tail())
		case <-ctx.Done():
			return fmt.Errorf("%s is not ready: %w (%w); %s", p.Name, last, ctx.Err(), p.tail())
		case <-tick.C:
		}
		if last = check(ctx); last == nil {
			return nil
		}
	}
}

// tail names the log and quotes its end.
func (p *Process) tail() string {
	data, err := os.ReadFile(p.Log)
	if err != nil {
		return err.Error()
	}
	return fmt.Sprintf("log %s ends:\n%s", p.Log, lastLines(string(data), 8))
}

func (p *Process) running() bool {
	if p.cmd == nil {
		return false
	}
	select {
	case <-p.done:
		return false
	default:
		return true
	}
}

// signal sends a signal to the process and its children.
func (p *Process) signal(s syscall.Signal) {
	if p.running() {
		_ = syscall.Kill(-p.cmd.Process.Pid, s)
	}
}

// Kill ends the process as kill -9 does.
func (p *Process) Kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.signal(syscall.SIGKILL)
	if p.done != nil {
		<-p.done
	}
}

// Stop asks the process to end, and kills it if it has not after five seconds.
func (p *Process) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.running() {
		return
	}
	p.signal(syscall.SIGTERM)
	select {
	case <-p.done:
	case <-time.After(5 * time.Second):
		p.signal(syscall.SIGKILL)
		<-p.done
	}
}

// Restart kills the process and starts it again.
func (p *Process) Restart(ctx context.Context) error {
	p.Kill()
	return p.Start(ctx)
}

// Pause freezes the process; Resume lets it go on.
func (p *Process) Pause() { p.mu.Lock(); defer p.mu.Unlock(); p.signal(syscall.SIGSTOP) }

// Resume lets a paused process go on.
func (p *Process) Resume() { p.mu.Lock(); defer p.mu.Unlock(); p.signal(syscall.SIGCONT) }

// reservePorts finds so many ports that are free, in a block that no other lab takes until the listener is closed. They are below those
// that the system gives to clients, which could take one before the server that it is for.
func reservePorts(n int) (ports []int, reservation net.Listener, err error) {
	const first, last = 10_000, 32_000
	for range 100 {
		base := first + rand.IntN((last-first)/(n+1))*(n+1)
		if reservation, err = net.Listen("tcp", address(base)); err != nil {
			continue
		}
		if ports, err = freePorts(base+1, n); err == nil {
			return ports, reservation, nil
		}
		reservation.Close()
	}
	return nil, nil, fmt.Errorf("no %d free ports: %w", n, err)
}

// freePorts returns n ports if all of them are free, on every address.
func freePorts(first, n int) ([]int, error) {
	var ports []int
	for port := first; port < first+n; port++ {
		l, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, port)
	}
	return ports, nil
}

// FreeAddress returns an address on loopback that nobody listens on.
func FreeAddress() (string, error) {
	ports, reservation, err := reservePorts(1)
	if err != nil {
		return "", err
	}
	return address(ports[0]), reservation.Close()
}

// Answers is ready when a URL answers with 200.
func Answers(url string) func(context.Context) error { return httpOK(http.DefaultClient, url) }

// portOpen is ready when a port accepts connections.
func portOpen(port int) func(context.Context) error { return Listens(address(port)) }

// httpOK is ready when a URL answers 200.
func httpOK(client *http.Client, url string) func(context.Context) error {
	return func(ctx context.Context) error {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return err
		}
		res, err := client.Do(req)
		if err != nil {
			return err
		}
		defer res.Body.Close()
		if res.StatusCode != http.StatusOK {
			return errors.New(res.Status)
		}
		return nil
	}
}

func address(port int) string { return fmt.Sprintf("127.0.0.1:%d", port) }

// flag formats a command line flag.
func flag(name string, value any) string {
	return fmt.Sprintf("--%s=%v", strings.TrimLeft(name, "-"), value)
}

// Listens is ready when an address accepts connections.
func Listens(address string) func(context.Context) error {
	return func(ctx context.Context) error {
		conn, err := (&net.Dialer{}).DialContext(ctx, "tcp", address)
		if err != nil {
			return err
		}
		return conn.Close()
	}
}
