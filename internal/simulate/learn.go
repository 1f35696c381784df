package simulate

import (
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/health"
	"github.com/argosy-cd/argosy/internal/words"
)

// longestLearnt is more than any boot takes: another time is a mistake.
const longestLearnt = 30 * 24 * time.Hour

// learn takes times from a boot, by the names that simulations have: from when everything of an Application was applied until it was
// healthy. file is the name of the data in messages.
func learn(file string, data []byte, apply time.Duration, note func(string)) (map[string]time.Duration, error) {
	var boot struct {
		Events []learntEvent       `json:"events"`
		Items  []learntApplication `json:"items"`
	}
	if err := json.Unmarshal(data, &boot); err != nil || boot.Events == nil && boot.Items == nil {
		return nil, fmt.Errorf("%s: it is not a boot; it must be the output of kubectl get applications -A -o json, "+
			"or of argosy simulate -o json; a file of argosy boot --learn is for --model", file)
	}
	var out map[string]time.Duration
	var err error
	if boot.Items != nil {
		out, err = learnCluster(file, boot.Items, note)
	} else {
		out, err = learnEvents(file, boot.Events, apply)
	}
	if err == nil && len(out) == 0 {
		err = fmt.Errorf("%s: it does not say of any Application how long it took to become healthy", file)
	}
	return out, err
}

// learntEvent is an event as argosy simulate -o json writes it. Detail is the health where older versions wrote no Health.
type learntEvent struct {
	At                  float64
	Application, Detail string
	What                What
	Health              health.Status
}

func learnEvents(file string, events []learntEvent, apply time.Duration) (map[string]time.Duration, error) {
	began, out := map[string]float64{}, map[string]time.Duration{}
	for _, e := range events {
		switch {
		case !(e.At >= 0 && e.At <= longestLearnt.Seconds()):
			return nil, fmt.Errorf("%s: at must be seconds, 0 to %g, it is %g", file, longestLearnt.Seconds(), e.At)
		case e.What == WaveStarted:
			began[e.Application] = e.At
		case e.What == BecameState && cmp.Or(e.Health, health.Status(e.Detail)) == health.Healthy:
			if start, ok := began[e.Application]; ok && e.At >= start {
				took := time.Duration((e.At - start) * float64(time.Second)).Round(time.Millisecond)
				out[e.Application] = max(took-apply, 0)
			}
		}
	}
	return out, nil
}

// learntApplication has the fields of a cluster's Application about its boot.
type learntApplication struct {
	Kind     string
	Metadata struct{ Name, Namespace string }
	Status   struct {
		Health struct {
			Status             string
			LastTransitionTime *time.Time
		}
		OperationState struct {
			Phase      string
			FinishedAt *time.Time
		}
	}
}

// learnCluster reads when syncs ended, which is when the last wave was applied, and when Applications became healthy. An Application that
// was synced again later has lost these times.
func learnCluster(file string, apps []learntApplication, note func(string)) (map[string]time.Duration, error) {
	refs := make([]argo.Ref, len(apps))
	for i, a := range apps {
		if a.Kind != argo.KindApplication {
			return nil, fmt.Errorf("%s: %s %q is in it; it must be a list of Applications", file, words.Printable(a.Kind), a.Metadata.Name)
		}
		refs[i] = argo.Ref{Namespace: a.Metadata.Namespace, Name: a.Metadata.Name}
	}
	names := argo.Names(refs)
	out, forgotten := map[string]time.Duration{}, map[string]bool{}
	for i, a := range apps {
		name := names[i]
		healthy, applied := a.Status.Health.LastTransitionTime, a.Status.OperationState.FinishedAt
		if a.Status.Health.Status != string(health.Healthy) || healthy == nil || applied == nil ||
			a.Status.OperationState.Phase != argo.PhaseSucceeded {
			forgotten[name] = true
			continue
		}
		took := healthy.Sub(*applied)
		// Both are whole seconds: healthy when it was applied may look like before it.
		if took < -time.Second || took > longestLearnt {
			forgotten[name] = true
			continue
		}
		out[name] = max(took, 0)
	}
	if len(forgotten) > 0 && len(out) > 0 {
		list := slices.Sorted(maps.Keys(forgotten))
		note(fmt.Sprintf("%s: %s without a known duration (not healthy, or synced again since), such as %s", file,
			words.Count(len(list), "Application"), words.Printable(list[0])))
	}
	return out, nil
}
