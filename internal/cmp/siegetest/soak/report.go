package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"
)

// quantile is a time that so many of all, from 0 to 1, did not exceed.
func quantile(sorted []time.Duration, q float64) time.Duration {
	if len(sorted) == 0 {
		return 0
	}
	return sorted[min(len(sorted)-1, int(q*float64(len(sorted))))]
}

func ms(d time.Duration) string { return fmt.Sprintf("%.1f ms", float64(d.Microseconds())/1000) }

// report prints what happened.
func (s *soak) report(w io.Writer) {
	fmt.Fprintf(w, "\n| honest requests | number | median | p99 | slowest | median, as a multiple of alone |\n|---|---|---|---|---|---|\n")
	var alone time.Duration
	honest, hostile := 0, 0
	for _, r := range s.results {
		slices.Sort(r.took)
		median := quantile(r.took, 0.5)
		if alone == 0 {
			alone = median
		}
		fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %.2f |\n", r.phase.name, len(r.took), ms(median), ms(quantile(r.took, 0.99)),
			ms(quantile(r.took, 1)), float64(median)/float64(max(alone, 1)))
		honest, hostile = honest+len(r.took), hostile+r.hostile
	}
	fmt.Fprintf(w, "\nhonest requests    %d answered, all right; without an answer%s\n", honest, counts(s.lost))
	fmt.Fprintf(w, "hostile requests   %d%s\n", hostile, counts(s.hostile))
	fmt.Fprintf(w, "kills              %d of workers, %d of the process\n", s.workerKills, s.kills)
	fmt.Fprintf(w, "most memory        %d MiB resident in the process; %d MiB in all, limited by %s; the system ended %d processes for "+
		"lack of memory\n", s.peaks.Process>>20, s.peaks.Container>>20, s.peaks.By, s.peaks.Killed)
}

// reportEach prints the medians of each honest request, in the order of the phases.
func (s *soak) reportEach(w io.Writer) {
	fmt.Fprintln(w)
	for _, request := range s.honest {
		fmt.Fprintf(w, "%-14s", request.Name)
		for _, r := range s.results {
			list := r.each[request.Name]
			slices.Sort(list)
			fmt.Fprintf(w, " %10s", ms(quantile(list, 0.5)))
		}
		fmt.Fprintln(w)
	}
}

func counts(m map[string]int) string {
	if len(m) == 0 {
		return ": none"
	}
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(m)) {
		parts = append(parts, fmt.Sprintf("%s %d", name, m[name]))
	}
	return ": " + strings.Join(parts, ", ")
}

// verdict is an error if something went wrong.
func (s *soak) verdict() error {
	if s.peaks.Killed > 0 {
		s.failures = append(s.failures, fmt.Sprintf("the container had no memory left: the system ended %d processes", s.peaks.Killed))
	}
	if len(s.failures) == 0 {
		return nil
	}
	return fmt.Errorf("%d failures: %w", len(s.failures), errors.New(strings.Join(s.failures[:min(10, len(s.failures))], "\n")))
}
