// Package progress shows the progress of work that takes longer than a second.
package progress

import (
	"fmt"
	"io"
	"strings"
	"time"
)

// Bar is a bar on a terminal, otherwise a line every few seconds. Calls come one after the other.
type Bar struct {
	out      io.Writer
	terminal bool
	now      func() time.Time
	what     string
	start    time.Time
	last     time.Time
	drawn    bool
}

// Config is where a Bar is drawn.
type Config struct {
	Out      io.Writer
	Terminal bool // Out is one
	Now      func() time.Time
}

// New begins to count something, such as "uploading".
func New(cfg Config, what string) *Bar {
	now := cfg.Now()
	return &Bar{out: cfg.Out, terminal: cfg.Terminal, now: cfg.Now, what: what, start: now, last: now}
}

// Report says how much is done.
func (p *Bar) Report(done, total int) {
	now := p.now()
	pause := 5 * time.Second
	if p.terminal {
		pause = 100 * time.Millisecond
	}
	if now.Sub(p.start) < time.Second || now.Sub(p.last) < pause && done < total || total == 0 {
		return
	}
	p.last = now
	if !p.terminal {
		fmt.Fprintf(p.out, "%s: %d of %d\n", p.what, done, total)
		return
	}
	const width = 40
	full := done * width / total
	fmt.Fprintf(p.out, "\r%s [%s%s] %d/%d", p.what, strings.Repeat("#", full), strings.Repeat(".", width-full), done, total)
	p.drawn = true
}

// End clears the line.
func (p *Bar) End() {
	if p.drawn {
		fmt.Fprintf(p.out, "\r%s\r", strings.Repeat(" ", 79))
	}
}
