package simulate

import (
	"slices"
	"time"

	"github.com/argosy-cd/argosy/internal/health"
)

// States that are no health of Argo CD's.
const (
	none health.Status = "" // there is no health check
	// Broken is an Application whose manifests Argo CD cannot make, and which it then calls Healthy.
	Broken health.Status = "Broken"
)

// rank is how bad a state is; an Application has the worst of what it deploys. It is Unknown if Argo CD does not look at what it deploys.
func rank(h health.Status) int {
	return slices.Index([]health.Status{none, health.Healthy, health.Progressing, health.Missing, health.Degraded, health.Unknown}, h)
}

// What happens to an Application.
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
	// Health is the new one of BecameState, Attempt the number of the sync of SyncStarted, from 1, Wave and Phase those of WaveStarted.
	Health        health.Status
	Attempt, Wave int
	Phase         string
}

// Run is what became of an Application. Times that never came are negative.
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
	// Unhealthy are objects of its own at the end, and what they are.
	Unhealthy []string
	GivenUp   bool
	// Failure says why its last sync failed, "" if it did not; Broken why its manifests cannot be rendered, Refused why Argo CD does not
	// compare it at all.
	Failure, Broken, Refused string
	// Touched says that an update changes it.
	Touched bool

	applied   bool // it is whoever applies the roots, and no Application
	byHand    bool
	waits     bool   // its parent waits for it
	phase     string // of the parent's sync
	leaf      bool   // it deploys no Applications
	last      Waited // what became healthy last
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
	// Total is when the last Application became healthy, or when nothing happened any more.
	Total time.Duration
	// Steps are the waves of all syncs, to say where time went.
	Steps []Step
	// Update says that it is no boot, but what a new revision does to a cluster that has booted. Removed are Applications that it removes.
	Update  bool
	Removed []string
	// Cut says that it was ended by the model's horizon, when things would still have happened.
	Cut bool
	by  map[string]*Run
}

// Applications are the runs without that of whoever applies the roots.
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

// Done reports whether all Applications became healthy, and no sync was given up, except for those that somebody has to sync by hand.
func (b *Boot) Done() bool {
	return !slices.ContainsFunc(b.Runs, func(r *Run) bool { return !r.Done() })
}

// Done reports whether an Application became healthy in the end and its sync was not given up, or somebody has to sync it by hand.
func (r *Run) Done() bool {
	return !r.GivenUp && (!r.Old() || r.byHand) && (r.Health == health.Healthy || r.ByHand())
}

// ByHand reports whether an Application is there, and waits for somebody to sync it.
func (r *Run) ByHand() bool { return r.byHand && (r.Created >= 0 || r.existed) }

// Find returns what became of an Application, nil if there is none of that name.
func (b *Boot) Find(name string) *Run { return b.by[name] }
