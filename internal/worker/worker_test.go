package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/hostile"
)

func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[0] == "test-worker" {
		if err := Main(os.Args[1:], handlers()); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

var errWanted = errors.New("the other side says no")

// handlers are the jobs of the tests. Most of them are hostile.
func handlers() map[Kind]Handler {
	return map[Kind]Handler{
		"echo": func(_ *Host, m Message) (Message, error) { return m, nil },
		"ask": func(h *Host, m Message) (Message, error) {
			h.Doing("asking")
			got, err := h.Ask("thing", m)
			if err != nil {
				return got, fmt.Errorf("wrapped: %w", err)
			}
			return got, nil
		},
		"fail": func(*Host, Message) (Message, error) {
			return Message{}, errors.Join(errors.New("one"), errors.New("two"))
		},
		"panic": func(*Host, Message) (Message, error) { panic("at once") },
		"elsewhere": func(*Host, Message) (Message, error) {
			go panic("in a goroutine")
			select {}
		},
		"exit": func(*Host, Message) (Message, error) { os.Exit(0); return Message{}, nil },
		"stack": func(h *Host, _ Message) (Message, error) {
			h.Doing("going down")
			return Message{}, fmt.Errorf("%d", down(1))
		},
		"memory": func(h *Host, _ Message) (Message, error) {
			h.Doing("taking memory")
			var all [][]byte
			for {
				b := make([]byte, 1<<20)
				for i := range b {
					b[i] = byte(i)
				}
				if all = append(all, b); len(all) > 1<<20 {
					return Message{Blobs: all}, nil
				}
			}
		},
		"large": func(h *Host, m Message) (Message, error) {
			return Message{Blobs: [][]byte{make([]byte, maxResult)}}, nil
		},
		"loop": func(h *Host, _ Message) (Message, error) {
			h.Doing("running in circles")
			for i := 0; ; i++ {
				runtime.KeepAlive(i)
			}
		},
		"garbage": func(h *Host, _ Message) (Message, error) {
			_, err := os.NewFile(fdOut, "").Write([]byte(strings.Repeat("rubbish ", 1000)))
			return Message{}, err
		},
		"announce": func(_ *Host, m Message) (Message, error) {
			size := uint32(1 << 31)
			if len(m.Head) > 0 {
				if err := m.Decode(&size); err != nil {
					return m, err
				}
			}
			_, err := os.NewFile(fdOut, "").Write(binary.BigEndian.AppendUint32([]byte{frameResult}, size))
			return Message{}, err
		},
		"flood": func(h *Host, _ Message) (Message, error) {
			for range maxAsks + 1 {
				h.Doing("flooding")
			}
			return Message{}, nil
		},
		"smuggle": func(h *Host, m Message) (Message, error) { return h.AskLarge("thing", m) },
		"title":   func(h *Host, m Message) (Message, error) { return h.Ask(Question(strings.Repeat("x", maxKind+1)), m) },
		"insist": func(h *Host, m Message) (Message, error) {
			asked := 0
			for ; asked < maxAsks/2; asked++ {
				if _, err := h.Ask("thing", m); err != nil && h.lost != nil {
					return Message{}, err
				}
			}
			return NewMessage(asked)
		},
		"unknown": func(*Host, Message) (Message, error) {
			_, err := os.NewFile(fdOut, "").Write([]byte{'?', 0, 0, 0, 0})
			return Message{}, err
		},
		"many": func(h *Host, m Message) (Message, error) {
			for range 20 {
				if _, err := h.AskLarge("thing", m); err != nil {
					return Message{}, err
				}
			}
			return Message{}, nil
		},
		"endless": func(h *Host, m Message) (Message, error) {
			for {
				if _, err := h.Ask("thing", m); err != nil {
					return Message{}, err
				}
			}
		},
		"escape": escape,
		"say": func(h *Host, _ Message) (Message, error) {
			m, err := NewMessage(os.Getpid())
			if err == nil {
				m, err = h.Ask("pid", m)
			}
			return m, err
		},
		"pid": func(*Host, Message) (Message, error) { return NewMessage(os.Getpid()) },
		"compute": func(h *Host, m Message) (Message, error) {
			for {
				for i := range 1_000_000 {
					runtime.KeepAlive(i)
				}
				if got, err := h.Ask("thing", m); err != nil || string(got.Head) == "true" {
					return got, err
				}
			}
		},
	}
}

func down(n int) int {
	if n < 0 {
		return 0
	}
	return down(n+1) + 1
}

// escape tries what a worker must not be able to do, and answers with what worked.
func escape(_ *Host, m Message) (Message, error) {
	var worked []string
	try := func(what string, err error) {
		if err == nil {
			worked = append(worked, what)
		}
	}
	_, err := os.ReadFile("/proc/self/environ")
	try("reading a file", err)
	_, err = os.ReadFile(fmt.Sprintf("/proc/%d/environ", os.Getppid()))
	try("reading its host's environment", err)
	try("writing a file", os.WriteFile(filepath.Join(os.TempDir(), "escaped"), nil, 0o600))
	_, err = net.Dial("tcp", string(m.Blobs[0]))
	try("a connection", err)
	_, err = net.Listen("tcp", "127.0.0.1:0")
	try("listening", err)
	try("a program", exec.Command("/bin/true").Run())
	host, err := os.FindProcess(os.Getppid())
	if err == nil {
		err = host.Signal(syscall.Signal(0))
	}
	try("a signal to its host", err)
	escapeMemory(try)
	if slices.ContainsFunc(os.Environ(), func(v string) bool { return !strings.HasPrefix(v, "GO") }) || len(os.Environ()) > 4 {
		worked = append(worked, "an environment: "+strings.Join(os.Environ(), " "))
	}
	return NewMessage(worked)
}

type ends struct {
	mu   sync.Mutex
	seen map[Reason]int
	last string
}

func (e *ends) add(x Ended) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.seen == nil {
		e.seen = map[Reason]int{}
	}
	e.seen[x.Reason]++
	if x.Reason != ReasonUsed {
		e.last = x.Output
	}
}

