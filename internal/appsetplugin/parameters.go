package appsetplugin

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Names of the parameters.
const (
	ParameterSpec       = "spec"
	ParameterRecurse    = "recurse"
	ParameterAllowEmpty = "allow-empty"
	ParameterMaxDelete  = "max-delete"
	ParameterPruneSets  = "prune-sets"
	ParameterPin        = "pin"
	ParameterPinBranch  = "pin-branch"
)

// Parameters of the plugin.
func Parameters() []argo.Parameter {
	return []argo.Parameter{
		{
			Name: ParameterSpec, Title: "ApplicationSet",
			Help: "an ApplicationSet, the spec of one, or several documents; without it, those in the application's directory are taken",
		},
		{
			Name: ParameterRecurse, Title: "Subdirectories", Help: "true: look into the subdirectories of the application's directory, too",
			Default: "false",
		},
		{Name: ParameterAllowEmpty, Title: "Allow no Applications", Help: "true: a set may have no Applications", Default: "false"},
		{
			Name: ParameterMaxDelete, Title: "Deletions in an hour",
			Help: "how many Applications may be removed in an hour: a number, or a percentage of those that were there; by default half " +
				"of them, and at least 3",
		},
		{
			Name: ParameterPruneSets, Title: "Prune ApplicationSets",
			Help: "true: ApplicationSets that own Applications may be pruned, which deletes these Applications", Default: "false",
		},
		{
			Name: ParameterPin, Title: "Pin to commits",
			Help: "true: Applications get the commit that the answer is made of instead of its branch, so that updates follow the waves; " +
				"changed: only those whose content differs", Default: "false",
		},
		{
			Name: ParameterPinBranch, Title: "Branch before pinning",
			Help: "set by the plugin on an application that it has pinned: the branch that its Applications name; do not set it",
		},
	}
}

// Given are the parameters of one source.
type Given struct {
	// Spec has the sets; "" is those of the application's directory.
	Spec       string
	Recurse    bool
	AllowEmpty bool
	PruneSets  bool
	Pin        Pin
	// PinBranch is the branch of a source that its parent has pinned.
	PinBranch string

	limit limit
}

// Pins reports whether Applications get commits.
func (g Given) Pins() bool { return g.Pin != "" }

// ParseParameters reads parameters; get returns the value of one, "" if it is not set. All that are wrong are in the error, and are as if
// not set in the result.
func ParseParameters(get func(name string) string) (Given, error) {
	g := Given{Spec: get(ParameterSpec), PinBranch: get(ParameterPinBranch)}
	var errs [5]error
	g.AllowEmpty, errs[0] = argo.Flag(ParameterAllowEmpty, get(ParameterAllowEmpty))
	g.limit, errs[1] = parseLimit(get(ParameterMaxDelete))
	g.Recurse, errs[2] = argo.Flag(ParameterRecurse, get(ParameterRecurse))
	g.PruneSets, errs[3] = argo.Flag(ParameterPruneSets, get(ParameterPruneSets))
	g.Pin, errs[4] = parsePin(get(ParameterPin))
	return g, errors.Join(errs[:]...)
}

// SourceParameters reads the parameters in a source of an Application, as ParseParameters, and also refuses those that the plugin does not
// know. A source that does not name this plugin has none.
func SourceParameters(source map[string]any) (Given, error) {
	plugin := manifest.Map(source, "plugin")
	if !argo.IsPlugin(manifest.String(plugin, "name"), argo.PluginAppSet) {
		plugin = nil
	}
	given, err := ParseParameters(func(name string) string { return argo.PluginParameter(plugin, name) })
	return given, errors.Join(argo.CheckParameters(plugin, Parameters()), err)
}

// Pin says which Applications get the commit that the answer is made of instead of its branch. "" is none.
type Pin string

// Values of Pin.
const (
	PinAll     Pin = "true"
	PinChanged Pin = "changed"
)

func parsePin(text string) (Pin, error) {
	switch p := Pin(text); p {
	case "", "false":
		return "", nil
	case PinAll, PinChanged:
		return p, nil
	}
	return "", fmt.Errorf("plugin.parameters: %s must be true, changed or false, it is %q", ParameterPin, text)
}

// limit is how many Applications may be deleted of so many.
type limit struct {
	number, percent int
	atLeast         int
}

func (l limit) of(n int) int { return max(l.atLeast, l.number, n*l.percent/100) }

func parseLimit(text string) (limit, error) {
	if text == "" {
		return limit{percent: 50, atLeast: 3}, nil
	}
	digits, percent := strings.CutSuffix(text, "%")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 || percent && n > 100 {
		return limit{}, fmt.Errorf("plugin.parameters: %s must be a number such as 5, or a percentage such as 100%%, it is %q",
			ParameterMaxDelete, text)
	}
	if percent {
		return limit{percent: n}, nil
	}
	return limit{number: n}, nil
}
