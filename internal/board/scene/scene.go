// Package scene is a boot as the board shows it: one document for a plan, a simulation, a recording and a live cluster. Each Application
// has the list of its states with their times, so the page can show any moment of the boot by itself.
//
// Times are milliseconds after the start of the boot. A state that is not known is called unknown; it is never taken for healthy.
package scene

import (
	"slices"

	"github.com/argosy-cd/argosy/internal/argo"
)

// Mode says where a scene comes from.
type Mode string

// Modes.
const (
	Planned   Mode = "plan"
	Simulated Mode = "simulation"
	Recorded  Mode = "recording"
	Live      Mode = "live"
)

// Is is the state of an Application in one word.
type Is string

// States.
const (
	Waiting Is = "waiting" // its parent has not created it
	Running Is = "running" // it syncs, or becomes healthy
	Blocked Is = "blocked" // another Application fails
	Failing Is = "failing" // the Application itself has a problem
	Manual  Is = "manual"  // a user must sync or resume it
	Healthy Is = "healthy" // it is healthy and synced, and nothing runs
	Unknown Is = "unknown"
)

// Scene is a boot.
type Scene struct {
	Title string `json:"title"`
	Mode  Mode   `json:"mode"`
	// Start is the date of time 0, in milliseconds since 1970; 0 is a boot that did not happen on a date.
	Start int64 `json:"start"`
	// Now is the newest moment that is known, End the last one that is known or planned.
	Now int64 `json:"now"`
	End int64 `json:"end"`
	// Stale says why the scene is out of date; "" if it is not.
	Stale string `json:"stale,omitempty"`
	// Unknown are parts of the cluster that cannot be watched, each with its reason.
	Unknown []string `json:"unknown,omitempty"`
	// Apps are Applications and ApplicationSets, each parent before its children.
	Apps     []App     `json:"apps"`
	Sections []Section `json:"sections"`
	// Path is the critical path of the boot.
	Path []Leg `json:"path,omitempty"`
	// Plan says that Applications have planned times, and Total when the plan ends.
	Plan  bool  `json:"plan,omitempty"`
	Total int64 `json:"total,omitempty"`
	// Findings are about the whole boot, or about an Application.
	Findings []Finding `json:"findings,omitempty"`
	// ArgoCD is the URL of Argo CD's own page; "" is not known.
	ArgoCD string `json:"argocd,omitempty"`
	// Paced says that the server moves the time of a simulation, at Speed.
	Paced bool    `json:"paced,omitempty"`
	Speed float64 `json:"speed,omitempty"`
	// Faults are the Applications that a simulation breaks now.
	Faults []string `json:"faults,omitempty"`
}

// App is an Application or an ApplicationSet.
type App struct {
	Key       string `json:"key"`
	Name      string `json:"name"`
	Namespace string `json:"namespace"`
	Set       bool   `json:"set,omitempty"`
	Project   string `json:"project,omitempty"`
	Parent    string `json:"parent,omitempty"` // its key; "" is a root
	Wave      int    `json:"wave"`
	Phase     string `json:"phase,omitempty"`
	// Needs are the keys of Applications that it says it needs.
	Needs []string `json:"needs,omitempty"`
	// Source is where its manifests are, in one line.
	Source string `json:"source,omitempty"`
	// Planned are its times in the plan. Nil is none.
	Planned *Times `json:"planned,omitempty"`
	// Note says why the plan calls it unknown or broken.
	Note string `json:"note,omitempty"`
	// Findings is how many warnings and errors of lint there are about it.
	Findings int `json:"findings,omitempty"`
	// History are its states, the oldest first. None is one of a plan.
	History []State `json:"history"`
}

// Times are when something happened to an Application; negative is never.
type Times struct {
	Created int64 `json:"created"`
	Synced  int64 `json:"synced"`
	Healthy int64 `json:"healthy"`
}

// Retrying is the Operation of an Application whose sync has failed and is retried.
const Retrying = "Retrying"

// State is an Application at a moment.
type State struct {
	At     int64  `json:"at"`
	Is     Is     `json:"is"`
	Health string `json:"health,omitempty"`
	Sync   string `json:"sync,omitempty"`
	// Operation is the phase of its sync, or Retrying. "" is none.
	Operation string `json:"op,omitempty"`
	// Note says what it waits for, or what is wrong.
	Note string `json:"note,omitempty"`
	// Waits are the keys of the Applications that it waits for.
	Waits []string `json:"waits,omitempty"`
	// Wave is the wave that its sync is in. Nil is none, or not known.
	Wave *int `json:"wave,omitempty"`
}

// same reports whether two states differ in nothing but their time.
func (s State) same(o State) bool {
	return s.Is == o.Is && s.Health == o.Health && s.Sync == o.Sync && s.Operation == o.Operation && s.Note == o.Note &&
		slices.Equal(s.Waits, o.Waits) && (s.Wave == o.Wave || s.Wave != nil && o.Wave != nil && *s.Wave == *o.Wave)
}

// Section is a root and the waves of its sync.
type Section struct {
	// Root is a key; "" is for Applications that are in no boot.
	Root string `json:"root,omitempty"`
	// Above are the keys of the Applications above the root, the uppermost first.
	Above []string `json:"above,omitempty"`
	Lanes []Lane   `json:"lanes"`
}

// Lane is one wave.
type Lane struct {
	Phase string `json:"phase,omitempty"`
	Wave  int    `json:"wave"`
	// Apps are the keys of the Applications in the wave, without those below them.
	Apps []string `json:"apps"`
}

// Leg is a part of the critical path.
type Leg struct {
	App  string `json:"app"` // its key
	What string `json:"what"`
	From int64  `json:"from"`
	To   int64  `json:"to"`
}

// Finding is a finding of argosy lint.
type Finding struct {
	Apps    []string `json:"apps,omitempty"` // their keys
	Subject string   `json:"subject"`
	// File is where it is, with its line; "" is not known.
	File     string `json:"file,omitempty"`
	Rule     string `json:"rule"`
	Severity string `json:"severity"`
	Message  string `json:"message"`
	Cure     string `json:"cure,omitempty"`
}

// Key is the key of an Application or a set.
func Key(set bool, namespace, name string) string {
	if set {
		return "set:" + namespace + "/" + name
	}
	return namespace + "/" + name
}

// Last is the newest state; a zero one if there is none.
func (a *App) Last() State {
	if len(a.History) == 0 {
		return State{}
	}
	return a.History[len(a.History)-1]
}

// times are when something happened first. A state of the plan's boot has no say.
func (a *App) times() Times {
	t := Times{-1, -1, -1}
	for _, s := range a.History {
		if s.Is != Waiting && t.Created < 0 {
			t.Created = s.At
		}
		if s.Sync == argo.Synced && t.Synced < 0 {
			t.Synced = s.At
		}
		if s.Is == Healthy && t.Healthy < 0 {
			t.Healthy = s.At
		}
	}
	return t
}