func (e *ends) count(reason Reason) int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.seen[reason]
}

func open(t *testing.T, cfg Config) (*Pool, *ends) {
	t.Helper()
	e := &ends{}
	cfg.Args, cfg.Ended = []string{"test-worker"}, e.add
	p, err := Open(t.Context(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	return p, e
}

// neighbour keeps asking while a test goes on, and demands right answers.
func neighbour(t *testing.T, p *Pool) {
	t.Helper()
	stop := make(chan struct{})
	var done sync.WaitGroup
	answers := 0
	first := make(chan struct{})
	done.Go(func() {
		defer sync.OnceFunc(func() {
			if answers == 0 {
				close(first)
			}
		})()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			want := fmt.Sprint("answer ", i)
			m, err := p.Do(context.Background(), Job{Kind: "echo", Message: Message{Blobs: [][]byte{[]byte(want)}}})
			if err != nil || string(m.Blobs[0]) != want {
				t.Errorf("a neighbour gets %q, %v", m.Blobs, err)
				return
			}
			if answers++; answers == 1 {
				close(first)
			}
		}
	})
	<-first
	t.Cleanup(func() {
		close(stop)
		done.Wait()
		if answers == 0 {
			t.Error("the neighbour was never answered")
		}
	})
}

func TestEcho(t *testing.T) {
	p, e := open(t, Config{Workers: 2, Jobs: 5})
	for i := range 12 {
		m, err := p.Do(t.Context(), Job{
			Kind: "echo", Cost: anySize,
			Message: Message{Head: []byte(`{"a":1}`), Blobs: [][]byte{nil, []byte("b"), make([]byte, 5<<20)}},
		})
		if err != nil || string(m.Head) != `{"a":1}` || len(m.Blobs) != 3 || string(m.Blobs[1]) != "b" || len(m.Blobs[2]) != 5<<20 {
			t.Fatal(i, err)
		}
	}
	if s := p.Stats(); s.Busy != 0 || s.Started < 3 {
		t.Errorf("%+v", s)
	}
	if e.count(ReasonUsed) < 2 {
		t.Error("a worker was used for more than 5 jobs")
	}
}

// TestAsk: errors of the host come back as they are, in the words of the worker.
func TestAsk(t *testing.T) {
	p, _ := open(t, Config{})
	doing := ""
	job := Job{Kind: "ask", What: "beginning", Message: Message{Head: []byte("1")}, Doing: func(what string) { doing = what }}
	job.Answer = func(_ context.Context, q Question, m Message) (Message, error) {
		return Message{Head: append(m.Head, '2'), Blobs: [][]byte{[]byte(q)}}, nil
	}
	if m, err := p.Do(t.Context(), job); err != nil || string(m.Head) != "12" || string(m.Blobs[0]) != "thing" || doing != "asking" {
		t.Error(m, err, doing)
	}
	job.Answer = func(context.Context, Question, Message) (Message, error) {
		return Message{}, errors.Join(errors.New("first"), errWanted)
	}
	_, err := p.Do(t.Context(), job)
	if !errors.Is(err, errWanted) || err.Error() != "wrapped: first\nthe other side says no" {
		t.Error(err)
	}
	job.Answer = func(context.Context, Question, Message) (Message, error) { panic("in the host") }
	if _, err := p.Do(t.Context(), job); !errors.As(err, new(*flight.PanicError)) {
		t.Error(err)
	}
	if _, err := p.Do(t.Context(), Job{Kind: "fail"}); err == nil || err.Error() != "one\ntwo" {
		t.Error(err)
	}
	if _, err := p.Do(t.Context(), Job{Kind: "nothing"}); err == nil || err.Error() != `there is no job "nothing"` {
		t.Error(err)
	}
}

// TestHostile: whatever a job does, it gets an error that says what, and the neighbour gets right answers.
func TestHostile(t *testing.T) {
	hostile.Unraced(t)
	p, e := open(t, Config{Workers: 3, Memory: 64 << 20})
	neighbour(t, p)
	answer := func(context.Context, Question, Message) (Message, error) { return Message{}, nil }
	for _, tt := range []struct {
		kind   Kind
		reason Reason
		want   string
	}{
		{"panic", ReasonCrash, "panic: at once"},
		{"elsewhere", ReasonCrash, "the worker that was testing was stopped: it crashed"},
		{"exit", ReasonCrash, "the worker that was testing was stopped: it crashed"},
		{"stack", ReasonStack, "the worker that was going down was stopped: it recurses without end"},
		{"memory", ReasonMemory, "the worker that was taking memory was stopped: it needs more memory than a request may have (64 MiB, --worker-memory)"},
		{"garbage", ReasonProtocol, "the worker that was testing was stopped: it sent an answer that is not valid"},
		{"announce", ReasonProtocol, "the worker that was testing was stopped: it sent an answer that is not valid"},
		{"unknown", ReasonProtocol, "the worker that was testing was stopped: it sent an answer that is not valid"},
		{"endless", ReasonProtocol, "the worker that was testing was stopped: it sent an answer that is not valid"},
		{"flood", ReasonProtocol, "the worker that was flooding was stopped: it sent an answer that is not valid"},
		{"smuggle", ReasonProtocol, "the worker that was testing was stopped: it sent an answer that is not valid"},
		{"title", ReasonProtocol, "the worker that was testing was stopped: it sent an answer that is not valid"},
	} {
		t.Run(string(tt.kind), func(t *testing.T) {
			if (tt.reason == ReasonMemory || tt.reason == ReasonStack) && !p.Confinement().Memory {
				t.Skip(p.Confinement().Missing)
			}
			before := e.count(tt.reason)
			_, err := p.Do(t.Context(), Job{Kind: tt.kind, What: "testing", Answer: answer})
			if err == nil || err.Error() != tt.want {
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if e.count(tt.reason) == before {
				t.Errorf("no worker has ended for %s: %v %.300s", tt.reason, e.seen, e.last)
			}
		})
	}
}

// TestLargeHost: the memory of the host is not that of a worker, though the system says so.
func TestLargeHost(t *testing.T) {
	hostile.Unraced(t)
	large := make([]byte, 128<<20)
	for i := range large {
		large[i] = 1
	}
	for range 20 { // the host grows from time to time only
		p, _ := open(t, Config{Workers: 1, Memory: 64 << 20})
		_, err := p.Do(t.Context(), Job{Kind: "exit", What: "testing"})
		if err == nil || err.Error() != "the worker that was testing was stopped: it crashed" {
			t.Error(err)
		}
	}
	runtime.KeepAlive(large)
}

// TestCancelled: a job that does not end is killed with its request.
func TestCancelled(t *testing.T) {
	p, e := open(t, Config{Workers: 2})
	neighbour(t, p)
	ctx, cancel := context.WithCancelCause(t.Context())
	_, err := p.Do(ctx, Job{Kind: "loop", Doing: func(string) { cancel(errWanted) }})
	if !errors.Is(err, errWanted) || e.count(ReasonCancelled) != 1 {
		t.Error(err, e.seen)
	}
	// Neither does it wait for a worker.
	if _, err := p.Do(ctx, Job{Kind: "echo"}); !errors.Is(err, errWanted) {
		t.Error(err)
	}
}

// pidOf is the process of the only worker of a pool.
func pidOf(t *testing.T, p *Pool) (pid int) {
	t.Helper()
	m, err := p.Do(t.Context(), Job{Kind: "pid"})
	if err := errors.Join(err, m.Decode(&pid)); err != nil {
		t.Fatal(err)
	}
	return pid
}

// TestKilled: if somebody else kills a worker, whether it waits or works, another one does the job; but not for ever.
func TestKilled(t *testing.T) {
	p, e := open(t, Config{})
	kill := func(pid int) {
		t.Helper()
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	kill(pidOf(t, p))
	pidOf(t, p)
	asked, deadly := 0, 1
	job := Job{Kind: "say", What: "asking", Answer: func(_ context.Context, _ Question, m Message) (Message, error) {
		var pid int
		if err := m.Decode(&pid); err != nil {
			return m, err
		}
		if asked++; asked <= deadly {
			kill(pid)
		}
		return Message{Head: []byte("1")}, nil
	}}
	if m, err := p.Do(t.Context(), job); err != nil || string(m.Head) != "1" || asked != 2 || e.count(ReasonKilled) == 0 {
		t.Errorf("%s, %v, asked %d times, %v", m.Head, err, asked, e.seen)
	}
	deadly = 100
	_, err := p.Do(t.Context(), job)
	if err == nil || err.Error() != "the worker that was asking was stopped: it was killed by the system, as when the container has no memory left" {
		t.Error(err)
	}
}

// TestConfinement: a worker reaches neither files nor the network nor other processes, where the system can see to that.
func TestConfinement(t *testing.T) {
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret")
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	p, _ := open(t, Config{})
	c := p.Confinement()
	if !c.Calls || !c.Memory {
		t.Skip(c.Missing)
	}
	m, err := p.Do(t.Context(), Job{Kind: "escape", Message: Message{Blobs: [][]byte{[]byte(l.Addr().String())}}})
	var worked []string
	if err := errors.Join(err, m.Decode(&worked)); err != nil || len(worked) > 0 {
		t.Error(worked, err)
	}
}

// anySize is the cost of an answer that is not decoded.
func anySize(Message) (int64, error) { return 0, nil }

// TestLarge: what a worker asks for never waits for the memory of answers, and an answer gets it when another request has ended.
func TestLarge(t *testing.T) {
	p, e := open(t, Config{Workers: 2, Large: 1 << 20})
	answered := 0
	many := Job{
		Kind: "many", LargeAsks: true, Message: Message{Blobs: [][]byte{make([]byte, MaxSmall-100)}},
		Answer: func(_ context.Context, _ Question, m Message) (Message, error) {
			answered++
			return Message{}, nil
		},
	}
	if _, err := p.Do(t.Context(), many); err != nil || answered != 20 {
		t.Error(answered, err)
	}
	large := Job{Kind: "echo", Message: Message{Blobs: [][]byte{make([]byte, 5<<20)}}, Cost: func(Message) (int64, error) {
		return 10 << 20, nil
	}}
	first, end := context.WithCancel(t.Context())
	if _, err := p.Do(first, large); err != nil {
		t.Fatal(err)
	}
	second := make(chan error, 1)
	go func() {
		_, err := p.Do(t.Context(), large)
		second <- err
	}()
	// It is at the end of the line when it waits, and its worker does not wait with it.
	for p.waiting() == 0 {
		runtime.Gosched()
	}
	if _, err := p.Do(t.Context(), Job{Kind: "echo"}); err != nil || p.Stats().Busy != 0 {
		t.Error(p.Stats(), err)
	}
	end()
	if err := <-second; err != nil {
		t.Error(err)
	}
	// One that says of its answer that it is small is not believed.
	large.Cost = nil
	if _, err := p.Do(t.Context(), large); err == nil || e.count(ReasonProtocol) != 1 {
		t.Error(err, e.seen)
	}
}

// TestOwners: one owner with large answers keeps others waiting neither with those that it has nor with those that it waits for.
func TestOwners(t *testing.T) {
	p, _ := open(t, Config{Workers: 2, Large: 32 << 20})
	job := func(owner string) Job {
		return Job{Kind: "echo", Owner: owner, Message: Message{Blobs: [][]byte{make([]byte, 20<<20)}}, Cost: func(Message) (int64, error) {
			return 100 << 20, nil
		}}
	}
	ctx, end := context.WithCancel(t.Context())
	if _, err := p.Do(ctx, job("bad")); err != nil {
		t.Fatal(err)
	}
	bad := make(chan error, 1)
	go func() {
		_, err := p.Do(ctx, job("bad"))
		bad <- err
	}()
	for p.waiting() == 0 {
		runtime.Gosched()
	}
	good, done := context.WithCancel(t.Context())
	for _, owner := range []string{"good", "other"} {
		if _, err := p.Do(good, job(owner)); err != nil {
			t.Error(err)
		}
		done()
		good, done = context.WithCancel(t.Context())
	}
	done()
	end()
	if err := <-bad; err == nil {
		t.Error("one owner had everything")
	}
}

// TestLargest: no answer takes more memory than its worker had.
func TestLargest(t *testing.T) {
	p, _ := open(t, Config{Memory: 64 << 20})
	var large *LargeError
	_, err := p.Do(t.Context(), Job{Kind: "echo", Cost: func(Message) (int64, error) { return 64<<20 + 1, nil }})
	if !errors.As(err, &large) || large.Error() != "the answer takes 64 MiB of memory, and the limit is 64 MiB, --worker-memory" {
		t.Error(err)
	}
	_, err = p.Do(t.Context(), Job{Kind: "announce", Message: Message{Head: []byte(fmt.Sprint(100 << 20))}, Cost: anySize})
	if !errors.As(err, &large) || large.Bytes != 100<<20 {
		t.Error(err)
	}
}

// TestQuestion: a question that is too large is an error of its author, and nobody is killed.
func TestQuestion(t *testing.T) {
	p, e := open(t, Config{})
	_, err := p.Do(t.Context(), Job{Kind: "ask", Message: Message{Head: make([]byte, maxAsk)}})
	if err == nil || err.Error() != "wrapped: what is asked for has 64 KiB in 0 parts, and a worker's limit is 64 KiB" ||
		e.count(ReasonProtocol) > 0 {
		t.Error(err, e.seen)
	}
}

// TestRefused: what a worker is refused is kept within limits, however often it asks.
func TestRefused(t *testing.T) {
	for name, text := range map[string]string{"short": "no", "long": strings.Repeat("no ", 20_000)} {
		t.Run(name, func(t *testing.T) {
			p, _ := open(t, Config{})
			kept := 0
			_, err := p.Do(t.Context(), Job{Kind: "insist", Answer: func(context.Context, Question, Message) (Message, error) {
				kept++
				return Message{}, errors.New(text)
			}})
			if !errors.Is(err, errRefused) || kept > maxProblems+1 || kept*len(text) > maxProblemTexts+len(text) {
				t.Errorf("%d problems, %v", kept, err)
			}
		})
	}
}

// TestDecodeFailure: what is wrong with an error of a worker is seen before there is memory for it.
func TestDecodeFailure(t *testing.T) {
	for name, status := range map[string]string{
		"problems": `{"problems":[` + strings.Repeat("{},", 690_000) + `{}]}`,
		"asks":     `{"problems":[{"asks":[` + strings.Repeat("0,", 1_000_000) + `0]}]}`,
		"text":     `{"problems":[{"text":"` + strings.Repeat("x", maxFailedTexts) + `"},{"text":"x"}]}`,
		"panic":    `{"panic":"` + strings.Repeat("x", 1<<20) + `"}`,
		"stack":    `{"panic":"x","stack":"` + strings.Repeat("x", 1<<20) + `"}`,
	} {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		_, err := parseFailure(status)
		runtime.ReadMemStats(&after)
		if used := after.TotalAlloc - before.TotalAlloc; err == nil || used > 8<<20 {
			t.Errorf("%s: %d MiB, %v", name, used>>20, err)
		}
	}
}

// TestTitle: the name of a frame is not longer than an error may be. That is seen at its beginning.
func TestTitle(t *testing.T) {
	for length, want := range map[int]error{maxStatus: nil, maxStatus + 1: errProtocol} {
		body := frame(t, frameResult, strings.Repeat("x", length), Message{})[5:]
		if _, _, err := parseBody(body); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v, want %v", length, err, want)
		}
		if _, _, err := readBody(bufio.NewReader(bytes.NewReader(body)), len(body)); !errors.Is(err, want) {
			t.Errorf("%d bytes: %v, want %v", length, err, want)
		}
	}
	if _, _, err := readBody(bufio.NewReader(strings.NewReader("\xff\xff\xff\xff")), maxResult); !errors.Is(err, errProtocol) {
		t.Error(err)
	}
}

// waiting is how many answers wait until they can be decoded.
func (p *Pool) waiting() int {
	p.decoded.mu.Lock()
	defer p.decoded.mu.Unlock()
	return len(p.decoded.waiting)
}

// TestTooMuch: an answer that the host would not read is an error, and nobody is killed.
func TestTooMuch(t *testing.T) {
	p, e := open(t, Config{Memory: 512 << 20})
	_, err := p.Do(t.Context(), Job{Kind: "large"})
	if err == nil || err.Error() != "the answer has 128 MiB in 1 parts, and a worker's limit is 127 MiB" || e.count(ReasonProtocol) > 0 {
		t.Error(err)
	}
}

// TestStart: a program that is no worker is an error, and not a pool without workers.
func TestStart(t *testing.T) {
	for _, path := range []string{"/nowhere/worker", "/bin/true"} {
		if _, err := Open(t.Context(), Config{Path: path, Args: []string{"x"}}); err == nil ||
			!strings.HasPrefix(err.Error(), "starting a worker: ") {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// TestClose: nothing is left, and jobs are refused.
func TestClose(t *testing.T) {
	e := &ends{}
	p, err := Open(t.Context(), Config{Args: []string{"test-worker"}, Workers: 3, Ended: e.add})
	if err != nil {
		t.Fatal(err)
	}
	p.Close()
	if s := p.Stats(); s.Idle != 0 || s.Busy != 0 || int64(e.count(ReasonClosed)) != s.Started {
		t.Errorf("%+v %v", s, e.seen)
	}
}

// TestBudget: large answers wait for each other, and who leaves the queue lets the next one in.
func TestBudget(t *testing.T) {
	b := newBudget(10)
	all, err := b.acquire(t.Context(), "", 100)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.acquire(ctx, "a", 1); err == nil {
		t.Error("there was nothing left")
	}
	all()
	all()
	for range 2 {
		if _, err := b.acquire(t.Context(), "", 5); err != nil {
			t.Error(err)
		}
	}
	if b.free != 0 || len(b.waiting) != 0 {
		t.Error(b.free, b.waiting)
	}
}

// TestShares: an owner that wants everything, again and again, does not keep others waiting, and of those that wait each gets its turn.
func TestShares(t *testing.T) {
	b := newBudget(10)
	served := make(chan string, 10)
	claimed := func(owner string, bytes int64) (release func()) {
		before := b.count()
		done := make(chan func(), 1)
		go func() {
			release, err := b.acquire(t.Context(), owner, bytes)
			if err != nil {
				t.Error(err)
			}
			served <- owner
			done <- release
		}()
		for b.count() == before {
			runtime.Gosched()
		}
		return func() { (<-done)() }
	}
	next := func(want string) {
		t.Helper()
		if got := <-served; got != want {
			t.Errorf("%s is served, want %s", got, want)
		}
	}
	first := claimed("bad", 100)
	next("bad")
	second, third := claimed("bad", 100), claimed("bad", 100)
	good := claimed("good", 100)
	next("good")
	other := claimed("other", 100)
	first()
	next("bad")
	second()
	next("other") // though it came after the third of bad
	good()
	next("bad")
	third()
	other()
	if b.free != 10 || len(b.held) != 0 || len(b.waiting) != 0 {
		t.Error(b.free, b.held, b.waiting)
	}
}

// count is how many claims wait, and how many owners have something.
func (b *budget) count() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return len(b.waiting) + len(b.held)
}

func BenchmarkEcho(b *testing.B) {
	p, err := Open(b.Context(), Config{Args: []string{"test-worker"}})
	if err != nil {
		b.Fatal(err)
	}
	defer p.Close()
	job := Job{Kind: "echo", Message: Message{Head: []byte(`{"a":1}`), Blobs: [][]byte{make([]byte, 10_000)}}}
	for b.Loop() {
		if _, err := p.Do(b.Context(), job); err != nil {
			b.Fatal(err)
		}
	}
}
