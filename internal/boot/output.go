package boot

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/argosy-cd/argosy/internal/argo/order"
	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/live/course"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/screen"
	"github.com/argosy-cd/argosy/internal/words"
)

// output prints a boot: events as lines of JSON, or sentences with a screen below them.
type output struct {
	json   bool
	screen *screen.Screen
	now    func() time.Time
	start  time.Time
	checks []Check
	shown  int // checks
}

func newOutput(c Config) *output {
	c.Screen.Out = c.Follow.Out
	o := &output{json: c.Follow.Format == report.JSON, now: c.Follow.Now}
	if o.json {
		c.Screen.Size = nil
	}
	o.screen = screen.New(c.Screen)
	return o
}

// event is the name of an event, for programs. Those of the course have the names that package course gives them.
type event string

// Events.
const (
	eventPreflight event = "preflight"
	eventFixed     event = "fixed"
	eventInstalled event = "installed"
	eventWaiting   event = "waiting"
	eventApplied   event = "applied"
	eventStale     event = "stale"
	eventUnwedged  event = "unwedged"
	eventRestarted event = "restarted"
	eventLost      event = "lost"
	eventWatching  event = "watching"
	eventBlocked   event = "blocked"
	eventCompared  event = "compared"
	eventLearnt    event = "learnt"
	eventError     event = "error"
	eventDone      event = "done"
)

// outcome is how a boot ended, for programs.
type outcome string

// Outcomes.
const (
	outcomeHealthy outcome = "healthy"
	outcomeNothing outcome = "nothing-to-do"
	outcomeTimeout outcome = "timeout"
	outcomeRefused outcome = "refused" // by a check
	outcomeDryRun  outcome = "dry-run"
)

// say prints an event: its fields for programs, a sentence for people; "" is none for people.
func (o *output) say(name event, fields map[string]any, format string, args ...any) {
	if o.json {
		line := map[string]any{"at": o.now().UTC().Format(time.RFC3339Nano), "event": string(name)}
		for k, v := range fields {
			line[k] = v
		}
		var b bytes.Buffer
		if report.ObjectLine(&b, line) == nil {
			o.screen.Line("%s", strings.TrimSuffix(b.String(), "\n"))
		}
		return
	}
	if text := words.Harmless(fmt.Sprintf(format, args...)); text != "" {
		o.screen.Line("%s", o.stamp()+text)
	}
}

// end says how the boot ended.
func (o *output) end(result outcome, format string, args ...any) {
	o.say(eventDone, map[string]any{"result": string(result)}, format, args...)
}

// stamp is the time since the root was applied.
func (o *output) stamp() string {
	if o.start.IsZero() {
		return ""
	}
	return fmt.Sprintf("%7s  ", words.Clock(o.now().Sub(o.start)))
}

// check adds a check; checked prints the checks that were not printed yet.
func (o *output) check(c Check) { o.checks = append(o.checks, c) }

func (o *output) checked() {
	fresh := o.checks[o.shown:]
	o.shown = len(o.checks)
	if o.json {
		for _, c := range fresh {
			fields := map[string]any{"check": c.Name, "verdict": string(c.Verdict), "text": c.Text}
			if c.Fix != "" {
				fields["fix"] = c.Fix
			}
			o.say(eventPreflight, fields, "")
		}
		return
	}
	var b bytes.Buffer
	table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
	for _, c := range fresh {
		fmt.Fprintf(table, "  %s\t%s\t%s\n", c.Verdict, words.Printable(c.Name), words.Harmless(c.Text))
		if c.Fix != "" {
			fmt.Fprintf(table, "  \t\tfix: %s\n", words.Harmless(c.Fix))
		}
	}
	_ = table.Flush() // to memory
	for line := range strings.Lines(b.String()) {
		o.screen.Line("%s", strings.TrimRight(line, " \n"))
	}
}

// happened prints an event of the course.
func (o *output) happened(e course.Event) {
	fields := map[string]any{"kind": e.Key.Kind, "namespace": e.Key.Namespace, "name": e.Key.Name}
	phase := ""
	if e.Phase != order.Sync && e.Phase != "" {
		phase = e.Phase + " "
	}
	switch e.What {
	case course.WaveStarted, course.WaveFinished:
		fields["wave"], fields["phase"], fields["applications"] = int64(e.Wave), e.Phase, report.Texts(e.Applications)
		text := fmt.Sprintf("%s %swave %d: %s", e.Title, phase, e.Wave, words.Some(e.Applications))
		if e.What == course.WaveFinished {
			text = fmt.Sprintf("%s %s %swave %d is done", screen.Healthy, e.Title, phase, e.Wave)
		}
		o.say(event(e.What), fields, "%s", text)
		return
	}
	if e.Parent != "" {
		fields["parent"], fields["wave"], fields["phase"] = e.Parent, int64(e.Wave), e.Phase
	}
	text := map[course.What]string{
		course.Healthy: screen.Healthy + " %s is Healthy", course.Degraded: screen.Degraded + " %s is Degraded",
		course.Gone: screen.Missing + " %s is gone",
	}[e.What]
	if text != "" {
		text = fmt.Sprintf(text, e.Title)
	}
	o.say(event(e.What), fields, "%s", text)
}

// draw shows where the boot stands below the lines.
func (o *output) draw(s *live.Snapshot, roots []*live.Node) {
	if o.screen.Plain() {
		return
	}
	_, height := o.screen.Size()
	var b bytes.Buffer
	if report.Status(&b, report.Text, s, roots, o.now()) != nil {
		return
	}
	lines := strings.Split(strings.TrimSuffix(b.String(), "\n"), "\n")
	if most := height - 3; len(lines) > most && most > 1 {
		more := len(lines) - most + 1
		lines = append(lines[:most-1], fmt.Sprintf("  and %d more", more))
	}
	o.screen.Draw(append([]string{""}, lines...))
}

// close leaves the screen as it is.
func (o *output) close() { o.screen.Draw(nil) }
