package sidecar

import (
	"bytes"
	"log/slog"
	"strings"
	"testing"
)

// TestWarnings: one request cannot fill the log.
func TestWarnings(t *testing.T) {
	var out bytes.Buffer
	s := New(slog.New(slog.NewTextHandler(&out, nil)), nil)
	warnings := make([]string, 1000)
	for i := range warnings {
		warnings[i] = strings.Repeat("x", 100_000)
	}
	s.warn("appset", "web", warnings)
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != maxWarnings+1 || out.Len() > maxWarnings*(maxWarning+200) ||
		!strings.HasSuffix(lines[maxWarnings], `msg="more warnings" plugin=appset application=web number=980`) {
		t.Errorf("%d lines, %d bytes; the last is %.300s", len(lines), out.Len(), lines[len(lines)-1])
	}
	out.Reset()
	s.warn("s3", "web", []string{"one", "two"})
	if got := out.String(); strings.Count(got, "\n") != 2 || !strings.Contains(got, "warning=two") {
		t.Error(got)
	}
}
