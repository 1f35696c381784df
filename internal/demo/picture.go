package demo

import (
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/screen"
	"github.com/argosy-cd/argosy/internal/simulate"
	"github.com/argosy-cd/argosy/internal/words"
)

// describeAnswer counts the objects of an answer.
func describeAnswer(objects []manifest.Object) string {
	apps := 0
	for _, o := range objects {
		if argo.IsApplication(o) {
			apps++
		}
	}
	switch {
	case apps == 0:
		return words.Count(len(objects), "object")
	case apps == len(objects):
		return words.Count(apps, "Application")
	}
	return words.Count(apps, "Application") + " and " + words.Count(len(objects)-apps, "other object")
}

// group is the Applications of one wave.
type group struct {
	parent string
	wave   int
	runs   []*simulate.Run
}

// groups are all Applications but the root.
func groups(b *simulate.Boot) []*group {
	var out []*group
	by := map[string]*group{}
	for _, r := range b.Runs {
		if r.Parent == "" {
			continue
		}
		key := fmt.Sprint(r.Parent, "\x00", r.Wave)
		if by[key] == nil {
			by[key] = &group{parent: r.Parent, wave: r.Wave}
			out = append(out, by[key])
		}
		by[key].runs = append(by[key].runs, r)
	}
	return out
}

// picture is how far the boot is.
func (v *show) picture() []string {
	width, height := v.Size()
	healthy, runs := 0, v.boot.Applications()
	for _, r := range runs {
		if v.state[r.Name] == health.Healthy {
			healthy++
		}
	}
	all := len(runs)
	const bar = 30
	full := healthy * bar / max(all, 1)
	lines := []string{"", fmt.Sprintf("%7s  %s%s  %d of %d healthy", words.Clock(v.clock.passed()), strings.Repeat("█", full),
		strings.Repeat("░", bar-full), healthy, all)}
	list := groups(v.boot)
	if most := max(height-5, 1); len(list) > most {
		// Begin with the first group that is not healthy.
		first := slices.IndexFunc(list, func(g *group) bool {
			return slices.ContainsFunc(g.runs, func(r *simulate.Run) bool { return v.state[r.Name] != health.Healthy })
		})
		first = max(0, min(max(first, 0), len(list)-most))
		list = list[first : first+most]
	}
	for _, g := range list {
		lines = append(lines, v.groupLine(g, width))
	}
	if v.last != "" {
		lines = append(lines, "         "+v.last)
	}
	return lines
}

// groupLine is one wave: a mark for each Application, and the names of those that it waits for.
func (v *show) groupLine(g *group, width int) string {
	var marks strings.Builder
	var busy []string
	done := 0
	for _, r := range g.runs {
		state, there := v.state[r.Name]
		switch {
		case !there:
			marks.WriteString(screen.Missing)
		case state == health.Healthy:
			marks.WriteString(screen.Healthy)
			done++
		case state == health.Degraded:
			marks.WriteString(screen.Degraded)
			busy = append(busy, words.Printable(r.Name))
		default:
			marks.WriteString(screen.Busy)
			busy = append(busy, words.Printable(r.Name))
		}
	}
	text := marks.String()
	if len(g.runs) > max(width/3, 10) {
		text = fmt.Sprintf("%d of %d", done, len(g.runs))
	}
	return fmt.Sprintf("         %-22s %s  %s", words.Cut(fmt.Sprintf("%s wave %d", words.Printable(g.parent), g.wave), 22), text,
		strings.Join(busy, " "))
}

// summary prints the results of the demo.
func (v *show) summary() {
	healthy, all := 0, v.boot.Applications()
	for _, r := range all {
		if r.Health == health.Healthy {
			healthy++
		}
	}
	name := words.Printable(v.boot.Runs[0].Name)
	if v.boot.Done() {
		if len(v.plan.Summary().Hiding) > 0 {
			name = "what is known of " + name
		}
		v.Line("\n%s is booted: %s healthy after %s", name, words.Count(healthy, "Application"), words.Clock(v.boot.Total))
	} else {
		after := "nothing happens after "
		if v.boot.Cut {
			after = "Argo CD keeps retrying; this is "
		}
		v.Line("\n%s is NOT booted: %d of %s healthy, and %s%s", name, healthy, words.Count(len(all), "Application"), after,
			words.Clock(v.boot.Total))
	}
	for _, line := range v.boot.Blocked() {
		v.Line("  %s", words.Harmless(line))
	}
	if n := v.asked[argo.PluginAppSet]; n > 0 {
		v.Line("  plugin appset  answered %s through its socket", often(n))
	}
	if n := v.asked[argo.PluginS3]; n > 0 {
		v.Line("  plugin s3      answered %s through its socket, with %s to S3", often(n),
			words.Count(int(v.stage.reads.Load()), "request"))
	}
	if v.ticks > 0 {
		v.Line("  clocks         ticked %s, and were fetched with Git each time", often(v.ticks))
	}
	unknown := 0
	for _, app := range v.apps {
		if app.Broken == "" && slices.ContainsFunc(app.Sources, func(s plan.Source) bool { return s.Unknown != "" }) {
			unknown++
		}
	}
	if unknown > 0 {
		v.Line("  not known      the objects that %s, see the plan; the simulation gives them a default time", deploysText(unknown))
	}
}

func deploysText(n int) string {
	if n == 1 {
		return "1 Application deploys"
	}
	return fmt.Sprintf("%d Applications deploy", n)
}

// often is a number in a sentence.
func often(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
