// Package health assesses objects as Argo CD does, 3.2 to 3.5: by Lua scripts of its settings, or by the checks for core kinds that it
// has in Go. It promises the same answer for the same object (conformance/ compares), within limits of time and memory.
// Argo CD's own Lua scripts for other projects' kinds are not here; a kind that only they know has no health.
package health

import (
	"cmp"
	_ "embed"
	"fmt"
	"slices"
	"strings"
	"sync"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
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

// bundled has a line for each kind: group/Kind, perhaps "since" the version that has it first, perhaps "until" the first that does not have it.
//
//go:embed bundled.txt
var bundled string

// Bundled reports whether a version of Argo CD has a script of its own for an object, which is not here.
func Bundled(o manifest.Object, version versions.Version) bool {
	name := manifest.String(o, "kind")
	if group := manifest.Group(o); group != "" {
		name = group + "/" + name
	}
	kinds := bundledIn()[cmp.Or(version, versions.Newest)]
	return kinds.names[name] || slices.ContainsFunc(kinds.patterns, func(pattern string) bool { return wildcard(pattern, name) })
}

// bundledKinds are the kinds with a script in one version.
type bundledKinds struct {
	names    map[string]bool
	patterns []string
}

// bundledIn has them for every version. It is read once, because a plan asks about every object.
var bundledIn = sync.OnceValue(func() map[versions.Version]bundledKinds {
	out := map[versions.Version]bundledKinds{}
	for _, v := range versions.All() {
		kinds := bundledKinds{names: map[string]bool{}}
		for _, name := range BundledKinds(v) {
			kinds.names[name] = true
			if strings.Contains(name, "_") { // a folder cannot have the name *
				kinds.patterns = append(kinds.patterns, strings.ReplaceAll(name, "_", "*"))
			}
		}
		out[v] = kinds
	}
	return out
})

// BundledKinds returns the kinds that a version of Argo CD has scripts of its own for, as group/Kind; _ stands for any characters.
func BundledKinds(version versions.Version) []string {
	var out []string
	for line := range strings.Lines(bundled) {
		if name, span, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " "); within(version, span) {
			out = append(out, name)
		}
	}
	return out
}

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

// ApplicationKey is the key of argocd-cm for a health check of Applications.
const ApplicationKey = customizationsPrefix + "health." + argo.Group + "_" + argo.KindApplication

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
	return builtin(o, l.Version)
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
