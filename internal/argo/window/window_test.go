package window_test

import (
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/argo/window"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// sunday is a noon.
var sunday = time.Date(2026, 3, 1, 12, 0, 0, 1, time.UTC)

// TestAt: whether a sync may begin on a Sunday at noon, and when it may. conformance/ compares many more with Argo CD.
func TestAt(t *testing.T) {
	deny := func(schedule, duration string) *window.Window {
		return &window.Window{Kind: "deny", Schedule: schedule, Duration: duration}
	}
	allow := func(schedule, duration string) *window.Window {
		return &window.Window{Kind: "allow", Schedule: schedule, Duration: duration}
	}
	for name, c := range map[string]struct {
		windows []*window.Window
		by      int
		until   string
		err     bool
	}{
		"none":                     {},
		"deny, open":               {windows: []*window.Window{deny("30 11 * * *", "1h")}, by: 1, until: "2026-03-01T12:30:00Z"},
		"deny, closed":             {windows: []*window.Window{deny("30 12 * * *", "1h")}},
		"deny, one after another":  {windows: []*window.Window{deny("30 11 * * *", "1h"), deny("0 12 * * *", "2h")}, by: 2, until: "2026-03-01T14:00:00Z"},
		"deny, ends when it opens": {windows: []*window.Window{deny("0 11,12 * * *", "1h")}, by: 1, until: "2026-03-01T13:00:00Z"},
		"deny, always":             {windows: []*window.Window{deny("* * * * *", "1h")}, by: 1},
		"allow, open":              {windows: []*window.Window{allow("0 11 * * sun", "2h")}},
		"allow, closed":            {windows: []*window.Window{allow("0 11 * * mon", "2h")}, by: 1, until: "2026-03-02T11:00:00Z"},
		"allow, one of two":        {windows: []*window.Window{allow("0 11 * * mon", "2h"), allow("0 11 * * 0", "2h")}},
		"deny beats allow":         {windows: []*window.Window{allow("0 11 * * *", "5h"), deny("0 11 * * *", "2h")}, by: 1, until: "2026-03-01T13:00:00Z"},
		"never is always":          {windows: []*window.Window{allow("0 0 31 2 *", "1h")}},
		"day or weekday":           {windows: []*window.Window{allow("0 11 15 * 0", "2h")}},
		"every second day":         {windows: []*window.Window{allow("0 11 */2 * 1", "2h")}},
		"bad schedule":             {windows: []*window.Window{allow("0 25 * * *", "2h")}, err: true},
		"bad duration":             {windows: []*window.Window{allow("0 5 * * *", "2 hours")}, err: true},
		"zone in the schedule":     {windows: []*window.Window{allow("TZ=UTC 0 5 * * *", "2h")}, err: true},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := window.At(c.windows, false, sunday)
			until := ""
			if !v.Until.IsZero() {
				until = v.Until.UTC().Format(time.RFC3339)
			}
			if (err != nil) != c.err || v.Allowed != (c.by == 0 && !c.err) || len(v.By) != c.by || until != c.until {
				t.Errorf("%v, %d windows, until %q, %v", v.Allowed, len(v.By), until, err)
			}
		})
	}
}

// TestSummerTime: the clock of the zone decides. It is set forward at 2:00 on March 29.
func TestSummerTime(t *testing.T) {
	w := &window.Window{Kind: "deny", Schedule: "0 0 29 3 *", Duration: "12h", TimeZone: "Europe/Berlin"}
	v, err := window.At([]*window.Window{w}, false, time.Date(2026, 3, 29, 0, 30, 0, 0, time.UTC))
	if err != nil || v.Allowed || v.Until.UTC().Format(time.RFC3339) != "2026-03-29T10:00:00Z" {
		t.Error(v, err)
	}
}

// TestManual: a window can let syncs by hand begin.
func TestManual(t *testing.T) {
	w := &window.Window{Kind: "deny", Schedule: "* * * * *", Duration: "1h", ManualSync: true}
	for _, manual := range []bool{false, true} {
		if v, err := window.At([]*window.Window{w}, manual, sunday); err != nil || v.Allowed != manual {
			t.Errorf("manual %v: %v, %v", manual, v.Allowed, err)
		}
	}
}

// FuzzAt: no window keeps us busy.
func FuzzAt(f *testing.F) {
	f.Add("*/20 8-17 * * mon-fri", "30m", "Europe/Berlin", int64(0))
	f.Add("0 0 31 2 *", "1h", "", int64(1_772_366_400))
	f.Add("5/9223372036854775807 * * * *", "-9223372036854775808ns", "x", int64(-1))
	f.Fuzz(func(t *testing.T, schedule, duration, zone string, at int64) {
		project := manifest.Object{"spec": map[string]any{"syncWindows": []any{map[string]any{
			"kind": "allow", "schedule": schedule, "duration": duration, "timeZone": zone, "applications": []any{"*"},
		}}}}
		windows := window.For(window.Of(project), window.App{Name: "a"})
		if len(windows) != 1 {
			t.Fatal(len(windows))
		}
		now := time.Unix(at%4_000_000_000, 0)
		if v, err := window.At(windows, false, now); err == nil && !v.Until.IsZero() && v.Until.Before(now) {
			t.Errorf("until %s is before %s", v.Until, now)
		}
	})
}
