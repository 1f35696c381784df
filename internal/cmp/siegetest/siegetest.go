// Package siegetest attacks the sidecar. It runs the real program with the memory of a deployed one, asks it as an honest project does, and
// sends it what a hostile project can send: requests that once ended the process, stalled it for all, or passed its guard.
//
// The promise that it holds the sidecar to: whatever a project sends, the process goes on, each request ends with an answer or an error of
// one line, and other projects get their own answers, byte by byte.
package siegetest

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"google.golang.org/grpc/status"

	"github.com/argosy-cd/argosy/internal/cmp/cmptest"
)

// Projects of the requests.
const (
	Good = "good"
	Evil = "evil"
)

// Request is a request of a project.
type Request struct {
	Name   string
	Plugin string // appset or s3
	Dir    string
	Files  map[string]string
	Packed []byte // instead of Files
	// Env is the environment of the request, besides the common one. NUMBER in it is the number of the request.
	Env map[string]string
	// Want are the answers.
	Want []string
	// Stop is after how many bytes it sends nothing more, and does not end. Zero is never.
	Stop int
}

// Send sends a request of a project and returns the answer. No two requests of different numbers are the same.
func (r Request) Send(ctx context.Context, sockets, project string, number int) ([]string, error) {
	env := map[string]string{
		"ARGOCD_APP_NAME": "web", "ARGOCD_APP_PROJECT_NAME": project, "ARGOCD_APP_SOURCE_TARGET_REVISION": "main",
		"ARGOCD_APP_REVISION": "0123456789012345678901234567890123456789",
		"KUBE_VERSION":        "1.34.0", "ARGOCD_ENV_NUMBER": fmt.Sprint(number),
	}
	for name, value := range r.Env {
		env[name] = strings.ReplaceAll(value, "NUMBER", fmt.Sprint(number))
	}
	req := cmptest.Request{Dir: r.Dir, Files: r.Files, Packed: r.Packed, Env: env}
	if r.Stop > 0 {
		req.Stop, req.Stopping = r.Stop, func() { <-ctx.Done() }
	}
	return cmptest.Generate(ctx, filepath.Join(sockets, r.Plugin+".sock"), req)
}

// Packs packs the files of a request once, for many.
func (r Request) Packs() Request {
	if r.Packed == nil {
		r.Packed, r.Files = cmptest.Pack(r.Files), nil
	}
	return r
}

// ErrWrong says that an honest project got another answer than its own.
var ErrWrong = errors.New("a wrong answer")

// Check sends an honest request, and compares the answer byte by byte.
func (r Request) Check(ctx context.Context, sockets string, number int) error {
	got, err := r.Send(ctx, sockets, Good, number)
	if err != nil {
		return fmt.Errorf("%s: %w", r.Name, err)
	}
	if !slices.Equal(got, r.Want) {
		return fmt.Errorf("%s: %w:\n%s\nwant:\n%s", r.Name, ErrWrong, strings.Join(got, "\n"), strings.Join(r.Want, "\n"))
	}
	return nil
}

// Message is the error that a user of Argo CD sees. It is not one line if the sidecar says more than it should.
func Message(err error) string { return status.Convert(err).Message() }

// pause waits a moment.
func pause() { time.Sleep(5 * time.Millisecond) }
