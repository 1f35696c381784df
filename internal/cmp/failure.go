package cmp

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/words"
)

// coded is an error with a code of gRPC.
type coded struct {
	code codes.Code
	err  error
}

func (c *coded) Error() string { return c.err.Error() }
func (c *coded) Unwrap() error { return c.err }

// Limits of a message, which is shown in Argo CD's user interface.
const (
	maxProblems = 8
	maxMessage  = 4000
)

// failure is an error as Argo CD's users see it: one line, the first problem first.
func failure(err error) (codes.Code, error) {
	if err == nil {
		return codes.OK, nil
	}
	code := codes.Unknown
	var c *coded
	var p *flight.PanicError
	switch {
	case errors.As(err, &c):
		code = c.code
	case errors.As(err, &p):
		code = codes.Internal
		err = fmt.Errorf("this is a bug in argosy, please report it: %w", p)
	case errors.Is(err, context.Canceled), errors.Is(err, errGone):
		code = codes.Canceled
	case errors.Is(err, context.DeadlineExceeded):
		code = codes.DeadlineExceeded
	}
	return code, status.Error(code, Message(err))
}

// Message is an error on one line of bounded length.
func Message(err error) string {
	var parts []string
	all := problem.All(err)
	for i, e := range all {
		if i == maxProblems {
			parts = append(parts, fmt.Sprintf("and %d more problems", len(all)-i))
			break
		}
		parts = append(parts, words.Shorten(e.Error(), maxMessage))
	}
	return words.Shorten(strings.Map(func(r rune) rune {
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, strings.Join(parts, "; ")), maxMessage)
}

// maxAnswer is the size of an answer that Argo CD accepts by default.
const maxAnswer = 100 << 20

// encode returns objects as Argo CD reads them fastest.
func encode(objects []manifest.Object) ([]string, error) {
	out := make([]string, 0, len(objects))
	total := 0
	var b bytes.Buffer
	for _, o := range objects {
		b.Reset()
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(o); err != nil {
			return nil, fmt.Errorf("encoding %s %q: %w", manifest.String(o, "kind"), manifest.String(o, "metadata", "name"), err)
		}
		text := strings.TrimSuffix(b.String(), "\n")
		if total += len(text); total > maxAnswer-1<<20 {
			return nil, &coded{codes.ResourceExhausted, fmt.Errorf("the answer is over %d MiB, which is more than Argo CD takes",
				maxAnswer>>20)}
		}
		out = append(out, text)
	}
	return out, nil
}
