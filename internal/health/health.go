// Package health assesses objects as Argo CD does, 3.2 to 3.5: by Lua scripts of its settings, or by the checks for core kinds that it
// has in Go. It promises the same answer for the same object (conformance/ compares), within limits of time and memory.
// Argo CD's own Lua scripts for other projects' kinds are not here; a kind that only they know has no health.
package health

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Status is Argo CD's word for the health of an object or of an Application.
type Status string

// The words.
const (
	Healthy     Status = "Healthy"
	Suspended   Status = "Suspended"
	Progressing Status = "Progressing"
	Missing     Status = "Missing"
	Degraded    Status = "Degraded"
	Unknown     Status = "Unknown"
)

// Health is the health of an object.
type Health struct {
	Status  Status
	Message string
	// Check names the health check that returned it.
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

// NamedScript is the health check that waits for "applications" or "applicationsets", "" for other names.
func NamedScript(name string) string {
	switch name {
	case "applications", "application": // the latter is its older name
		return ApplicationScript
	case "applicationsets":
		return ApplicationSetScript
	}
	return ""
}

// bundled has a line for each kind: group/Kind, perhaps "since" the version that has it first, perhaps "until" the first that does not have
// it.
//
//go:embed bundled.txt
var bundled string

// Bundled reports whether a version of Argo CD has a script of its own for an object, which is not here.
func Bundled(o manifest.Object, version versions.Version) bool {
	name := Kind(o)
	return slices.ContainsFunc(BundledKinds(version), func(pattern string) bool {
		// A folder cannot have the name *.
		return pattern == name || strings.Contains(pattern, "_") && wildcard(strings.ReplaceAll(pattern, "_", "*"), name)
	})
}

// BundledKinds returns the kinds that a version of Argo CD has scripts of its own for, as group/Kind; _ stands for any characters.
func BundledKinds(version versions.Version) []string { return bundledKinds()[version] }

// bundledKinds are those of all versions; that of zero are the newest.
var bundledKinds = sync.OnceValue(func() map[versions.Version][]string {
	out := map[versions.Version][]string{}
	for _, v := range append(versions.All(), 0) {
		for line := range strings.Lines(bundled) {
			if name, span, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); within(v, span) {
				out[v] = append(out[v], name)
			}
		}
	}
	return out
})

// within reports whether a version is in a span such as "since 3.3 until 3.5". The zero span is all versions.
func within(version versions.Version, span string) bool {
	var since, until versions.Version
	words := strings.Fields(span)
	for i := 0; i+1 < len(words); i += 2 {
		v, _ := versions.Parse(words[i+1])
		if words[i] == "since" {
			since = v
		} else {
			until = v
		}
	}
	return version.Between(since, until)
}

// Keys of argocd-cm for health checks of Applications and of ApplicationSets.
const (
	ApplicationKey    = customizationsPrefix + "health." + argo.Group + "_" + argo.KindApplication
	ApplicationSetKey = customizationsPrefix + "health." + argo.Group + "_" + argo.KindApplicationSet
)

// Evaluate returns the health of an object. It reports false for an object without a health check: no wave waits for it.
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
	return builtin(o, l.Version)
}

func hasHookFinalizer(o manifest.Object) bool {
	list, _ := manifest.Map(o, "metadata")["finalizers"].([]any)
	for _, f := range list {
		if f == argo.HookFinalizer {
			return true
		}
	}
	return false
}
