package worker

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"strings"

	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/words"
)

// Reason is why a worker is replaced. The metric of the sidecar and the log have it as it is.
type Reason string

// Reasons. "" is none: the worker is kept.
const (
	ReasonMemory    Reason = "memory"    // it wanted more than it may have
	ReasonStack     Reason = "stack"     // something recurses without end
	ReasonCPU       Reason = "cpu"       // it computed for longer than it may
	ReasonCrash     Reason = "crash"     // it ended in another way, or had a panic
	ReasonKilled    Reason = "killed"    // another process or the kernel, out of memory, has killed it
	ReasonProtocol  Reason = "protocol"  // it sent something that it must not send
	ReasonCancelled Reason = "cancelled" // its job was cancelled
	ReasonUsed      Reason = "used"      // it has worked enough
	ReasonIdle      Reason = "idle"      // there are more than are kept
	ReasonClosed    Reason = "closed"    // the pool is
)

// KilledError says that a worker ended before it had answered.
type KilledError struct {
	Reason Reason
	Doing  string // the last step of the job
	Limit  string // the limit that it reached; "" is none
}

func (e *KilledError) Error() string {
	what := map[Reason]string{
		ReasonMemory: "needs more memory than a request may have", ReasonStack: "recurses without end",
		ReasonCPU:   "computes for longer than a request may",
		ReasonCrash: "crashed", ReasonKilled: "was killed by the system, as when the container has no memory left",
		ReasonProtocol: "sent an answer that is not valid",
	}[e.Reason]
	text := "the worker that was " + e.Doing + " was stopped: it " + what
	if e.Limit != "" {
		text += " (" + e.Limit + ")"
	}
	return text
}

// LargeError says that an answer takes more memory than a worker has.
type LargeError struct{ Bytes, Limit int64 }

func (e *LargeError) Error() string {
	return fmt.Sprintf("the answer takes %d MiB of memory, and the limit is %d MiB, --worker-memory", e.Bytes>>20, e.Limit>>20)
}

// failed is an error on its way from a worker.
type failed struct {
	Problems bounded[failedProblem] `json:"problems,omitempty"`
	Panic    string                 `json:"panic,omitempty"`
	Stack    string                 `json:"stack,omitempty"`
	// Tired says that the worker should not work any more.
	Tired bool `json:"tired,omitempty"`
}

// failedProblem is one problem of an error, and the problems that the host has answered with and that it comes from, from 1.
type failedProblem struct {
	Text string       `json:"text"`
	Asks bounded[int] `json:"asks,omitempty"`
}

// bounded is a list of at most maxFailedProblems.
type bounded[T any] []T

// UnmarshalJSON implements json.Unmarshaler.
func (b *bounded[T]) UnmarshalJSON(data []byte) (err error) {
	*b, err = DecodeList[T](data, maxFailedProblems)
	return err
}

// askError is, in a worker, a problem that the other side has answered with.
type askError struct {
	text string
	id   int
}

func (e *askError) Error() string { return e.text }

// Asked reports whether an error in a worker comes from the host's answer to a question.
func Asked(err error) bool { return errors.As(err, new(*askError)) }

// Limits of an error.
const (
	maxFailedProblems = 1000
	maxFailedText     = 32 << 10
	// maxFailedTexts bounds all texts together, with the sources of the errors. As JSON they are at most six times as long.
	maxFailedTexts = maxStatus / 8
)

// encodeFailure makes an error ready to be sent.
func encodeFailure(err error) failed {
	var out failed
	var p *flight.PanicError
	if errors.As(err, &p) {
		// "" would be none.
		out.Panic, out.Stack = cmp.Or(shorten(fmt.Sprint(p.Value)), "without a word"), shorten(string(p.Stack))
		return out
	}
	length := 0
	for i, e := range problem.All(err) {
		p := failedProblem{Text: shorten(e.Error()), Asks: asks(e)}
		p.Asks = p.Asks[:min(len(p.Asks), maxFailedProblems)]
		if length += p.length(); i == maxFailedProblems || length > maxFailedTexts {
			break
		}
		out.Problems = append(out.Problems, p)
	}
	return out
}

func (p failedProblem) length() int { return len(p.Text) + len(p.Asks) }

// asks are the problems of the host in an error.
func asks(err error) []int {
	var own *askError
	switch e := err.(type) { //nolint:errorlint // it goes down step by step
	case *askError:
		return []int{e.id}
	case interface{ Unwrap() []error }:
		var out []int
		for _, each := range e.Unwrap() {
			out = append(out, asks(each)...)
		}
		return out
	}
	if errors.As(err, &own) {
		return asks(errors.Unwrap(err))
	}
	return nil
}

// shorten bounds a text, and replaces invalid UTF-8, which JSON would change.
func shorten(text string) string {
	return words.Shorten(strings.ToValidUTF8(text, "\ufffd"), maxFailedText)
}

// remoteError is an error in a worker. If it comes from the host's answers, it wraps their errors.
type remoteError struct {
	text   string
	causes []error
}

func (e *remoteError) Error() string { return e.text }

// Is implements errors.Is. There is no Unwrap: the causes are not a list of problems.
func (e *remoteError) Is(target error) bool { return errors.Is(errors.Join(e.causes...), target) }

// As implements errors.As.
func (e *remoteError) As(target any) bool { return errors.As(errors.Join(e.causes...), target) }

// parseFailure reads an error.
func parseFailure(status string) (f failed, err error) {
	if len(status) > maxStatus || json.Unmarshal([]byte(status), &f) != nil {
		return failed{}, errProtocol
	}
	length := 0
	for _, p := range f.Problems {
		length += p.length()
	}
	if length > maxFailedTexts || len(f.Panic) > 2*maxFailedText || len(f.Stack) > 2*maxFailedText {
		return failed{}, errProtocol
	}
	return f, nil
}

// decode returns the error of a worker, nil if there is none.
func (f failed) decode(answers []error) error {
	if f.Panic != "" {
		return &flight.PanicError{Value: f.Panic, Stack: []byte(f.Stack)}
	}
	var errs []error
	for _, p := range f.Problems {
		e := &remoteError{text: p.Text}
		for _, id := range p.Asks {
			if id > 0 && id <= len(answers) && len(e.causes) < maxFailedProblems {
				e.causes = append(e.causes, answers[id-1])
			}
		}
		errs = append(errs, e)
	}
	if len(errs) == 1 {
		return errs[0]
	}
	return errors.Join(errs...)
}
