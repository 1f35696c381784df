package conformance

import (
	"encoding/json"
	"io"
	"math/rand/v2"
	"os"
	"testing"
	"testing/synctest"
	"time"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	log "github.com/sirupsen/logrus"

	"github.com/argosy-cd/argosy/internal/argo/window"
	"github.com/argosy-cd/argosy/internal/manifest"
)

func (d dice) windows() manifest.Object {
	spec := map[string]any{}
	d.some(spec, "syncWindows", func() any {
		m := map[string]any{
			"kind": d.pick("allow", "deny"), "manualSync": d.IntN(2) == 0, "andOperator": d.IntN(2) == 0,
			"schedule": d.pick("* * * * *", "0 22 * * *", "*/20 8-17 * * mon-fri", "30 4 1,15 * 5", "0 0 31 2 *", "5/7 * * * *", "0 0 ? 2 0", "1-59/61 * * * *",
				"0 0 * jan,DEC sat", "10-20/3 */5 */2 * *", "0 2 * 3-11 sun", ", * * * *", "59 23 31 12 *", "0 0 29 2 *", "0 12 */1 * 1", "60 * * * *",
				"* * * *", "@daily", "*-5 * * * *", "*/0 * * * *", "9-3 * * * *", "a * * * *", "1-2-3 * * * *", "*/2/3 * * * *", "0 0 0 * *", "0 0 * * 7", ""),
			"duration": d.pick("1h", "10m", "24h", "30s", "90m", "1000h", "0s", "-1h", "1 hour"),
		}
		d.maybe(m, "timeZone", "UTC", "Europe/Berlin", "America/New_York", "Asia/Kolkata", "Nowhere/Land", "Australia/Lord_Howe")
		d.some(m, "applications", func() any { return d.pick("*", "a*", "b", "{a,c}") })
		d.some(m, "namespaces", func() any { return d.pick("*", "n", "team-*") })
		d.some(m, "clusters", func() any { return d.pick("*", "far", "https://*", "in-cluster") })
		return m
	})
	return manifest.Object{"kind": "AppProject", "metadata": map[string]any{"name": "p"}, "spec": spec}
}

// TestWindows compares sync windows with Argo CD's own methods, at times over some years. When we say that a sync is blocked until a time,
// it is blocked before and allowed then.
func TestWindows(t *testing.T) {
	log.SetOutput(io.Discard)
	defer log.SetOutput(os.Stderr)
	d := dice{rand.New(rand.NewPCG(21, 22))}
	count := map[string]int{}
	for range 2_000 {
		o := d.windows()
		data, err := json.Marshal(o)
		if err != nil {
			t.Fatal(err)
		}
		var theirs v1alpha1.AppProject
		if err := json.Unmarshal(data, &theirs); err != nil {
			t.Fatal(err)
		}
		a := window.App{
			Name: d.pick("a", "ab", "b", "c").(string), Namespace: d.pick("n", "team-x", "").(string),
			Server: d.pick("", "https://kubernetes.default.svc").(string), Cluster: d.pick("", "far", "in-cluster").(string),
		}
		app := &v1alpha1.Application{}
		app.Name = a.Name
		app.Spec.Destination = v1alpha1.ApplicationDestination{Namespace: a.Namespace, Server: a.Server, Name: a.Cluster}
		synctest.Test(t, func(t *testing.T) {
			time.Sleep(time.Duration(d.Int64N(int64(5*365*24*time.Hour))).Truncate(time.Second) + time.Millisecond)
			matching := theirs.Spec.SyncWindows.Matches(app)
			ours := window.For(window.Of(o), a)
			if matching.HasWindows() != (len(ours) > 0) || matching.HasWindows() && len(*matching) != len(ours) {
				t.Fatalf("%d windows match, Argo CD says %v\n%s\n%v", len(ours), matching, data, a)
			}
			for _, manual := range []bool{false, true} {
				got, gotErr := window.At(ours, manual, time.Now())
				want, wantErr := matching.CanSync(manual)
				if (gotErr == nil) != (wantErr == nil) || got.Allowed != want {
					t.Fatalf("at %s: %v %v, Argo CD says %v %v\n%s", time.Now(), got, gotErr, want, wantErr, data)
				}
				switch {
				case gotErr != nil:
					count["invalid"]++
				case want:
					count["allowed"]++
				case got.Until.IsZero():
					count["blocked for ever"]++
				case manual: // time goes on once
				default:
					count["blocked"]++
					time.Sleep(time.Until(got.Until) - time.Second)
					if want, _ := matching.CanSync(manual); want {
						t.Fatalf("at %s, before %s, Argo CD syncs\n%s", time.Now(), got.Until, data)
					}
					time.Sleep(2 * time.Second)
					if want, _ := matching.CanSync(manual); !want {
						t.Fatalf("at %s, after %s, Argo CD does not sync\n%s", time.Now(), got.Until, data)
					}
				}
			}
		})
	}
	t.Log(count)
	for _, what := range []string{"invalid", "allowed", "blocked for ever", "blocked"} {
		if count[what] < 50 {
			t.Errorf("%s: %d", what, count[what])
		}
	}
}
