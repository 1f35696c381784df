package cmp

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/health"
	"google.golang.org/grpc/health/grpc_health_v1"
	"google.golang.org/grpc/keepalive"

	"github.com/argosy-cd/argosy/internal/cmp/pluginpb"
	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/words"
)

// Config configures a Server.
type Config struct {
	// Dir is where the sockets are; Argo CD looks for them in /home/argocd/cmp-server/plugins.
	Dir     string
	Plugins []Plugin
	// Timeout bounds a request that has no earlier deadline. Zero is DefaultTimeout.
	Timeout time.Duration
	// Parallel bounds how many calls of plugins run at once. Zero is four for each processor.
	Parallel int
	// Extra is how many more may run in each plugin, of projects that have no call in it: these do not wait for the others. Zero is half of
	// Parallel, at least one; negative is none.
	Extra int
	// MaxUpload bounds the bytes of a packed repository. Zero is 1 GiB.
	MaxUpload int64
	// TempDir is where large repositories are while they are read. "" is the system's.
	TempDir string
	// Stall is how long a client may send nothing before its repository is complete. Zero is 15 s.
	Stall time.Duration
	Now   func() time.Time
	// Observe is called with each request after its answer. Nil drops them.
	Observe func(Event)
}

// DefaultTimeout is less than Argo CD waits by default, which is 60 s, so that users see what was slow.
const DefaultTimeout = 45 * time.Second

// Server serves plugins.
type Server struct {
	cfg     Config
	slots   *gate
	uploads *gate
	looks   *gate
	sockets []*socket
	// stuck is since when the calls of several projects that are left are as many as may run.
	stuck atomic.Pointer[time.Time]
}

// socket is one plugin's.
type socket struct {
	path     string
	info     fs.FileInfo
	listener *net.UnixListener
	server   *grpc.Server
	health   *health.Server
}

// Listen creates a socket for each plugin. A socket with a listener is an error; a stale one is replaced.
func Listen(ctx context.Context, cfg Config) (*Server, error) {
	if cfg.Timeout == 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.Parallel == 0 {
		cfg.Parallel = 4 * runtime.GOMAXPROCS(0)
	}
	if cfg.Extra == 0 {
		cfg.Extra = max(1, cfg.Parallel/2)
	}
	if cfg.MaxUpload == 0 {
		cfg.MaxUpload = 1 << 30
	}
	if cfg.Stall == 0 {
		cfg.Stall = 15 * time.Second
	}
	if cfg.Observe == nil {
		cfg.Observe = func(Event) {}
	}
	s := &Server{
		cfg:   cfg,
		slots: newSlots(cfg),
		// Two of the largest repositories that are allowed, or 512 small ones, and two more in each plugin for projects that have none.
		uploads: &gate{size: 2 * projectUnits, extra: 2, most: projectUnits, line: maxWaiting, maxLeft: 1, now: cfg.Now},
	}
	// A look takes a processor: a project has no more of them than there are processors, and its other looks wait.
	cores := runtime.GOMAXPROCS(0)
	s.looks = &gate{size: 2 * cores, spare: 1, extra: cores, most: cores, line: maxWaiting, maxLeft: 1, now: cfg.Now}
	memory := &budget{}
	memory.give(allMemory)
	heads := &heads{}
	for _, p := range cfg.Plugins {
		sock, err := listen(ctx, cfg.Dir, p)
		if err != nil {
			s.Close()
			return nil, err
		}
		sock.register(&service{
			plugin: p, cfg: cfg, slots: s.slots, uploads: s.uploads, looks: s.looks, memory: memory, heads: heads,
			calls: flight.Group[answer]{Fresh: true},
		})
		s.sockets = append(s.sockets, sock)
	}
	return s, nil
}

// newSlots is for calls of plugins.
func newSlots(cfg Config) *gate {
	return &gate{
		size: cfg.Parallel, spare: 1, extra: cfg.Extra, most: cfg.Parallel, line: maxWaiting, maxLeft: max(1, cfg.Parallel/4),
		now: cfg.Now,
	}
}

func listen(ctx context.Context, dir string, p Plugin) (*socket, error) {
	name := p.Name
	if p.Version != "" {
		name += "-" + p.Version
	}
	s := &socket{path: filepath.Join(dir, name+".sock")}
	if err := removeStale(ctx, s.path); err != nil {
		return nil, err
	}
	l, err := (&net.ListenConfig{}).Listen(ctx, "unix", s.path)
	if err != nil {
		return nil, fmt.Errorf("socket %s: %w", s.path, cause(err))
	}
	s.listener = l.(*net.UnixListener)
	// By name it would also remove the socket of a successor.
	s.listener.SetUnlinkOnClose(false)
	if s.info, err = os.Lstat(s.path); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return s, nil
}

