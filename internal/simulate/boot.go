package simulate

import (
	"slices"
	"time"

	"github.com/argosy-cd/argosy/internal/health"
)

// States that are no health of Argo CD's.
const (
	none health.Status = "" // there is no health check
	// Broken is the state of an Application whose manifests Argo CD cannot render; Argo CD itself calls it Healthy.
	Broken health.Status = "Broken"
)

// rank orders states from good to bad; an Application has the worst state of its objects. It is Unknown if Argo CD does not compare it.
func rank(h health.Status) int {
	return slices.Index([]health.Status{none, health.Healthy, health.Progressing, health.Missing, health.Degraded, health.Unknown}, h)
}

// What is the kind of an event.
type What string

// The things that happen.
const (
	Created     What = "created"
	Changed     What = "changed" // a new revision has reached it
	SyncStarted What = "sync"
	WaveStarted What = "wave"
	SyncFailed  What = "sync failed"
	SyncGivenUp What = "sync given up"
	Synced      What = "synced"
	BecameState What = "health" // with the new state
	Mended      What = "mended" // by a commit
	CannotMake  What = "broken" // its manifests
	Refused     What = "refused"
)

// Event is something that happens.
type Event struct {
	At     time.Duration
	App    string
	What   What
	Detail string // for people
	// Health is the new state for BecameState, Attempt the number of the sync for SyncStarted, from 1. Wave and Phase are for WaveStarted.
	Health        health.Status
	Attempt, Wave int
	Phase         string
}

// Run is the simulated run of an Application. Times that were never reached are negative.
type Run struct {
	Name   string
	Parent string // "" is the root's
	Depth  int
	Wave   int    // of the parent's sync
	Set    string // the ApplicationSet that made it without a wave, "" if none did
	// Awaited says that a wave waits for that set until its Applications are healthy.
	Awaited  bool
	Objects  int
	Created  time.Duration // in an update: when the new revision reached it
	Started  time.Duration // its sync
	Synced   time.Duration
	Healthy  time.Duration // for the last time
	Health   health.Status // at the end
	Attempts int
	WaitsFor []string // at the end: objects that its sync waits for
	// Unhealthy are its unhealthy objects at the end, with their states.
	Unhealthy []string
	GivenUp   bool
	// Failure says why its last sync failed, "" if it did not; Broken why its manifests cannot be rendered, Refused why Argo CD does not
	// compare it at all.
	Failure, Broken, Refused string
	// Touched says that an update changes it.
	Touched bool

	applied   bool // it stands for the manual apply, and is no Application
	byHand    bool
	waits     bool   // its parent waits for it
	phase     string // of the parent's sync
	leaf      bool   // it deploys no Applications
	last      Waited // the object that became healthy last
	lastSince time.Duration
	existed   bool // before the update
	relays    bool // its sync waits only for other Applications, also those of sets
}

// Old reports whether an update changes it, and it still runs its old revision.
func (r *Run) Old() bool { return r.existed && r.Touched && r.Created < 0 }

// Boot is a boot that was simulated.
type Boot struct {
	Events []Event
	Runs   []*Run // in the order of the plan
	// Total is when the last Application became healthy, or the time of the last event.
	Total time.Duration
	// Steps are the waves of all syncs, to say where time went.
	Steps []Step
	// Update says that it simulates a new revision in a booted cluster, and no boot. Removed are the Applications that it removes.
	Update  bool
	Removed []string
	// Cut says that the model's horizon has ended it before its last event.
	Cut bool
	by  map[string]*Run
}

// Applications returns the runs, without the one that stands for the manual apply.
func (b *Boot) Applications() []*Run {
	return slices.DeleteFunc(slices.Clone(b.Runs), func(r *Run) bool { return r.applied })
}

// Step is one wave of a sync.
type Step struct {
	App        string
	Phase      string
	Wave       int
	Start, End time.Duration // End is when the next one may start; negative is never
	// Waited are the objects that it waited for, with the time that each took, the slowest first.
	Waited []Waited
	Last   bool
}

// Waited is an object that a wave waited for.
type Waited struct {
	Object string
	App    string // if it is an Application
	Took   time.Duration
}

// Done reports whether all Applications became healthy, and no sync was given up, except for Applications that must be synced by hand.
func (b *Boot) Done() bool {
	return !slices.ContainsFunc(b.Runs, func(r *Run) bool { return !r.Done() })
}

// Done reports whether an Application became healthy in the end and its sync was not given up, or whether it must be synced by hand.
func (r *Run) Done() bool {
	return !r.GivenUp && (!r.Old() || r.byHand) && (r.Health == health.Healthy || r.ByHand())
}

// ByHand reports whether an Application exists, and waits for a manual sync.
func (r *Run) ByHand() bool { return r.byHand && (r.Created >= 0 || r.existed) }

// Find returns the run of an Application, nil if there is none of that name.
func (b *Boot) Find(name string) *Run { return b.by[name] }
