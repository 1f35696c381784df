package boot

import (
	"bytes"
	"fmt"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/argosy-cd/argosy/internal/edit"
	"github.com/argosy-cd/argosy/internal/live/course"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/report"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/words"
)

// compared prints the differences between the plan and the boot.
func (w *watched) compared(c *course.Comparison) {
	if w.json {
		times := []any{}
		for _, t := range c.Times {
			o := map[string]any{
				"namespace": t.Ref.Namespace, "name": t.Ref.Name, "created": t.Created.Seconds(), "healthy": t.Healthy.Seconds(),
				"deploysOthers": t.Deploys,
			}
			if t.Took >= 0 {
				o["took"] = t.Took.Seconds()
			}
			times = append(times, o)
		}
		w.say(eventCompared, map[string]any{
			"planned": int64(c.Planned), "real": int64(c.Real), "absent": report.Texts(c.Absent), "unplanned": report.Texts(c.Unplanned),
			"order": report.Texts(c.Order), "times": times,
		}, "")
		return
	}
	w.screen.Line("")
	if len(c.Times) > 0 {
		var b bytes.Buffer
		table := tabwriter.NewWriter(&b, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "  APPLICATION\tCREATED\tHEALTHY\tTOOK")
		for _, t := range c.Times {
			took := "-"
			if t.Took >= 0 && !t.Deploys {
				took = t.Took.Round(100 * time.Millisecond).String()
			}
			fmt.Fprintf(table, "  %s\t%s\t%s\t%s\n", words.Printable(t.Title), words.Clock(t.Created), words.Clock(t.Healthy), took)
		}
		_ = table.Flush() // to memory
		for line := range strings.Lines(b.String()) {
			w.screen.Line("%s", strings.TrimRight(line, " \n"))
		}
		w.screen.Line("")
	}
	if c.Same() {
		w.say("", nil, "as planned: %s, in the order of their waves", words.Count(c.Planned, "Application"))
		return
	}
	w.say("", nil, "NOT AS PLANNED (%d planned, %d real)", c.Planned, c.Real)
	if len(c.Absent) > 0 {
		w.say("", nil, "  planned, and not there: %s", words.Some(c.Absent))
	}
	if len(c.Unplanned) > 0 {
		w.say("", nil, "  there, and not planned: %s", words.Some(c.Unplanned))
	}
	for i, text := range c.Order {
		if i == 5 {
			w.say("", nil, "  and %d more in another order", len(c.Order)-i)
			break
		}
		w.say("", nil, "  %s", text)
	}
}

// learn writes the times as a model for argosy simulate --model.
func (w *watched) learn(c *course.Comparison) error {
	names := map[[2]string]string{}
	for app, name := range simulate.Names(w.found.Plan) {
		names[[2]string{app.Namespace, app.Name}] = name
	}
	times := map[string]any{}
	for _, t := range c.Times {
		name, planned := names[[2]string{t.Ref.Namespace, t.Ref.Name}]
		if planned && t.Took >= 0 && !t.Deploys {
			times[name] = t.Took.Round(10 * time.Millisecond).String()
		}
	}
	if len(times) == 0 {
		w.say(eventLearnt, map[string]any{"applications": int64(0)}, "no times were measured, so %s is not written", w.Learn)
		return nil
	}
	data, err := manifest.Marshal(map[string]any{"applications": times})
	if err == nil {
		err = edit.Write(w.Learn, data)
	}
	if err == nil {
		w.say(eventLearnt, map[string]any{"applications": int64(len(times)), "file": w.Learn},
			"%s: the times of %s, for argosy simulate --model", w.Learn, words.Count(len(times), "Application"))
	}
	return err
}
