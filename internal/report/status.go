package report

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/words"
)

// Status prints where a boot stands, as text or JSON. Roots are the Applications to show, with everything below them; now is the time that
// ages are counted to.
func Status(w io.Writer, f Format, s *live.Snapshot, roots []*live.Node, now time.Time) error {
	switch f {
	case Text:
		return statusText(w, s, roots, now)
	case JSON:
		return Object(w, StatusObject(s, roots))
	}
	return f.refused("status")
}

func statusText(w io.Writer, s *live.Snapshot, roots []*live.Node, now time.Time) error {
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s\n", words.Harmless(summary(s, roots)))
	if len(roots) > 0 {
		fmt.Fprintln(out)
		table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "  WAVE\tAPPLICATION\tHEALTH\tSYNC\tSINCE\tWAITS FOR")
		for _, root := range roots {
			root.All(func(n *live.Node) {
				fmt.Fprintf(table, "  %s\t%s%s\t%s\t%s\t%s\t%s\n", waveOf(n), strings.Repeat("  ", n.Depth-root.Depth),
					words.Printable(s.Title(n)), words.Printable(words.OrDash(string(n.Health))), words.Printable(words.OrDash(n.Sync)),
					age(now, n.HealthSince), words.Harmless(WaitsFor(s, n)))
			})
		}
		if err := table.Flush(); err != nil {
			return fmt.Errorf("writing: %w", err)
		}
	}
	if lost := Unseen(s); len(lost) > 0 {
		fmt.Fprintln(out, "\nNOT READ")
		for _, line := range lost {
			fmt.Fprintln(out, "  "+words.Harmless(line))
		}
	}
	return flush(out)
}

// summary is the state of trees in one line.
func summary(s *live.Snapshot, roots []*live.Node) string {
	all, good, missing, unseen := 0, 0, 0, 0
	for _, root := range roots {
		root.All(func(n *live.Node) {
			if n.Set {
				return
			}
			all++
			switch {
			case n.Unseen != "":
				unseen++
			case n.Missing:
				missing++
			case n.Health == health.Healthy:
				good++
			}
		})
	}
	if all == 0 {
		return "there are no Applications"
	}
	text := fmt.Sprintf("%d of %s healthy", good, words.Count(all, "Application"))
	if missing > 0 {
		text += fmt.Sprintf(", %d not created yet", missing)
	}
	if unseen > 0 {
		text += fmt.Sprintf(", %d cannot be watched", unseen)
	}
	if len(roots) > 1 {
		return fmt.Sprintf("%s: %s", words.Count(len(roots), "root"), text)
	}
	if wave, ok := roots[0].Running(); ok {
		text += fmt.Sprintf(", wave %d runs", wave)
	}
	return fmt.Sprintf("%s: %s", s.Title(roots[0]), text)
}

func waveOf(n *live.Node) string {
	if n.Parent == nil {
		return "-"
	}
	return strconv.Itoa(n.Wave)
}

func age(now, since time.Time) string {
	if since.IsZero() {
		return "-"
	}
	return words.Age(now.Sub(since))
}

// MostWaits bounds the names of what an Application waits for.
const MostWaits = 4

// WaitsFor names what an Application waits for, "" if nothing.
func WaitsFor(s *live.Snapshot, n *live.Node) string {
	if !n.Deleting.IsZero() {
		return "its deletion"
	}
	var names []string
	reason := live.Reason("")
	for _, w := range n.Waits {
		reason = w.Reason
		switch {
		case w.Reason == live.ForWave:
			return fmt.Sprintf("wave %d of %s", n.Wave, s.Title(w.Node))
		case w.Node != nil:
			names = append(names, s.Title(w.Node))
		case w.Object.Kind != "":
			names = append(names, w.Object.String())
		}
	}
	switch reason {
	case live.ForRetry:
		return fmt.Sprintf("the next retry of its sync, which failed (retries so far: %d)", n.Operation.Retries)
	case live.ForWindow:
		return "a sync window"
	case live.ForNobody:
		return "a manual sync (it has no automated sync)"
	case live.ForHook:
		return "hook " + words.Some(names)
	case live.ForDeletion:
		return "deletion of " + words.Some(names)
	}
	if len(n.Waits) == 0 {
		return trouble(n)
	}
	return words.First(names, MostWaits)
}

// trouble is the first error that Argo CD reports, "" if there is none.
func trouble(n *live.Node) string {
	if n.Unseen != "" {
		return "(it cannot be watched)"
	}
	if what, _ := n.Trouble(); what != "" {
		return "(" + what + "; argosy why says more)"
	}
	return ""
}

// Unseen are the sources that are not watched, each with its reason.
func Unseen(s *live.Snapshot) []string {
	var out []string
	for _, source := range s.Sources {
		if source.Lost != nil {
			out = append(out, fmt.Sprintf("%s: %s", source, live.Brief(source.Lost)))
		}
	}
	return out
}

// StatusObject is the status for programs.
func StatusObject(s *live.Snapshot, roots []*live.Node) map[string]any {
	apps, unknown := []any{}, []any{}
	for _, root := range roots {
		root.All(func(n *live.Node) { apps = append(apps, nodeObject(n)) })
	}
	for _, source := range s.Sources {
		if source.Lost != nil {
			unknown = append(unknown, map[string]any{"what": source.String(), "why": live.Brief(source.Lost)})
		}
	}
	return map[string]any{"at": moment(s.At), "applications": apps, "unknown": unknown}
}

// moment is a time for programs; zero is none.
func moment(t time.Time) any {
	if t.IsZero() {
		return nil
	}
	return t.UTC().Format(time.RFC3339)
}

// nodeObject is an Application or a set of a boot.
func nodeObject(n *live.Node) map[string]any {
	o := map[string]any{
		"kind": n.Key().Kind, "namespace": n.Namespace, "name": n.Name, "wave": int64(n.Wave), "phase": n.Phase, "created": !n.Missing,
		"health": string(n.Health), "healthSince": moment(n.HealthSince), "sync": n.Sync, "syncSince": moment(n.SyncSince),
		"revisions": Texts(n.Revisions), "depth": int64(n.Depth), "good": n.Good(),
	}
	if n.Parent != nil {
		o["parent"] = map[string]any{"kind": n.Parent.Key().Kind, "namespace": n.Parent.Namespace, "name": n.Parent.Name}
	}
	waits := []any{}
	for _, w := range n.Waits {
		entry := map[string]any{"for": string(w.Reason)}
		if w.Object.Kind != "" {
			entry["group"], entry["kind"] = w.Object.Group, w.Object.Kind
			entry["namespace"], entry["name"] = w.Object.Namespace, w.Object.Name
		}
		waits = append(waits, entry)
	}
	o["waits"] = waits
	if op := n.Operation; op != nil {
		o["operation"] = map[string]any{
			"phase": op.Phase, "message": op.Message, "started": moment(op.Started), "finished": moment(op.Finished),
			"retries": int64(op.Retries), "retryLimit": int64(op.Limit), "revisions": Texts(op.Revisions), "partial": len(op.Only) > 0,
		}
	}
	if n.Cut != "" {
		o["cut"] = n.Cut
	}
	if n.Unseen != "" {
		o["created"], o["unseen"] = nil, n.Unseen
	}
	return o
}