// removeStale removes a socket without a listener.
func removeStale(ctx context.Context, path string) error {
	info, err := os.Lstat(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	if info.Mode().Type() != fs.ModeSocket {
		return fmt.Errorf("socket %s: there is something else of this name, which is not a socket; remove it", path)
	}
	conn, err := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, "unix", path)
	if err == nil {
		_ = conn.Close()
		return fmt.Errorf("socket %s: another process serves it", path)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		return fmt.Errorf("socket %s: %w", path, cause(err))
	}
	return os.Remove(path)
}

// cause is the error without the address, which the message has already.
func cause(err error) error {
	var op *net.OpError
	if errors.As(err, &op) {
		err = op.Err
	}
	var call *os.SyscallError
	if errors.As(err, &call) {
		return call.Err
	}
	return err
}

func (s *socket) register(service *service) {
	s.server = grpc.NewServer(
		grpc.MaxRecvMsgSize(maxMessageSize), grpc.MaxSendMsgSize(maxAnswer),
		grpc.KeepaliveEnforcementPolicy(keepalive.EnforcementPolicy{MinTime: 5 * time.Second}),
		// A repository comes in messages of a kilobyte: windows of 64 KiB would make it stop and go. A request that waits has a full window
		// in memory.
		grpc.InitialWindowSize(256<<10), grpc.InitialConnWindowSize(1<<20),
	)
	s.health = health.NewServer()
	pluginpb.RegisterConfigManagementPluginServiceServer(s.server, service)
	grpc_health_v1.RegisterHealthServer(s.server, s.health)
}

// Paths are the sockets.
func (s *Server) Paths() []string {
	var out []string
	for _, sock := range s.sockets {
		out = append(out, sock.path)
	}
	return out
}

// Serve answers requests until ctx ends. Running requests then have the time grace to finish.
func (s *Server) Serve(ctx context.Context, grace time.Duration) error {
	ended := make(chan error, len(s.sockets))
	room := make(chan struct{}, largeHeads)
	for _, sock := range s.sockets {
		go func() { ended <- sock.server.Serve(listener{sock.listener, room}) }()
	}
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	// Refuse new requests.
	for _, sock := range s.sockets {
		sock.health.Shutdown()
		sock.remove()
	}
	var stopping sync.WaitGroup
	for _, sock := range s.sockets {
		stopping.Go(sock.server.GracefulStop)
	}
	stopped := make(chan struct{})
	go func() { stopping.Wait(); close(stopped) }()
	select {
	case <-stopped:
	case <-time.After(grace):
		for _, sock := range s.sockets {
			sock.server.Stop()
		}
	}
	return err
}

// remove removes the socket unless it is another process's by now.
func (s *socket) remove() {
	if info, err := os.Lstat(s.path); err == nil && os.SameFile(info, s.info) {
		_ = os.Remove(s.path)
	}
}

// Close removes the sockets of a server that does not serve.
func (s *Server) Close() {
	for _, sock := range s.sockets {
		sock.remove()
		_ = sock.listener.Close()
	}
}

const (
	// maxWaiting is how many requests of a project may wait for a plugin.
	maxWaiting = 256
	// stuckAfter is how long the calls of several projects that are left may be as many as may run.
	stuckAfter = time.Minute
)

// Healthy returns an error if only a restart can help: a socket is gone, or too many calls of several projects do not end. A restart ends
// the requests of all, so one project cannot cause it.
func (s *Server) Healthy() error {
	for _, sock := range s.sockets {
		if info, err := os.Lstat(sock.path); err != nil || !os.SameFile(info, sock.info) {
			return fmt.Errorf("socket %s was removed or replaced by another process", sock.path)
		}
	}
	left := s.slots.hung()
	if left < max(s.cfg.Parallel, s.slots.maxLeft+1) {
		s.stuck.Store(nil)
		return nil
	}
	now := s.cfg.Now()
	s.stuck.CompareAndSwap(nil, &now)
	if since := s.stuck.Load(); since != nil && now.Sub(*since) >= stuckAfter {
		return fmt.Errorf("%d plugin calls are still running after their requests ended", left)
	}
	return nil
}

// Degraded describes a problem of a server that still answers; "" if there is none.
func (s *Server) Degraded() string {
	if _, _, left := s.slots.load(); left > 0 {
		return words.Count(left, "call") + " of ended requests still running"
	}
	return ""
}

// Load is how many calls run, how many wait for their turn, and how many still run although their requests have ended.
func (s *Server) Load() (running, waiting, left int) { return s.slots.load() }

// Uploads is how many repositories are received or kept for a call, and how many requests wait until there is room for theirs.
func (s *Server) Uploads() (held, waiting int) {
	held, waiting, _ = s.uploads.load()
	return held, waiting
}

// Looks is how many repositories are being searched for a plugin's file, and how many requests wait for their turn to be.
func (s *Server) Looks() (running, waiting int) {
	running, waiting, _ = s.looks.load()
	return running, waiting
}
