package health

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestTrial: what health checks as users have them see in samples.
func TestTrial(t *testing.T) {
	type traits struct {
		Healthy                                        Status
		SyncAware, SeesBroken, SeesOutdated, Itself    bool
		Ignores                                        Status
		WithoutStatus, FailsWithoutStatus, FailsAlways bool // WithoutStatus says that it is Healthy then
	}
	const ifStatus = "if obj.status == nil or obj.status.health == nil then return {status = 'Progressing'} end\n"
	for name, c := range map[string]struct {
		script string
		want   traits
	}{
		"ours": {ApplicationScript, traits{Healthy: Healthy, SyncAware: true, SeesBroken: true, SeesOutdated: true, Itself: true}},
		"copies": {
			ifStatus + "return {status = obj.status.health.status}", traits{Healthy: Healthy},
		},
		"copies, fails without a status": {
			"return {status = obj.status.health.status}", traits{Healthy: Healthy, FailsWithoutStatus: true},
		},
		"demands Synced": {
			ifStatus + "if obj.status.sync.status ~= 'Synced' then return {status = 'Progressing'} end return obj.status.health",
			traits{Healthy: Healthy, SyncAware: true, SeesBroken: true},
		},
		"sees operations": {
			ifStatus + "if obj.status.operationState ~= nil and obj.status.operationState.phase == 'Running' then return {status = " +
				"'Progressing'} end return obj.status.health",
			traits{Healthy: Healthy, SyncAware: true},
		},
		"demands an operation": {
			ifStatus + "if obj.status.operationState == nil then return {status = 'Progressing'} end return obj.status.health",
			traits{Healthy: Healthy, SeesBroken: true},
		},
		"always": {"return {status = 'Healthy'}", traits{Healthy: Healthy, Itself: true, Ignores: Progressing, WithoutStatus: true}},
		"Degraded is good enough": {
			ifStatus + "if obj.status.health.status == 'Degraded' then return {status = 'Healthy'} end return obj.status.health",
			traits{Healthy: Healthy, Ignores: Degraded},
		},
		"never":       {"return {status = 'Progressing'}", traits{Healthy: Progressing, SyncAware: true, SeesBroken: true, SeesOutdated: true}},
		"fails":       {"return {status = obj.x.y}", traits{FailsWithoutStatus: true, FailsAlways: true}},
		"no check":    {"", traits{}},
		"its project": {"return {status = obj.spec.project == 'default' and 'Healthy' or 'Unknown'}", traits{Healthy: Healthy, Itself: true, Ignores: Progressing, WithoutStatus: true}},
	} {
		t.Run(name, func(t *testing.T) {
			trial := Trial{Checks: Customizations{"argoproj.io/Application": {Health: c.script}}, Namespace: "cd"}
			if key, err := trial.Checks.OfApplications(); (key != "") != (c.script != "") || err != nil {
				t.Errorf("key %q, %v", key, err)
			}
			healthy, _, err := trial.Run(SampleHealthy)
			got := traits{
				Healthy: healthy.Status, SyncAware: trial.SyncAware(), SeesBroken: trial.SeesBroken(), SeesOutdated: trial.SeesOutdated(),
				Itself: trial.KnowsItself(), Ignores: trial.Ignores(), FailsAlways: err != nil,
			}
			for _, s := range []Sample{SampleNew, SampleEmpty} {
				h, _, err := trial.Run(s)
				got.WithoutStatus, got.FailsWithoutStatus = got.WithoutStatus || h.Status == Healthy, got.FailsWithoutStatus || err != nil
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// TestTrialOfSets: whether the health check of sets waits for their Applications.
func TestTrialOfSets(t *testing.T) {
	for name, c := range map[string]struct {
		script string
		want   bool
	}{
		"ours":   {ApplicationSetScript, true},
		"always": {"return {status = 'Healthy'}", false},
		"fails":  {"return {status = obj.x.y}", false},
		"none":   {"", false},
	} {
		t.Run(name, func(t *testing.T) {
			trial := Trial{Checks: Customizations{"argoproj.io/ApplicationSet": {Health: c.script}}}
			if got := trial.SeesSets(); got != c.want {
				t.Errorf("got %t", got)
			}
		})
	}
}
