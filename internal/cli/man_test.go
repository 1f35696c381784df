package cli_test

import (
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/argosy-cd/argosy/internal/cli"
)

// TestManualEscapes: no text of a command is a request of roff.
func TestManualEscapes(t *testing.T) {
	cmd := &cobra.Command{Use: "x", Short: ".so /etc/passwd", Long: "a\n.sy rm -r\n'br\n\\n(yr", Run: func(*cobra.Command, []string) {}}
	page := string(cli.Manual(cmd)[0].Data)
	for line := range strings.Lines(page) {
		if strings.HasPrefix(line, ".s") || strings.HasPrefix(line, "'") {
			t.Errorf("a request: %s", line)
		}
	}
	if !strings.Contains(page, `\&.sy rm \-r`) || !strings.Contains(page, `\en(yr`) {
		t.Error(page)
	}
}
