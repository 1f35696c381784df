// Package screen shows progress: lines one after the other, and, on a terminal, a part below them that changes.
package screen

import (
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/words"
)

// Config is where something is shown.
type Config struct {
	Out io.Writer
	// Size returns the size of the terminal Out. Nil means that Out is no terminal: only lines are written, without a picture below.
	Size func() (width, height int)
	// Dumb is a terminal that gets lines only.
	Dumb  bool
	Color bool
}

// Screen is lines one after the other, and, on a terminal, a part below them that changes.
type Screen struct {
	Config
	plain bool
	below []string // the drawn picture
	err   error    // of the first line that could not be written
}

// New returns an empty screen.
func New(c Config) *Screen { return &Screen{Config: c, plain: c.Size == nil || c.Dumb} }

// Plain reports whether there are lines only.
func (s *Screen) Plain() bool { return s.plain }

// Err is the error of the first line that could not be written.
func (s *Screen) Err() error { return s.err }

// Line writes a line that stays.
func (s *Screen) Line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if s.plain {
		s.write(text + "\n")
		return
	}
	width, _ := s.Size()
	s.write(s.erase() + s.paint(wrap(text, width)) + "\n" + s.drawn())
}

// Table writes a table: its rows end where the terminal does, other lines are broken there.
func (s *Screen) Table(text string) {
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		if !s.plain && strings.HasPrefix(line, "    ") {
			width, _ := s.Size()
			line = words.Cut(line, width)
		}
		s.Line("%s", line)
	}
}

// Command writes a line that is to be copied, so it is not broken.
func (s *Screen) Command(format string, args ...any) {
	s.write(s.erase() + fmt.Sprintf("  "+format, args...) + "\n" + s.drawn())
}

// Draw replaces the picture below the lines.
func (s *Screen) Draw(lines []string) {
	if s.plain {
		return
	}
	erase := s.erase()
	width, height := s.Size()
	s.below = nil
	for i, line := range lines {
		if i == height-1 {
			break
		}
		s.below = append(s.below, words.Cut(line, width-1))
	}
	s.write(erase + s.drawn())
}

// Keep turns the part below the lines into lines that stay.
func (s *Screen) Keep() { s.below = nil }

func (s *Screen) erase() string {
	if len(s.below) == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\r\x1b[J", len(s.below))
}

func (s *Screen) drawn() string {
	var b strings.Builder
	for _, line := range s.below {
		b.WriteString(s.paint(line) + "\n")
	}
	return b.String()
}

func (s *Screen) write(text string) {
	if _, err := s.Out.Write([]byte(text)); err != nil && s.err == nil {
		s.err = fmt.Errorf("writing: %w", problem.Innermost(err))
	}
}

// Marks of Applications.
const (
	Healthy  = "●"
	Busy     = "◐"
	Degraded = "✗"
	Missing  = "·"
)

var colors = strings.NewReplacer(Healthy, "\x1b[32m"+Healthy+"\x1b[0m", Busy, "\x1b[33m"+Busy+"\x1b[0m", Degraded,
	"\x1b[31m"+Degraded+"\x1b[0m")

func (s *Screen) paint(text string) string {
	if !s.Color {
		return text
	}
	return colors.Replace(text)
}

// wrap breaks a line between words where a terminal ends, and puts the rest below the beginning of its text.
func wrap(text string, width int) string {
	var out strings.Builder
	rest := []rune(text)
	indent := len(text) - len(strings.TrimLeft(strings.TrimLeft(text, "\n"), " ")) - strings.Count(text, "\n")
	if stamped.MatchString(text) {
		indent = 11
	}
	indent = max(indent, 0)
	for pad := 0; len(rest)+pad > width; pad = indent {
		at := width - pad
		for at > 0 && rest[at] != ' ' {
			at--
		}
		if strings.TrimSpace(string(rest[:at])) == "" { // a word that is too long
			break
		}
		out.WriteString(string(rest[:at]) + "\n" + strings.Repeat(" ", indent))
		rest = []rune(strings.TrimLeft(string(rest[at:]), " "))
		if indent > width/2 {
			break
		}
	}
	return out.String() + string(rest)
}

// stamped is a line with a time.
var stamped = regexp.MustCompile(`^ *[0-9hms]+  `)
