package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"

	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/problem"
)

// Kind is what a job does: the name of its Handler.
type Kind string

// Question is what a worker asks its host for in the middle of a job. The host gets it from the worker: it can be anything.
type Question string

// Job is a job for a worker.
type Job struct {
	Kind Kind
	Message
	// Answer answers the worker's questions. It must not trust them. Nil is for jobs without questions.
	Answer func(ctx context.Context, q Question, m Message) (Message, error)
	// Doing is called with each step that the worker begins. Nil is not called.
	Doing func(string)
	// What describes the job in messages, such as "rendering a chart".
	What string
	// Cost is how much memory the decoded answer takes, in bytes; an error means that it is not valid. Nil is for jobs whose answer has at
	// most MaxSmall bytes.
	Cost func(Message) (int64, error)
	// LargeAsks lets the worker ask with up to MaxSmall bytes (Host.AskLarge). Other questions have at most 64 KiB.
	LargeAsks bool
	// Owner shares out memory, such as by project: the answers of one owner take at most half of Config.Large. "" has no such limit.
	Owner string
	// Time bounds how long the worker takes, without the time that Answer takes. Zero is no limit but that of the context.
	Time time.Duration

	sent *sent
}

// Limits of one job.
const (
	// maxAsks bounds the questions and the steps that a worker sends, and maxAsked their bytes.
	maxAsks  = 200_000
	maxAsked = 1 << 30
	// maxProblems bounds the answers to a worker that are errors, and maxProblemTexts their bytes. They are kept until the job ends.
	maxProblems     = 10_000
	maxProblemTexts = 1 << 20
	// maxAnswers bounds the bytes of all answers to a worker.
	maxAnswers = 16 << 30
)

// Do runs a job in a worker, and returns its answer. A large answer counts against Config.Large until ctx ends: one context may have only
// one large answer. If another process or the kernel kills the worker, another worker retries the job once.
func (p *Pool) Do(ctx context.Context, j Job) (Message, error) {
	j.sent = &sent{}
	defer j.sent.free()
	m, reason, err := p.try(ctx, j)
	if reason == ReasonKilled {
		j.sent.free()
		m, _, err = p.try(ctx, j)
	}
	if err == nil {
		err = p.claim(ctx, j, m)
	}
	if err != nil {
		return Message{}, err
	}
	return m, nil
}

// sent is the memory of an answer as sent. It is released once there is memory for the decoded one.
type sent struct{ release func() }

func (s *sent) free() {
	if s.release != nil {
		s.release()
		s.release = nil
	}
}

// claim waits until there is memory for a decoded answer. Decoded answers have their own budget, so that they never wait for answers being
// read, which may wait for them.
func (p *Pool) claim(ctx context.Context, j Job, m Message) error {
	if j.Cost == nil {
		return nil
	}
	cost, err := j.Cost(m)
	if err != nil || cost <= MaxSmall {
		return err
	}
	if cost > p.cfg.Memory {
		return &LargeError{cost, p.cfg.Memory}
	}
	release, err := p.decoded.acquire(ctx, j.Owner, cost)
	if err == nil {
		context.AfterFunc(ctx, release)
	}
	return err
}

// try has one worker do a job. The reason says why that worker was not kept, "" if it was.
func (p *Pool) try(ctx context.Context, j Job) (m Message, reason Reason, err error) {
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
		// The job is not to blame, so it does not wait: the new worker starts in the background and then frees the slot.
		p.end(w, ReasonUsed, j.Kind)
		go p.refill()
		return m, ReasonUsed, err
	}
	p.end(w, reason, j.Kind)
	// The job that used up the worker waits for the new one, so that the next job need not.
	p.refill()
	return m, reason, err
}

