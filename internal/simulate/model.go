package simulate

import (
	"math/rand/v2"
	"slices"
	"time"
)

// Model says how long things take.
type Model struct {
	// Kinds is the time from when an object is applied until it is healthy. Other kinds are healthy at once.
	Kinds map[string]time.Duration
	// Applications is the time that each workload of an Application takes, instead of that of its kind.
	Applications map[string]time.Duration
	// Refresh is from when an Application is made until its sync begins, Apply the time to apply a wave, Notice until a change of health is
	// seen by a sync, Pause between waves, Generate until the controller has made the Applications of a set.
	Refresh, Apply, Notice, Pause, Generate time.Duration
	// Grace is how long Argo CD does not report that it cannot render the manifests of an Application, Resync the interval of its own
	// refreshes.
	Grace, Resync time.Duration
	// Jitter lengthens each time of a workload by a random part of it, up to this fraction.
	Jitter float64
	Seed   uint64
	// Horizon is the time at which the simulation ends at the latest.
	Horizon time.Duration
}

// DefaultModel returns the model of a cluster with cached images. Pause is Argo CD's, the other times were measured in the lab.
func DefaultModel() Model {
	return Model{
		Kinds: map[string]time.Duration{
			"Deployment": 20 * time.Second, "StatefulSet": 40 * time.Second, "DaemonSet": 20 * time.Second, "ReplicaSet": 20 * time.Second,
			"Pod": 15 * time.Second, "Job": 30 * time.Second,
			"PersistentVolumeClaim": 2 * time.Second, "CustomResourceDefinition": time.Second, "APIService": 20 * time.Second,
			"Ingress": 2 * time.Second, "Certificate": 30 * time.Second,
			"Service": 0, "HorizontalPodAutoscaler": 0, "PersistentVolume": 0, "Namespace": 0, UnknownContent: 20 * time.Second,
			AssumedWorkload: 20 * time.Second,
		},
		Refresh: time.Second, Apply: time.Second, Notice: time.Second, Pause: 2 * time.Second, Generate: 2 * time.Second,
		Grace: 3 * time.Minute, Resync: 3 * time.Minute, Horizon: 24 * time.Hour,
	}
}

// UnknownContent is the kind of the placeholder for unknown content of an Application, such as an unavailable chart.
const UnknownContent = "unknown content of"

// AssumedWorkload is the kind of the placeholder for the workload of an Application that has a fault and no workload.
const AssumedWorkload = "a workload that is assumed for"

// placeholder reports whether a kind is that of an object that no Application deploys.
func placeholder(kind string) bool { return kind == UnknownContent || kind == AssumedWorkload }

// simple are the kinds with a health check that run nothing. All others are workloads, which take time and can fail.
var simple = []string{
	"ApplicationSet", "BackendTLSPolicy", "CustomResourceDefinition", "GatewayClass", "HorizontalPodAutoscaler", "Ingress", "Namespace",
	"PersistentVolume", "PersistentVolumeClaim", "Service",
}

func workload(kind string) bool { return !slices.Contains(simple, kind) }

// base is the duration of an object without jitter.
func (m *Model) base(app, kind string) time.Duration {
	if own, ok := m.Applications[app]; ok && workload(kind) {
		return own
	}
	return m.Kinds[kind]
}

func (m *Model) duration(app, kind string, random *rand.Rand) time.Duration {
	d := m.base(app, kind)
	if m.Jitter > 0 {
		d += time.Duration(float64(d) * m.Jitter * random.Float64())
	}
	return d
}

// FaultKind is how a fault goes on.
type FaultKind string

// Kinds of faults.
const (
	Fail    FaultKind = "fail"    // its workloads become Degraded, until a commit mends them
	Never   FaultKind = "never"   // they never become healthy
	Degrade FaultKind = "degrade" // they are Degraded for a time
)

// Fault is a fault of the workloads of an Application.
type Fault struct {
	App      string
	Kind     FaultKind
	From, To time.Duration // of Degrade; To 0 is for ever
	// Mended is the time from the failure to the commit that mends it; 0 is never.
	Mended time.Duration
}
