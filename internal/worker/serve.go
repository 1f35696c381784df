package worker

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/argosy-cd/argosy/internal/flight"
)

// Handler does one kind of job in a worker.
type Handler func(h *Host, m Message) (Message, error)

// Host is the worker's connection to its host. It is safe for concurrent use.
type Host struct {
	mu  sync.Mutex
	in  *bufio.Reader
	out *bufio.Writer
	// lost is why there is no talking to it any more.
	lost    error
	answers int // problems that it has answered with
}

// Ask asks the host for something and waits for the answer.
func (h *Host) Ask(q Question, m Message) (Message, error) { return h.question(frameAsk, q, m) }

// AskLarge is Ask for questions of up to MaxSmall bytes. The job must have LargeAsks.
func (h *Host) AskLarge(q Question, m Message) (Message, error) {
	return h.question(frameLarge, q, m)
}

func (h *Host) question(frame byte, q Question, m Message) (Message, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost != nil {
		return Message{}, h.lost
	}
	if err := checkSize("what is asked for", string(q), m, frameLimit(frame)); err != nil {
		return Message{}, err
	}
	status, answer, err := h.ask(frame, q, m)
	if err != nil {
		h.lost = err
		return Message{}, err
	}
	if status == "" {
		return answer, nil
	}
	f, err := parseFailure(status)
	if err != nil {
		h.lost = err
		return Message{}, err
	}
	var errs []error
	for _, p := range f.Problems {
		h.answers++
		errs = append(errs, &askError{p.Text, h.answers})
	}
	return Message{}, errors.Join(errs...)
}

func (h *Host) ask(frame byte, q Question, m Message) (status string, answer Message, err error) {
	if err := writeFrame(h.out, frame, string(q), m); err != nil {
		return "", Message{}, err
	}
	return h.read(frameAnswer)
}

func (h *Host) read(want byte) (string, Message, error) {
	kind, size, err := readHead(h.in)
	if err != nil {
		return "", Message{}, err
	}
	if kind != want || size > maxSent {
		return "", Message{}, errProtocol
	}
	return readBody(h.in, size)
}

// Doing tells the host the next step of the job.
func (h *Host) Doing(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost == nil {
		if err := writeFrame(h.out, frameDoing, what[:min(len(what), maxDoing-20)], Message{}); err != nil {
			h.lost = err
		}
	}
}

// Serve does jobs, one after the other, until its host closes in. hello is sent to the host first, and tired says whether it should
// get another worker for the next job.
func Serve(in io.Reader, out io.Writer, hello any, handlers map[Kind]Handler, tired func() bool) error {
	h := &Host{in: bufio.NewReaderSize(in, 64<<10), out: bufio.NewWriterSize(out, 64<<10)}
	greeting, err := NewMessage(hello)
	if err == nil {
		err = writeFrame(h.out, frameHello, "", greeting)
	}
	for err == nil {
		var name string
		var m Message
		if name, m, err = h.read(frameJob); err != nil {
			break
		}
		h.answers = 0
		err = h.do(handlers[Kind(name)], name, m, tired)
	}
	if errors.Is(err, io.EOF) {
		return nil
	}
	return err
}

func (h *Host) do(handler Handler, name string, m Message, tired func() bool) error {
	result, err := flight.Safely(func() (Message, error) {
		if handler == nil {
			return Message{}, fmt.Errorf("there is no job %q", name)
		}
		return handler(h, m)
	})
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lost != nil {
		return h.lost
	}
	if err == nil {
		err = checkSize("the answer", "", result, maxResult-1<<20)
	}
	var f failed
	if err != nil {
		f, result = encodeFailure(err), Message{}
	}
	f.Tired = tired()
	status, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return writeFrame(h.out, frameResult, string(status), result)
}
