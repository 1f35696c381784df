package report

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/source"
	"github.com/argosy-cd/argosy/internal/words"
)

// planTable prints a plan for people: each Application that deploys others, wave by wave.
func planTable(out io.Writer, p *plan.Plan, resources bool) error {
	w := bufio.NewWriter(out)
	for _, app := range p.Applications {
		if app == p.Root || resources || app.DeploysOthers() {
			planSection(w, app, resources)
		}
	}
	writeFindings(w, "FINDINGS", p)
	if len(p.Findings) > 0 {
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, summaryLine(p))
	// Without a word about it the newest is taken, which is worth a line only if something depends on it.
	depends := slices.ContainsFunc(p.Findings, func(f plan.Finding) bool { return f.Rule.Name == plan.RuleControllerUnknown.Name })
	if p.VersionFrom != plan.VersionNotSeen || depends {
		fmt.Fprintf(w, "for Argo CD %s: %s\n", p.Version, versionFrom(p))
	}
	return flush(w)
}

// versionFrom says where the version of Argo CD is from.
func versionFrom(p *plan.Plan) string {
	switch p.VersionFrom {
	case plan.VersionGiven:
		return "--argocd-version"
	case plan.VersionNotSeen:
		return plan.VersionNotSeen + "; --argocd-version chooses another"
	}
	return words.Printable(p.VersionFrom)
}

// planSection prints what one Application deploys.
func planSection(w io.Writer, app *plan.Application, resources bool) {
	from := "from " + words.Printable(describePlanSources(app))
	if app.Applied {
		from = "by hand"
	}
	fmt.Fprintf(w, "%s, %s\n", words.Printable(app.Name), from)
	waves := app.Waves()
	for i, wave := range waves {
		rows := planRows(wave, resources)
		if len(rows) == 0 {
			continue
		}
		text := "   nobody waits: all waves are applied by hand at once"
		if !app.Applied {
			text = waitText(wave, i == len(waves)-1)
		}
		fmt.Fprintf(w, "\n  WAVE %d%s%s\n", wave.Wave, phaseName(wave.Phase), words.Harmless(text))
		t := tabwriter.NewWriter(w, 0, 0, 3, ' ', 0)
		for _, row := range rows {
			for j, cell := range row {
				row[j] = words.Printable(cell)
			}
			fmt.Fprintf(t, "    %s\n", strings.TrimRight(strings.Join(row, "\t"), "\t"))
		}
		_ = t.Flush() // to memory
	}
	fmt.Fprintln(w)
}

func phaseName(phase string) string {
	if phase == plan.Sync {
		return ""
	}
	return " " + phase
}

// waitText says whether the next wave waits for this one.
func waitText(wave plan.Wave, last bool) string {
	var not []string
	why, waits, shown, doubts := "", 0, 0, 0
	for _, item := range wave.Items {
		if item.Application != nil || item.Children != nil {
			shown++
		}
		switch {
		case item.Waits:
			waits++
		case item.Application != nil || item.Children != nil:
			not, why = append(not, item.Name), item.Why
			if item.InDoubt {
				doubts++
			}
		}
	}
	names, anyOf := words.Some(not), ""
	if n := len(not); n > 1 && n == shown { // their names are the lines below
		names, anyOf = fmt.Sprintf("the %d below", n), "any of "
	}
	switch {
	case doubts > 0 && doubts == len(not) && !last:
		return fmt.Sprintf("   IT IS NOT KNOWN whether the next wave waits for %s%s: %s", anyOf, names, why)
	case doubts > 0 && doubts == len(not):
		return fmt.Sprintf("   may be complete before %s %s healthy: %s", names, words.IsAre(len(not)), why)
	case last && len(not) > 0:
		return fmt.Sprintf("   is complete before %s %s healthy: %s", names, words.IsAre(len(not)), why)
	case last:
		return ""
	case len(not) > 0:
		return fmt.Sprintf("   the next wave DOES NOT WAIT for %s%s: %s", anyOf, names, why)
	default:
		return fmt.Sprintf("   the next wave waits for %d of %s", waits, words.Count(len(wave.Items), "object"))
	}
}

// planRows are the lines of a wave: name, kind, source, destination, what it deploys.
func planRows(wave plan.Wave, resources bool) [][]string {
	var rows [][]string
	for _, item := range wave.Items {
		switch {
		case item.Application != nil:
			rows = append(rows, applicationRow(item.Application, ""))
		case item.Children != nil:
			made := words.Count(len(item.Children), "Application")
			if item.Unknown != "" {
				made = "not known: " + item.Unknown
			}
			rows = append(rows, []string{item.Name, item.Kind, "", "", made})
			for _, child := range item.Children {
				rows = append(rows, applicationRow(child, "  "))
			}
		case resources:
			rows = append(rows, []string{item.Name, item.Kind, "", item.Namespace, movedText(item)})
		}
	}
	return rows
}

// movedText says that an object is not where it was written; "" if it is.
func movedText(item *plan.Item) string {
	if item.Moved == "" {
		return ""
	}
	return "moved from " + item.Moved
}

func applicationRow(app *plan.Application, indent string) []string {
	deploys := words.Count(len(app.Items), "object")
	if app.Itself {
		deploys = "itself"
	}
	for _, s := range app.Sources {
		if s.Unknown != "" {
			deploys = "not known: " + s.Unknown
		}
	}
	if app.Broken != "" {
		deploys = "nothing, it is broken: " + app.Broken
	}
	return []string{
		indent + app.Name, argo.KindApplication, describePlanSources(app),
		strings.Replace(app.Destination.String(), "https://kubernetes.default.svc/", "in-cluster/", 1), deploys,
	}
}

func describePlanSources(app *plan.Application) string {
	var parts []string
	for _, s := range app.Sources {
		if s.Kind == source.Values {
			continue
		}
		what := s.Path
		if s.Chart != "" {
			what = s.Chart + " " + s.Revision
		}
		if what == "." || what == "" {
			what = giturl.Redact(s.Repository)
		}
		parts = append(parts, words.OrDash(what))
	}
	return words.OrDash(strings.Join(parts, " + "))
}
