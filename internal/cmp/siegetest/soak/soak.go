package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"sync"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/argosy-cd/argosy/internal/cmp/siegetest"
)

// phase is a part of a siege, with some attacks.
type phase struct {
	name    string
	attacks []siegetest.Attack
	kills   bool // of workers and of the process
}

// phases are the parts of a siege, one after the other, in rounds, so that a machine that is busy for a while does not make one of them
// slow.
func phases(all []siegetest.Attack) []phase {
	of := func(kind string) (out []siegetest.Attack) {
		for _, a := range all {
			if a.Kind == kind {
				out = append(out, a)
			}
		}
		return out
	}
	return []phase{
		{name: "alone"},
		{name: "beside attackers that compute", attacks: of(siegetest.Computing)},
		{name: "beside attackers that need memory", attacks: of(siegetest.Space)},
		{name: "beside attackers that wait", attacks: of(siegetest.Waiting)},
		{name: "beside all attackers", attacks: all},
		{name: "beside all attackers, with kills", attacks: all, kills: true},
	}
}

// siege runs all phases, in rounds. The phase with kills gets as much time as all others together.
func (s *soak) siege(ctx context.Context, all []phase) error {
	parts := 0
	for i, p := range all {
		if p.kills && !s.kill || i > 0 && len(p.attacks) == 0 {
			continue
		}
		s.results = append(s.results, &result{phase: p, each: map[string][]time.Duration{}})
		parts += p.parts()
	}
	for range rounds {
		for _, r := range s.results {
			if err := s.run(ctx, r, time.Duration(r.phase.parts())*s.duration/time.Duration(rounds*parts)); err != nil {
				return err
			}
		}
	}
	return nil
}

// parts is how much of the time a phase has.
func (p phase) parts() int {
	if p.kills {
		return 5
	}
	return 1
}

const rounds = 4

// soak is a siege that runs.
type soak struct {
	options
	world   *siegetest.World
	sockets string
	honest  []siegetest.Request

	mu      sync.Mutex
	program *siegetest.Program
	// kills counts our own kills. While killing is set, errors prove nothing.
	kills, workerKills int
	killing            bool
	number             int
	results            []*result
	round              int
	hostile            map[string]int
	failures           []string
	lost               map[string]int
	peaks              siegetest.Peaks
}

// result has the times of honest requests in a phase.
type result struct {
	phase   phase
	took    []time.Duration
	each    map[string][]time.Duration // by the name of the request
	hostile int
}

func (s *soak) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	p, err := siegetest.Start(ctx, s.world.Sidecar(s.options.program, s.sockets, s.timeout))
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.program = p
	return nil
}

// stop ends the sidecar, after a last look at its metrics.
func (s *soak) stop() {
	s.look()
	if err := s.program.Stop(); err != nil {
		s.fail("stopping: %v", err)
	}
}

// look keeps the peaks of the process that runs.
func (s *soak) look() {
	p := s.program.Peaks()
	s.peaks.By = p.By
	s.peaks.Process, s.peaks.Container, s.peaks.Killed = max(s.peaks.Process, p.Process), max(s.peaks.Container, p.Container),
		s.peaks.Killed+p.Killed
}

func (s *soak) fail(format string, args ...any) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.failures = append(s.failures, fmt.Sprintf(format, args...))
}

// run runs a phase, for so long.
func (s *soak) run(ctx context.Context, r *result, long time.Duration) error {
	phase, cancel := context.WithCancel(ctx)
	defer time.AfterFunc(long, cancel).Stop()
	defer cancel()
	s.round++
	honest, hostile := len(r.took), r.hostile
	var group sync.WaitGroup
	for i, plugin := range []string{"appset", "s3"} {
		group.Go(func() { s.neighbour(phase, r, plugin, s.random(i)) })
	}
	if len(r.phase.attacks) > 0 {
		for i := range s.attackers {
			group.Go(func() { s.attacker(phase, r, s.random(100+i)) })
		}
	}
	if r.phase.kills {
		group.Go(func() { s.killer(phase, s.random(1000)) })
	}
	group.Go(func() { s.watch(phase, cancel) })
	group.Wait()
	fmt.Printf("%-35s %6d honest, %5d hostile requests\n", r.phase.name, len(r.took)-honest, r.hostile-hostile)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return s.verdict()
}

func (s *soak) random(i int) *rand.Rand {
	return rand.New(rand.NewPCG(s.seed, uint64(s.round*10_000+i)))
}

func (s *soak) next() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.number++
	return s.number
}

// state is recorded to explain an error of an honest request.
type state struct {
	kills, workerKills int
	killing            bool
}

// touched reports whether the process was killed between two states.
func (s state) touched(after state) bool { return s.killing || after.killing || s.kills != after.kills }

func (s *soak) state() state {
	s.mu.Lock()
	defer s.mu.Unlock()
	return state{s.kills, s.workerKills, s.killing}
}

// watch ends the phase if the process has ended by itself.
func (s *soak) watch(ctx context.Context, cancel func()) {
	for ctx.Err() == nil {
		s.mu.Lock()
		p, killing := s.program, s.killing
		s.mu.Unlock()
		if !killing && !p.Alive() {
			s.fail("the process has ended by itself: %v\n%s", p.Err(), p.Log())
			cancel()
		}
		wait(ctx, 50*time.Millisecond)
	}
}

