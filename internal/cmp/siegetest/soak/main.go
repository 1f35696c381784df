// Command soak besieges the sidecar for minutes. Honest and hostile projects ask the real "argosy cmp", which has the memory of a deployed
// one, while its workers, and the process itself, are killed at random. It fails if an honest project gets a wrong answer or an error that
// no kill explains, if a hostile request does not end, or if the process ends by itself. It prints how long honest requests took, alone and
// beside attackers.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/argosy-cd/argosy/internal/cmp/siegetest"
)

type options struct {
	duration, timeout time.Duration
	seed              uint64
	attackers         int
	program, only     string
	kill, each        bool
}

func main() {
	o := options{}
	flag.DurationVar(&o.duration, "duration", 10*time.Minute, "how long to go on")
	flag.DurationVar(&o.timeout, "timeout", 10*time.Second, "the --timeout of the sidecar")
	flag.Uint64Var(&o.seed, "seed", uint64(time.Now().UnixNano()), "random seed")
	flag.IntVar(&o.attackers, "attackers", 8, "how many hostile clients there are")
	flag.StringVar(&o.program, "argosy", "", "the program; default: build it")
	flag.StringVar(&o.only, "only", "", "only attacks with this in their names")
	flag.BoolVar(&o.kill, "kill", true, "kill workers, and the process")
	flag.BoolVar(&o.each, "each", false, "print the medians of each honest request, too")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	err := run(ctx, o)
	stop()
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, o options) (err error) {
	dir, err := os.MkdirTemp("", "soak")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if o.program == "" {
		if o.program, err = siegetest.Build(ctx, dir); err != nil {
			return err
		}
	}
	world, err := siegetest.NewWorld(ctx, dir)
	if err != nil {
		return err
	}
	defer world.Close()
	s := &soak{options: o, world: world, sockets: filepath.Join(dir, "s"), hostile: map[string]int{}, lost: map[string]int{}}
	if err := os.Mkdir(s.sockets, 0o755); err != nil {
		return err
	}
	if s.honest, err = world.Honest(); err != nil {
		return err
	}
	if err := s.start(ctx); err != nil {
		return err
	}
	fmt.Printf("seed %d; %s; %d attackers; requests end after %s\n", o.seed, o.duration, o.attackers, o.timeout)
	err = s.siege(ctx, phases(slices.DeleteFunc(world.Attacks(), func(a siegetest.Attack) bool {
		return !strings.Contains(a.Name, o.only)
	})))
	s.stop()
	if err == nil {
		err = s.verdict()
	}
	if err != nil {
		return err
	}
	s.report(os.Stdout)
	if o.each {
		s.reportEach(os.Stdout)
	}
	return nil
}
