package board

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"log/slog"
	"mime"
	"net/http"
	"path"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/board/scene"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/secret"
	"github.com/argosy-cd/argosy/internal/serve"
	"github.com/argosy-cd/argosy/internal/turnstile"
)

//go:embed page
var page embed.FS

// Config configures a Server.
type Config struct {
	serve.Config
	Source Source
	// Access decides who may view the board. Nil allows everybody, and only on loopback addresses.
	Access Access
	// Hosts are names by which the server may be called besides those of loopback. None, with Access set, is any.
	Hosts []string
	Log   *slog.Logger
	Now   func() time.Time
	// Ready is called with the URL of the page when the server listens. Nil is not called.
	Ready func(url string)
}

// Server serves a board.
type Server struct {
	cfg    Config
	store  *store
	secret secret.Text // of the page, for controls
	assets map[string]asset
	seen   *boardMetrics
	// streams and questions bound what runs at once.
	streams, requests, questions turnstile.Turnstile
}

type asset struct {
	data       []byte
	kind, etag string
}

// Limits of what runs at once, in all and for one client.
const (
	maxStreams, maxStreamsEach     = 400, 40
	maxRequests, maxRequestsEach   = 64, 32
	maxQuestions, maxQuestionsEach = 8, 4
)

// CheckAddress refuses an address that other machines can reach, unless access is set.
func CheckAddress(address string, access Access) error {
	if access == nil && !serve.IsLoopback(address) {
		return problem.Usagef("--listen %s is not a loopback address, so others may reach the page: --token-file, --trusted-header or "+
			"--argocd must say who may see it", address)
	}
	return nil
}

// New prepares a server.
func New(cfg Config) (*Server, error) {
	if err := CheckAddress(cfg.Address, cfg.Access); err != nil {
		return nil, err
	}
	s := &Server{
		cfg: cfg, store: newStore(cfg.Now), secret: secret.New(rand.Text()), assets: map[string]asset{},
		streams:   turnstile.Turnstile{All: maxStreams, Each: maxStreamsEach},
		requests:  turnstile.Turnstile{All: maxRequests, Each: maxRequestsEach, Queue: 256, QueueEach: 64},
		questions: turnstile.Turnstile{All: maxQuestions, Each: maxQuestionsEach, Queue: 32, QueueEach: 8},
	}
	s.seen = newMetrics(s)
	err := fs.WalkDir(page, "page", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := page.ReadFile(name)
		sum := sha256.Sum256(data)
		kind := mime.TypeByExtension(path.Ext(name))
		if path.Ext(name) == ".js" {
			kind = "text/javascript; charset=utf-8"
		}
		s.assets[strings.TrimPrefix(name, "page")] = asset{data, kind, `"` + hex.EncodeToString(sum[:12]) + `"`}
		return err
	})
	s.assets["/"] = s.assets["/index.html"]
	return s, err
}

// Run serves until the context ends.
func (s *Server) Run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	web := s.cfg.Config
	web.Log = s.cfg.Log
	server, err := serve.Listen(ctx, web, s.handler(ctx))
	if err != nil {
		return err
	}
	if s.cfg.Ready != nil {
		s.cfg.Ready(fmt.Sprintf("%s://%s/", server.Scheme(), server.Address()))
	}
	failed := make(chan error, 1)
	go func() {
		failed <- s.cfg.Source.Run(ctx, s.store.publish)
		cancel()
	}()
	err = server.Run(ctx)
	cancel()
	return errors.Join(<-failed, err)
}

// handler answers requests. Streams end with the context.
func (s *Server) handler(ctx context.Context) http.Handler {
	mux := http.NewServeMux()
	serve.Probes{Ready: s.ready, Metrics: s.seen.registry.Handler()}.Handle(mux)
	mux.HandleFunc("GET /", s.asset)
	mux.Handle("GET /api/scene", s.allowed(&s.requests, s.scene))
	mux.Handle("GET /api/events", s.allowed(&s.streams, func(w http.ResponseWriter, r *http.Request, who Viewer) {
		s.events(ctx, w, r, who)
	}))
	mux.Handle("GET /api/why", s.allowed(&s.questions, s.why))
	mux.Handle("GET /api/app", s.allowed(&s.questions, s.app))
	mux.Handle("POST /api/simulate", s.allowed(&s.requests, s.simulate))
	if login, ok := s.cfg.Access.(Login); ok {
		mux.Handle("POST /api/login", s.turn(&s.questions, login.Login))
	}
	return s.guard(mux)
}

// ready fails until the first scene: before that, there is nothing to show.
func (s *Server) ready() (string, error) {
	if current, _, _ := s.store.current(); current == nil {
		return "", errUnknown
	}
	return "", nil
}

// errUnknown says that there is no scene yet.
var errUnknown = errors.New("the boot is not known yet")

