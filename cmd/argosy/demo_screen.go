package main

import (
	"fmt"
	"io"
	"strings"
	"unicode/utf8"
)

// screen is lines one after the other, and, on a terminal, a part below them that changes.
type screen struct {
	std   stdio
	plain bool
	color bool
	below []string // what is drawn
	err   error    // of the first line that could not be written
}

func newScreen(std stdio) *screen {
	dumb := std.getenv("TERM") == "dumb" || std.getenv("TERM") == ""
	return &screen{std: std, plain: std.size == nil || dumb, color: std.getenv("NO_COLOR") == ""}
}

// line writes a line that stays.
func (s *screen) line(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	if s.plain {
		s.write(text + "\n")
		return
	}
	width, _ := s.std.size()
	s.write(s.erase() + s.paint(wrap(text, width)) + "\n" + s.drawn())
}

// cutting writes lines that are cut where the terminal ends.
func (s *screen) cutting() io.Writer {
	if s.plain {
		return s.std.out
	}
	return cutter{s}
}

type cutter struct{ *screen }

func (c cutter) Write(data []byte) (int, error) {
	width, _ := c.std.size()
	for line := range strings.Lines(string(data)) {
		c.write(cut(strings.TrimSuffix(line, "\n"), width) + "\n")
	}
	return len(data), c.err
}

// draw replaces what is below the lines.
func (s *screen) draw(lines []string) {
	if s.plain {
		return
	}
	erase := s.erase()
	width, height := s.std.size()
	s.below = nil
	for i, line := range lines {
		if i == height-1 {
			break
		}
		s.below = append(s.below, cut(line, width-1))
	}
	s.write(erase + s.drawn())
}

// keep makes what is below the lines some of them.
func (s *screen) keep() { s.below = nil }

func (s *screen) erase() string {
	if len(s.below) == 0 {
		return ""
	}
	return fmt.Sprintf("\x1b[%dA\r\x1b[J", len(s.below))
}

func (s *screen) drawn() string {
	var b strings.Builder
	for _, line := range s.below {
		b.WriteString(s.paint(line) + "\n")
	}
	return b.String()
}

func (s *screen) write(text string) {
	if _, err := s.std.out.Write([]byte(text)); err != nil && s.err == nil {
		s.err = fmt.Errorf("writing: %w", innermost(err))
	}
}

// Marks of Applications.
const (
	markHealthy  = "●"
	markBusy     = "◐"
	markDegraded = "✗"
	markMissing  = "·"
)

var colors = strings.NewReplacer(markHealthy, "\x1b[32m"+markHealthy+"\x1b[0m", markBusy, "\x1b[33m"+markBusy+"\x1b[0m", markDegraded, "\x1b[31m"+markDegraded+"\x1b[0m")

func (s *screen) paint(text string) string {
	if !s.color {
		return text
	}
	return colors.Replace(text)
}

// wrap breaks a line between words where a terminal ends, and puts the rest below its beginning.
func wrap(text string, width int) string {
	lead := len(text) - len(strings.TrimLeft(text, "\n "))
	rest := []rune(text)
	var out strings.Builder
	indent := 0
	for len(rest)+indent > width {
		at := width - indent
		for at > 0 && rest[at] != ' ' {
			at--
		}
		if at <= lead || indent >= width/2 { // a word that is too long
			break
		}
		out.WriteString(strings.Repeat(" ", indent) + string(rest[:at]) + "\n")
		rest = []rune(strings.TrimLeft(string(rest[at:]), " "))
		indent, lead = 11, 0
	}
	return out.String() + strings.Repeat(" ", indent) + string(rest)
}

// cut makes a line as short as a terminal is wide.
func cut(line string, width int) string {
	if utf8.RuneCountInString(line) <= width {
		return line
	}
	return string([]rune(line)[:max(width-1, 0)]) + "…"
}
