// Package health assesses objects as Argo CD 3.2 does: by Lua scripts of its settings, or by the checks for core kinds that it
// has in Go. It promises the same answer for the same object (conformance/ compares), within limits of time and memory.
// Argo CD's own Lua scripts for other projects' kinds are not here; a kind that only they know has no health.
package health

import (
	_ "embed"
	"fmt"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Words that Argo CD has for health.
const (
	Healthy     = "Healthy"
	Suspended   = "Suspended"
	Progressing = "Progressing"
	Missing     = "Missing"
	Degraded    = "Degraded"
	Unknown     = "Unknown"
)

// Health is the health of an object.
type Health struct {
	Status  string
	Message string
	// Check says what it comes from.
	Check string
}

// ApplicationScript is a health check for Applications that makes waves wait for them.
//
//go:embed application.lua
var ApplicationScript string

// ApplicationSetScript is a health check for ApplicationSets that makes waves wait for their Applications.
//
//go:embed applicationset.lua
var ApplicationSetScript string

//go:embed bundled.txt
var bundled string

// Bundled reports whether Argo CD 3.2 has a script of its own for an object, which is not here.
func Bundled(o manifest.Object) bool {
	name := manifest.String(o, "kind")
	if group := manifest.Group(o); group != "" {
		name = group + "/" + name
	}
	for pattern := range strings.Lines(bundled) {
		pattern = strings.TrimSuffix(pattern, "\n")
		// A folder cannot have the name *.
		if wildcard(strings.ReplaceAll(pattern, "_", "*"), name) && (pattern == name || strings.Contains(pattern, "_")) {
			return true
		}
	}
	return false
}

// Keys of argocd-cm for health checks of Applications and of ApplicationSets.
const (
	ApplicationKey    = customizationsPrefix + "health." + argo.Group + "_" + argo.KindApplication
	ApplicationSetKey = customizationsPrefix + "health." + argo.Group + "_" + argo.KindApplicationSet
)

// Evaluate returns the health of an object. It reports false for one that has none, which no wave waits for.
func Evaluate(o manifest.Object, c Customizations, l Limits) (Health, bool, error) {
	if deletion := manifest.String(o, "metadata", "deletionTimestamp"); deletion != "" && !hasHookFinalizer(o) {
		return Health{Progressing, "it is being deleted", "deletion"}, true, nil
	}
	key, script, err := c.find(o)
	if err != nil {
		return Health{}, false, err
	}
	if script.Health != "" {
		h, err := Lua(script, o, l)
		if err != nil {
			return Health{}, false, fmt.Errorf("%s: %w", key, err)
		}
		h.Check = key
		return h, true, nil
	}
	return builtin(o)
}

func hasHookFinalizer(o manifest.Object) bool {
	list, _ := manifest.Map(o, "metadata")["finalizers"].([]any)
	for _, f := range list {
		if f == "argocd.argoproj.io/hook-finalizer" {
			return true
		}
	}
	return false
}