// asset serves the page and its parts to everybody: they contain no data of the boot.
func (s *Server) asset(w http.ResponseWriter, r *http.Request) {
	a, ok := s.assets[r.URL.Path]
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", a.kind)
	w.Header().Set("ETag", a.etag)
	w.Header().Set("Cache-Control", "no-cache")
	http.ServeContent(w, r, "", time.Time{}, bytes.NewReader(a.data))
}

// first is the data that the page loads first.
type first struct {
	ID    string `json:"id"`
	Scene any    `json:"scene"`
	// Control is the secret for controls, "" if there are none. User is the viewer's name, "" without one.
	Control string `json:"control,omitempty"`
	User    string `json:"user,omitempty"`
}

// begin is how long requests wait for the first scene.
const begin = 5 * time.Second

// current is the newest scene, with the number of its change; nil is none yet.
func (s *Server) current(r *http.Request) (*scene.Scene, int) {
	current, number, changed := s.store.current()
	if current == nil {
		wait, cancel := context.WithTimeout(r.Context(), begin)
		defer cancel()
		select {
		case <-wait.Done():
		case <-changed:
		}
		current, number, _ = s.store.current()
	}
	return current, number
}

func (s *Server) scene(w http.ResponseWriter, r *http.Request, who Viewer) {
	current, number := s.current(r)
	if current == nil {
		http.Error(w, errUnknown.Error()+"; try again", http.StatusServiceUnavailable)
		return
	}
	if who.Visible != nil {
		number = 0 // the count would reveal changes of hidden Applications
	}
	out := first{ID: s.store.id(number), Scene: who.only(current), User: who.Name}
	if _, ok := s.cfg.Source.(Controls); ok {
		out.Control = s.secret.Reveal()
	}
	answer(w, out)
}

// sees reports whether a viewer may see an Application that there is.
func (s *Server) sees(w http.ResponseWriter, r *http.Request, who Viewer, key string) bool {
	current, _ := s.current(r)
	if current != nil {
		for i := range current.Apps {
			if a := &current.Apps[i]; a.Key == key && (who.Visible == nil || who.Visible(key)) {
				return true
			}
		}
	}
	http.Error(w, "there is no such Application, or you may not see it", http.StatusNotFound)
	return false
}

func (s *Server) why(w http.ResponseWriter, r *http.Request, who Viewer) {
	key := r.URL.Query().Get("app")
	if key != "" && !s.sees(w, r, who, key) {
		return
	}
	if key == "" && who.Visible != nil {
		http.Error(w, "set the parameter app to an Application", http.StatusBadRequest)
		return
	}
	found, err := s.cfg.Source.Why(r.Context(), key, who.Visible)
	if err != nil {
		s.failed(w, r, err)
		return
	}
	answer(w, found)
}

func (s *Server) app(w http.ResponseWriter, r *http.Request, who Viewer) {
	key := r.URL.Query().Get("app")
	if !s.sees(w, r, who, key) {
		return
	}
	d, err := s.cfg.Source.App(r.Context(), key)
	if err != nil {
		s.failed(w, r, err)
		return
	}
	if d == nil {
		d = &Detail{Note: "nothing more is known about it"}
	}
	if more := len(d.Objects) - maxObjects; more > 0 {
		d.Objects, d.Cut = d.Objects[:maxObjects], more
	}
	if d.Objects == nil {
		d.Objects = []Object{}
	}
	answer(w, d)
}

// failed answers a question that could not be.
func (s *Server) failed(w http.ResponseWriter, r *http.Request, err error) {
	if r.Context().Err() == nil {
		s.cfg.Log.Warn("request failed", "path", r.URL.Path, "error", err.Error())
		http.Error(w, err.Error(), http.StatusBadGateway)
	}
}

// maxControl bounds the body of a control.
const maxControl = 16 << 10

func (s *Server) simulate(w http.ResponseWriter, r *http.Request, who Viewer) {
	controls, ok := s.cfg.Source.(Controls)
	if !ok || who.Visible != nil {
		http.Error(w, "this boot cannot be changed here", http.StatusNotFound)
		return
	}
	if !s.secret.Is(r.Header.Get("Argosy-Control")) {
		http.Error(w, "the header Argosy-Control does not match that of the page; load the page again", http.StatusForbidden)
		return
	}
	var c Control
	if !decode(w, r, &c) {
		return
	}
	if err := controls.Control(c); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	w.WriteHeader(http.StatusNoContent)
}

// decode reads a small JSON body.
func decode(w http.ResponseWriter, r *http.Request, into any) bool {
	if kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")); kind != "application/json" {
		http.Error(w, "the content must be application/json", http.StatusUnsupportedMediaType)
		return false
	}
	d := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxControl))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil || d.Decode(&struct{}{}) != io.EOF {
		http.Error(w, "the body must be one JSON object with known fields", http.StatusBadRequest)
		return false
	}
	return true
}

func answer(w http.ResponseWriter, v any) {
	data, err := json.Marshal(v)
	if err != nil {
		http.Error(w, "the answer cannot be written as JSON", http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	_, _ = w.Write(data)
}