// converse talks with a worker until it has answered. The reason says why it must not be used again, "" if it may.
func (p *Pool) converse(ctx context.Context, w *process, j Job) (m Message, reason Reason, err error) {
	stop := context.AfterFunc(ctx, w.kill)
	defer stop()
	t := &talk{pool: p, ctx: ctx, process: w, job: j, clock: newClock(j.Time, w.kill)}
	status, m, err := t.run()
	var f failed
	if err == nil {
		f, err = parseFailure(status)
	}
	t.clock.stop()
	if err == nil {
		err := f.decode(t.problems)
		switch {
		case !stop():
			return Message{}, ReasonCancelled, context.Cause(ctx)
		case errors.As(err, new(*flight.PanicError)):
			return Message{}, ReasonCrash, err
		case f.Tired, t.clock.over():
			return m, ReasonUsed, err
		}
		return m, "", err
	}
	// ctx is the cause only if it ended before the worker did, so check it now.
	if ctx.Err() != nil {
		return Message{}, ReasonCancelled, context.Cause(ctx)
	}
	var own *ownError
	switch {
	case errors.As(err, &own):
		return Message{}, ReasonUsed, own.error
	case t.clock.over():
		reason = ReasonCPU
	case errors.Is(err, errProtocol):
		reason = ReasonProtocol
	default:
		w.wait()
		reason = w.reason(p.limit())
	}
	killed := &KilledError{Reason: reason, Doing: w.doing}
	if t.clock.over() {
		killed.Limit = j.Time.String()
	} else if reason == ReasonMemory {
		killed.Limit = fmt.Sprintf("%d MiB, --worker-memory", p.cfg.Memory>>20)
	}
	return Message{}, reason, killed
}

// limit is the memory at which the system ends a worker.
func (p *Pool) limit() int64 {
	if p.Confinement().Memory {
		return p.cfg.Memory
	}
	return math.MaxInt64
}

// ownError is one of the host itself.
type ownError struct{ error }

// talk is one job's.
type talk struct {
	pool     *Pool
	ctx      context.Context
	process  *process
	job      Job
	clock    *clock
	frames   int   // that the worker has sent
	asked    int64 // bytes in them
	sent     int64
	problems []error // that were answers
	texts    int     // bytes of them
}

func (t *talk) run() (status string, m Message, err error) {
	if err := checkSize("the request", string(t.job.Kind), t.job.Message, maxSent); err != nil {
		return "", Message{}, &ownError{err}
	}
	if err := writeFrame(t.process.out, frameJob, string(t.job.Kind), t.job.Message); err != nil {
		return "", Message{}, err
	}
	for {
		kind, name, m, err := t.receive()
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
		case frameAsk, frameLarge:
			if err := t.answer(Question(name), m); err != nil {
				return "", Message{}, err
			}
		default:
			return "", Message{}, errProtocol
		}
	}
}

// receive reads a frame of a worker, within the limits of its kind.
func (t *talk) receive() (kind byte, name string, m Message, err error) {
	kind, size, err := readHead(t.process.in)
	if err != nil {
		return 0, "", Message{}, err
	}
	if size > frameLimit(kind) || size > MaxSmall && t.job.Cost == nil || kind == frameLarge && !t.job.LargeAsks {
		return 0, "", Message{}, errProtocol
	}
	if kind != frameResult {
		if t.frames, t.asked = t.frames+1, t.asked+int64(size); t.frames > maxAsks || t.asked > maxAsked {
			return 0, "", Message{}, errProtocol
		}
	}
	if size > MaxSmall {
		if int64(size) > t.pool.cfg.Memory {
			return 0, "", Message{}, &ownError{&LargeError{int64(size), t.pool.cfg.Memory}}
		}
		t.job.sent.free()
		if t.job.sent.release, err = t.pool.large.acquire(t.ctx, t.job.Owner, int64(size)); err != nil {
			return 0, "", Message{}, &ownError{err}
		}
	}
	name, m, err = readBody(t.process.in, size)
	return kind, name, m, err
}

// answer answers a question of a worker.
func (t *talk) answer(q Question, m Message) error {
	if len(q) > maxKind || t.job.Answer == nil {
		return errProtocol
	}
	t.clock.stop()
	got, err := flight.Safely(func() (Message, error) { return t.job.Answer(t.ctx, q, m) })
	t.clock.start()
	if t.ctx.Err() != nil {
		return context.Cause(t.ctx)
	}
	if err == nil {
		err = checkSize("the answer to "+string(q), "", got, maxSent)
	}
	status := ""
	if err != nil {
		f := encodeFailure(err)
		if f.Panic != "" {
			return &ownError{err}
		}
		if !t.keep(problem.All(err)[:len(f.Problems)]) {
			return &ownError{errRefused}
		}
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

// errRefused says that a worker asked in vain too often.
var errRefused = fmt.Errorf("the job asks for too many things that are missing or not allowed; the limits are %d problems and %s of text",
	maxProblems, bytesOf(maxProblemTexts))

// keep keeps problems that a worker was answered with, because its own may come from them. It reports whether there is room for them.
func (t *talk) keep(problems []error) bool {
	for _, p := range problems {
		t.texts += len(p.Error())
	}
	t.problems = append(t.problems, problems...)
	return len(t.problems) <= maxProblems && t.texts <= maxProblemTexts
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