func wait(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// neighbour is an honest project in a plugin. It waits a little after each answer: it does not make itself slow.
func (s *soak) neighbour(ctx context.Context, r *result, plugin string, random *rand.Rand) {
	for ctx.Err() == nil {
		for _, request := range s.honest {
			if request.Plugin != plugin || ctx.Err() != nil {
				continue
			}
			s.check(r, request)
			wait(ctx, time.Duration(10+random.IntN(40))*time.Millisecond)
		}
	}
}

// check sends an honest request.
func (s *soak) check(r *result, request siegetest.Request) {
	ctx, cancel := context.WithTimeout(context.Background(), s.patience())
	defer cancel()
	before := s.state()
	began := time.Now()
	err := request.Check(ctx, s.sockets, s.next())
	took := time.Since(began)
	after := s.state()
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		r.took = append(r.took, took)
		r.each[request.Name] = append(r.each[request.Name], took)
	case errors.Is(err, siegetest.ErrWrong):
		s.failures = append(s.failures, err.Error())
	case before.touched(after):
		s.lost["the process was killed"]++
	case after.workerKills > 0 && strings.Contains(err.Error(), "it was killed by the system"):
		s.lost["two workers were killed"]++
	default:
		s.failures = append(s.failures, "an honest request was refused: "+err.Error())
	}
}

// attacker sends attacks of the phase, at random. Sometimes it goes away before it has heard an answer.
func (s *soak) attacker(ctx context.Context, r *result, random *rand.Rand) {
	for ctx.Err() == nil {
		patience := s.patience()
		if random.IntN(5) == 0 {
			patience = time.Duration(random.IntN(1000)) * time.Millisecond
		}
		s.attack(ctx, r, r.phase.attacks[random.IntN(len(r.phase.attacks))], patience)
		wait(ctx, time.Duration(random.IntN(100))*time.Millisecond)
	}
}

// patience is the time after which a request counts as hanging.
func (s *soak) patience() time.Duration { return s.timeout + 30*time.Second }

// attack sends a hostile request. The client goes away when its patience, or the phase, ends.
func (s *soak) attack(phase context.Context, r *result, a siegetest.Attack, patience time.Duration) {
	if a.Stop > 0 {
		patience = min(patience, s.timeout) // it does not hear an answer
	}
	// Not as a deadline, which the sidecar would be told.
	ctx, cancel := context.WithCancel(phase)
	defer time.AfterFunc(patience, cancel).Stop()
	defer cancel()
	if a.Before != nil {
		a.Before()
	}
	before := s.state()
	_, err := a.Send(ctx, s.sockets, siegetest.Evil, s.next())
	killed := before.touched(s.state())
	s.mu.Lock()
	defer s.mu.Unlock()
	r.hostile++
	text := siegetest.Message(err)
	what := "failed"
	switch code := status.Code(err); {
	case strings.Contains(text, "\n"):
		s.failures = append(s.failures, fmt.Sprintf("%s: not one line: %q", a.Name, text))
	case err == nil && a.Error != "":
		s.failures = append(s.failures, "answered: "+a.Name)
	case err == nil:
		what = "answered"
	case ctx.Err() != nil && (phase.Err() != nil || patience < s.patience()):
		what = "the client had gone"
	case killed:
		what = "the process was killed"
	case ctx.Err() != nil, code == codes.Internal, code == codes.Unavailable:
		s.failures = append(s.failures, fmt.Sprintf("%s: %v; the client has waited for %s", a.Name, err, patience))
	case code == codes.DeadlineExceeded:
		what = "not finished in time"
	case code == codes.Unknown:
		what = "refused"
	default:
		what = strings.ToLower(code.String())
	}
	s.hostile[what]++
}

// killer kills workers, and sometimes the whole process, which is then started again as Kubernetes does.
func (s *soak) killer(ctx context.Context, random *rand.Rand) {
	for i := 1; ctx.Err() == nil; i++ {
		wait(ctx, time.Duration(200+random.IntN(800))*time.Millisecond)
		if ctx.Err() != nil {
			return
		}
		if i%20 == 0 {
			if err := s.restart(random.IntN(4) == 0); err != nil {
				s.fail("starting again: %v", err)
				return
			}
			continue
		}
		workers := s.program.Workers()
		if len(workers) == 0 {
			continue
		}
		s.mu.Lock()
		s.workerKills++
		s.mu.Unlock()
		if w, err := os.FindProcess(workers[random.IntN(len(workers))]); err == nil {
			_ = w.Kill()
		}
	}
}

// restart ends the process, gently or not, and starts it again.
func (s *soak) restart(gently bool) error {
	s.mu.Lock()
	s.killing = true
	s.kills++
	s.mu.Unlock()
	s.look()
	if gently {
		if err := s.program.Stop(); err != nil {
			return err
		}
	} else {
		s.program.Kill()
	}
	err := s.start(context.Background())
	s.mu.Lock()
	s.killing = false
	s.mu.Unlock()
	return err
}
