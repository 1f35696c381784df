package worker

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/problem"
)

// Job is what a worker does.
type Job struct {
	// Kind is the name of its Handler.
	Kind string
	Message
	// Answer answers what the worker asks for. It does not trust what it is asked. Nil is for jobs that ask for nothing.
	Answer func(ctx context.Context, kind string, m Message) (Message, error)
	// Doing is told what the worker is about to do. Nil is nobody.
	Doing func(string)
	// What is what the job does, for messages, such as "rendering a chart".
	What string
}

// Limits of one job.
const (
	maxAsks = 200_000
	// maxAnswers bounds the bytes of all answers to a worker.
	maxAnswers = 16 << 30
	// largeFrame is where the bytes of an answer begin to count for all jobs together.
	largeFrame = 1 << 20
)

// Do has a worker do a job, and returns its answer. A large answer counts against Config.Large until ctx ends. If somebody else kills the worker, such as
// the kernel in search of memory, another one does the job once more.
func (p *Pool) Do(ctx context.Context, j Job) (Message, error) {
	m, reason, err := p.try(ctx, j)
	if reason == ReasonKilled {
		m, _, err = p.try(ctx, j)
	}
	return m, err
}

// try has one worker do a job. The reason says why that worker was not kept, "" if it was.
func (p *Pool) try(ctx context.Context, j Job) (m Message, reason string, err error) {
	select {
	case p.slots <- struct{}{}:
	case <-ctx.Done():
		return Message{}, "", context.Cause(ctx)
	}
	w, err := p.take(ctx)
	if err != nil {
		<-p.slots
		return Message{}, "", err
	}
	p.busy.Add(1)
	w.jobs++
	w.doing = j.What
	stop := w.watch(p.cfg.Long)
	m, reason, err = p.converse(ctx, w, j)
	if lowered := stop(); lowered && reason == "" {
		reason = ReasonUsed
	}
	p.busy.Add(-1)
	worn := reason == "" && w.jobs >= p.cfg.Jobs
	if reason == "" && !worn {
		p.keep(w)
		<-p.slots
		return m, "", err
	}
	if worn {
		// It is nobody's fault: a new one is there when the next job comes, and the slot is free then.
		p.end(w, ReasonUsed, j.Kind)
		go p.refill()
		return m, ReasonUsed, err
	}
	p.end(w, reason, j.Kind)
	// Whoever uses up a worker waits for the new one: the next job must not.
	p.refill()
	return m, reason, err
}

// converse talks with a worker until it has answered. The reason says why it must not be used again, "" if it may.
func (p *Pool) converse(ctx context.Context, w *process, j Job) (m Message, reason string, err error) {
	stop := context.AfterFunc(ctx, w.kill)
	defer stop()
	t := &talk{pool: p, ctx: ctx, process: w, job: j}
	status, m, err := t.run()
	var f failed
	if err == nil && json.Unmarshal([]byte(status), &f) != nil {
		err = errProtocol
	}
	if err == nil {
		err := f.decode(t.problems)
		switch {
		case !stop():
			return Message{}, ReasonCancelled, context.Cause(ctx)
		case errors.As(err, new(*flight.PanicError)):
			return Message{}, ReasonCrash, err
		case f.Tired:
			return m, ReasonUsed, err
		}
		return m, "", err
	}
	// It is the cause only if it was there before the worker had ended.
	if ctx.Err() != nil {
		return Message{}, ReasonCancelled, context.Cause(ctx)
	}
	var own *ownError
	switch {
	case errors.As(err, &own):
		return Message{}, ReasonUsed, own.error
	case errors.Is(err, errProtocol):
		reason = ReasonProtocol
	default:
		w.wait()
		reason = w.reason(p.cfg.Memory)
	}
	killed := &KilledError{Reason: reason, Doing: w.doing}
	if reason == ReasonMemory {
		killed.Limit = fmt.Sprintf("%d MiB, --worker-memory", p.cfg.Memory>>20)
	}
	return Message{}, reason, killed
}

// ownError is one of the host itself.
type ownError struct{ error }

// talk is one job's.
type talk struct {
	pool     *Pool
	ctx      context.Context
	process  *process
	job      Job
	asks     int
	sent     int64
	problems []error // that were answers
}

func (t *talk) run() (status string, m Message, err error) {
	if err := checkSize("the request", t.job.Kind, t.job.Message, maxSent); err != nil {
		return "", Message{}, &ownError{err}
	}
	if err := writeFrame(t.process.out, frameJob, t.job.Kind, t.job.Message); err != nil {
		return "", Message{}, err
	}
	for {
		kind, name, m, err := t.receive(t.process.in)
		if err != nil {
			return "", Message{}, err
		}
		switch kind {
		case frameResult:
			return name, m, nil
		case frameDoing:
			t.process.doing = printable(name)
			if t.job.Doing != nil {
				t.job.Doing(t.process.doing)
			}
		case frameAsk:
			if err := t.answer(name, m); err != nil {
				return "", Message{}, err
			}
		default:
			return "", Message{}, errProtocol
		}
	}
}

// receive reads a frame of a worker, within the limits of its kind.
func (t *talk) receive(r *bufio.Reader) (kind byte, name string, m Message, err error) {
	kind, size, err := readHead(r)
	if err != nil {
		return 0, "", Message{}, err
	}
	if size > frameLimit(kind) {
		return 0, "", Message{}, errProtocol
	}
	if size > largeFrame {
		release, err := t.pool.large.acquire(t.ctx, int64(size))
		if err != nil {
			return 0, "", Message{}, &ownError{err}
		}
		context.AfterFunc(t.ctx, release)
	}
	name, m, err = readBody(r, size)
	return kind, name, m, err
}

// answer answers what a worker asks for.
func (t *talk) answer(kind string, m Message) error {
	if t.asks++; t.asks > maxAsks || t.job.Answer == nil {
		return errProtocol
	}
	got, err := flight.Safely(func() (Message, error) { return t.job.Answer(t.ctx, kind, m) })
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	if err == nil {
		err = checkSize("the answer to "+kind, "", got, maxSent)
	}
	status := ""
	if err != nil {
		f := encodeFailure(err)
		if f.Panic != "" {
			return &ownError{err}
		}
		t.problems = append(t.problems, problem.All(err)[:len(f.Problems)]...)
		text, jsonErr := json.Marshal(f)
		if jsonErr != nil {
			return &ownError{jsonErr}
		}
		status, got = string(text), Message{}
	}
	if t.sent += int64(frameSize(status, got)); t.sent > maxAnswers {
		return errProtocol
	}
	return writeFrame(t.process.out, frameAnswer, status, got)
}

// printable is a text of a worker for messages.
func printable(text string) string {
	return strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
}
