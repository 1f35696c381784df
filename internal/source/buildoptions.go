package source

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/render"
)

// buildFlags are the flags of "kustomize build" 5.7, with true for those that are switches.
var buildFlags = map[string]bool{
	"enable-helm": true, "helm-debug": true, "enable-alpha-plugins": true, "enable-exec": true, "enable-managedby-label": true,
	"network":         true,
	"as-current-user": true, "stack-trace": true, "help": true, "h": true,
	"load-restrictor": false, "reorder": false, "helm-command": false, "helm-api-versions": false, "helm-kube-version": false,
	"output": false, "o": false,
	"network-name": false, "mount": false, "env": false, "e": false,
}

// otherFlags change Kustomize's result, and are not honoured here.
var otherFlags = []string{"enable-managedby-label", "helm-command", "helm-api-versions", "helm-kube-version", "output", "o"}

// buildOptions reads kustomize.buildOptions. Without settings, charts are rendered: a Kustomization with charts needs them.
func (j *job) buildOptions(k *render.Kustomization) error {
	if j.BuildOptions == nil {
		k.MayRun = true
		return nil
	}
	flags, err := parseFlags(strings.Fields(*j.BuildOptions))
	if err != nil {
		return fmt.Errorf("kustomize.buildOptions in Argo CD's settings: %w", err)
	}
	on := func(name string) bool { b, _ := strconv.ParseBool(flags[name]); return b }
	k.NoHelm, k.MayRun = !on("enable-helm"), on("enable-alpha-plugins")
	k.Anywhere, k.Unsorted = flags["load-restrictor"] == "LoadRestrictionsNone", flags["reorder"] == "none"
	for _, name := range otherFlags {
		if _, ok := flags[name]; ok {
			j.note(Ignored, "--%s of kustomize.buildOptions is ignored here, so the result may differ from that of Argo CD", name)
		}
	}
	// Argo CD tells Kustomize about the cluster only if charts are mentioned.
	if !strings.Contains(*j.BuildOptions, "--enable-helm") {
		k.KubeVersion, k.APIVersions = "", nil
	}
	return nil
}

// parseFlags reads flags as Kustomize does. Later ones win.
func parseFlags(words []string) (map[string]string, error) {
	flags := map[string]string{}
	for i := 0; i < len(words); i++ {
		word := words[i]
		name, value, hasValue := strings.Cut(strings.TrimLeft(word, "-"), "=")
		isSwitch, known := buildFlags[name]
		switch {
		case !strings.HasPrefix(word, "-"):
			return nil, fmt.Errorf("%q is no flag", word)
		case !known || len(name) > 1 && !strings.HasPrefix(word, "--"):
			return nil, fmt.Errorf("unknown flag: %s", word)
		case isSwitch && !hasValue:
			value = "true"
		case isSwitch:
			if _, err := strconv.ParseBool(value); err != nil {
				return nil, fmt.Errorf("--%s must be true or false, it is %q", name, value)
			}
		case !hasValue && i+1 == len(words):
			return nil, fmt.Errorf("flag needs an argument: %s", word)
		case !hasValue:
			i++
			value = words[i]
		}
		flags[name] = value
	}
	for name, legal := range map[string][]string{
		"load-restrictor": {"", "LoadRestrictionsNone", "LoadRestrictionsRootOnly"},
		"reorder":         {"", "none", "legacy"},
	} {
		if !slices.Contains(legal, flags[name]) {
			return nil, fmt.Errorf("illegal flag value --%s %s", name, flags[name])
		}
	}
	if flags["help"] != "" || flags["h"] != "" {
		return nil, errors.New("--help builds nothing")
	}
	return flags, nil
}

// Changes reports whether options of Kustomize make a difference to none at all that are known.
func Changes(buildOptions *string) bool {
	j := newJob(context.Background(), Request{Environment: Environment{BuildOptions: buildOptions}})
	var k render.Kustomization
	err := j.buildOptions(&k)
	return err != nil || k.NoHelm || k.Anywhere || k.Unsorted
}
