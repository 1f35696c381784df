package demo

import (
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/board"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/simulate"
)

// TestPatientBoot: a repair is waited for, however late, and a sync that is tried for ever is not.
func TestPatientBoot(t *testing.T) {
	x := &plan.Application{
		Ref: argo.Ref{Name: "x"}, Automated: true,
		Items: []*plan.Item{{Kind: "Deployment", Name: "x", Phase: plan.Sync, Waits: true}},
	}
	root := &plan.Application{
		Ref: argo.Ref{Name: "root"}, Automated: true,
		Retry: plan.Retry{Limit: -1, First: time.Second, Factor: 2, Most: time.Minute}, Items: []*plan.Item{
			{Kind: "Application", Name: "x", Phase: plan.Sync, Waits: true, Application: x},
			{Kind: "ConfigMap", Name: "y", Phase: plan.Sync, Wave: 1},
		},
	}
	p := &plan.Plan{Root: root, Applications: []*plan.Application{root, x}}
	for _, repair := range []time.Duration{0, time.Second, 24 * time.Hour} {
		sim, err := board.FromSimulation(board.Checked{Plan: p}, simulate.DefaultModel(), simulate.Fault{App: "x", Kind: simulate.Fail, Mended: repair})
		if err != nil {
			t.Fatal(err)
		}
		if b := sim.Boot(); b.Done() != (repair > 0) || b.Cut != (repair == 0) || b.Total > repair+time.Hour {
			t.Errorf("%s: done %t, cut %t, %s", repair, b.Done(), b.Cut, b.Total)
		}
	}
}
