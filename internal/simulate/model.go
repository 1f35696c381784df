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
	// Grace is how long Argo CD says nothing about an Application whose manifests it cannot make, Resync how often it looks at one by
	// itself.
	Grace, Resync time.Duration
	// Jitter makes each time of a workload longer by up to this part of it, by chance.
	Jitter float64
	Seed   uint64
	// Horizon is when the simulation ends, whatever happens.
	Horizon time.Duration
}

// DefaultModel is a cluster that has its images at hand. Pause is Argo CD's, the others are what the lab shows.
func DefaultModel() Model {
	return Model{
		Kinds: map[string]time.Duration{
			"Deployment": 20 * time.Second, "StatefulSet": 40 * time.Second, "DaemonSet": 20 * time.Second, "ReplicaSet": 20 * time.Second,
			"Pod": 15 * time.Second, "Job": 30 * time.Second,
			"PersistentVolumeClaim": 2 * time.Second, "CustomResourceDefinition": time.Second, "APIService": 20 * time.Second,
			"Ingress": 2 * time.Second, "Certificate": 30 * time.Second,
			"Service": 0, "HorizontalPodAutoscaler": 0, "PersistentVolume": 0, "Namespace": 0, UnknownContent: 20 * time.Second,
		},
		Refresh: time.Second, Apply: time.Second, Notice: time.Second, Pause: 2 * time.Second, Generate: 2 * time.Second,
		Grace: 3 * time.Minute, Resync: 3 * time.Minute, Horizon: 24 * time.Hour,
	}
}

// UnknownContent is the kind of what an Application deploys that is not known here, such as a chart in a repository of charts.
const UnknownContent = "unknown content of"

// simple are the kinds with a health check that run nothing. All others are workloads: what takes time, and goes wrong.
var simple = []string{
	"ApplicationSet", "BackendTLSPolicy", "CustomResourceDefinition", "GatewayClass", "HorizontalPodAutoscaler", "Ingress", "Namespace",
	"PersistentVolume", "PersistentVolumeClaim", "Service",
}

func workload(kind string) bool { return !slices.Contains(simple, kind) }

// base is what an object takes without chance.
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

// Fault is something that goes wrong with the workloads of an Application.
type Fault struct {
	App      string
	Kind     FaultKind
	From, To time.Duration // of Degrade; To 0 is for ever
	// Mended is when a commit mends what failed, after it did; 0 is never.
	Mended time.Duration
}
