package main

import (
	"fmt"
	"strings"
	"time"
)

// progress tells how far something is, if it takes longer than a second: as a bar on a terminal, otherwise as a line every
// few seconds. Calls come one after the other.
type progress struct {
	std   stdio
	what  string
	start time.Time
	last  time.Time
	drawn bool
}

func newProgress(std stdio, what string) *progress {
	now := std.now()
	return &progress{std: std, what: what, start: now, last: now}
}

func (p *progress) report(done, total int) {
	now := p.std.now()
	pause := 5 * time.Second
	if p.std.terminal {
		pause = 100 * time.Millisecond
	}
	if now.Sub(p.start) < time.Second || now.Sub(p.last) < pause && done < total || total == 0 {
		return
	}
	p.last = now
	if !p.std.terminal {
		fmt.Fprintf(p.std.err, "%s: %d of %d\n", p.what, done, total)
		return
	}
	const width = 40
	full := done * width / total
	fmt.Fprintf(p.std.err, "\r%s [%s%s] %d/%d", p.what, strings.Repeat("#", full), strings.Repeat(".", width-full), done, total)
	p.drawn = true
}

// end leaves the line to others.
func (p *progress) end() {
	if p.drawn {
		fmt.Fprintf(p.std.err, "\r%s\r", strings.Repeat(" ", 79))
	}
}
