package progress_test

import (
	"bytes"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/progress"
)

func TestProgress(t *testing.T) {
	for _, c := range []struct {
		name     string
		terminal bool
		step     time.Duration
		want     string
	}{
		{"quick", true, 10 * time.Millisecond, ""},
		{"lines", false, 700 * time.Millisecond, "uploading: 8 of 10\nuploading: 10 of 10\n"},
		{"bar", true, 400 * time.Millisecond, "\ruploading [############............................] 3/10"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out bytes.Buffer
			now := time.Unix(0, 0)
			p := progress.New(progress.Config{Out: &out, Terminal: c.terminal, Now: func() time.Time { return now }}, "uploading")
			for i := range 10 {
				now = now.Add(c.step)
				p.Report(i+1, 10)
			}
			p.End()
			got := out.String()
			if c.terminal {
				got = got[:min(len(got), len(c.want))]
			}
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if c.name == "quick" && out.Len() > 0 {
				t.Errorf("%q", out.String())
			}
		})
	}
}
