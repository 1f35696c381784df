package settings

import (
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

const paramsName = "argocd-cmd-params-cm"

// component is a part of Argo CD, and where its arguments and variables are.
type component struct {
	suffix   string // of the name of its Deployment or StatefulSet
	values   string // its part of the values of the chart argo-cd
	extraEnv string // its variables there
	resource string // its part of an ArgoCD resource
}

var (
	setController         = component{"applicationset-controller", "applicationSet", "extraEnv", "applicationSet"}
	applicationController = component{"application-controller", "controller", "env", "controller"}
)

// Option collects the values that objects have for an option of a component of Argo CD. The first value wins.
type Option struct {
	flag, key, env string // key is that of argocd-cmd-params-cm
	preset         string // Argo CD's default
	valid          func(any) (string, bool)
	of             component
	value          *string
	// params says that argocd-cmd-params-cm was seen without the key, reads that the component takes the key from there.
	params, reads bool
}

// SyncTimeout returns the option that ends a sync after some seconds; 0 is never.
func SyncTimeout() Option {
	return Option{
		flag: "--sync-timeout", key: "controller.sync.timeout.seconds", env: "ARGOCD_APPLICATION_CONTROLLER_SYNC_TIMEOUT", preset: "0",
		valid: seconds, of: applicationController,
	}
}

// WaveDelay returns the option for the pause between two waves, in seconds.
func WaveDelay() Option {
	return Option{
		key: "controller.sync.wave.delay.seconds", env: "ARGOCD_SYNC_WAVE_DELAY", preset: "2", valid: seconds, of: applicationController,
	}
}

// Known returns the value of the option, and whether it is known. Argo CD's default counts where both argocd-cmd-params-cm and a component
// that reads it were seen.
func (o *Option) Known() (string, bool) {
	switch {
	case o.value != nil:
		return *o.value, true
	case o.params && o.reads:
		return o.preset, true
	}
	return "", false
}

func (o *Option) say(v any) {
	if text, ok := o.valid(v); ok && o.value == nil {
		o.value = &text
	}
}

// Learn reads an object that may say something: argocd-cmd-params-cm, the component itself, an ArgoCD resource of the operator, or an
// Application with values of the chart argo-cd. The caller knows that it belongs to the right Argo CD.
func (o *Option) Learn(object manifest.Object) {
	name, kind := manifest.String(object, "metadata", "name"), manifest.String(object, "kind")
	switch {
	case isConfigMap(object) && name == paramsName:
		o.say(manifest.Map(object, "data")[o.key])
		o.params = true
	case manifest.Group(object) == "apps" && (kind == "Deployment" || kind == "StatefulSet") && strings.HasSuffix(name, o.of.suffix):
		o.workload(object)
	case manifest.Group(object) == argo.Group && kind == "ArgoCD":
		o.arguments(manifest.Map(object, "spec", o.of.resource), "extraCommandArgs", "env")
		o.say(manifest.Map(object, "spec", "cmdParams")[o.key])
	case argo.IsApplication(object):
		for _, source := range argo.Sources(object) {
			if values, err := inline(manifest.Map(source, "helm")); err == nil {
				o.LearnValues(values)
			}
		}
	}
}

// LearnValues reads values of the chart argo-cd, or of one that depends on it.
func (o *Option) LearnValues(values map[string]any) {
	for _, v := range slices.Concat([]map[string]any{values}, nested(values)) {
		o.arguments(manifest.Map(v, o.of.values), "extraArgs", o.of.extraEnv)
		o.say(manifest.Map(v, "configs", "params")[o.key])
	}
}

// nested returns the values of dependencies that are not switched off.
func nested(values map[string]any) []map[string]any {
	var out []map[string]any
	for _, name := range manifest.Keys(values) {
		if m := manifest.Map(values, name); m != nil && m["enabled"] != false {
			out = append(out, m)
		}
	}
	return out
}

// workload reads the option of the component itself: unset means the default, unless the component reads argocd-cmd-params-cm.
func (o *Option) workload(object manifest.Object) {
	containers, _ := manifest.Map(object, "spec", "template", "spec")["containers"].([]any)
	for _, item := range containers {
		c, _ := item.(map[string]any)
		reads := false
		for _, e := range list(c["env"]) {
			if m, _ := e.(map[string]any); manifest.String(m, "name") == o.env && m["valueFrom"] != nil {
				reads = true
			}
		}
		o.arguments(c, "command", "")
		o.arguments(c, "args", "env")
		o.reads = o.reads || reads
		if !reads && len(c) > 0 && len(containers) == 1 {
			o.say(o.preset)
		}
	}
}

// arguments reads arguments and environment variables.
func (o *Option) arguments(m map[string]any, args, env string) {
	all := list(m[args])
	for i, item := range all {
		text, _ := item.(string)
		flag, value, given := strings.Cut(text, "=")
		if flag != o.flag || flag == "" {
			continue
		}
		if _, truth := o.valid("true"); !truth && !given && i+1 < len(all) {
			value, _ = all[i+1].(string)
		}
		if _, ok := o.valid(value); !ok {
			value = "true" // a flag without a value
		}
		o.say(value)
	}
	for _, item := range list(m[env]) {
		if e, _ := item.(map[string]any); manifest.String(e, "name") == o.env {
			o.say(e["value"])
		}
	}
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// seconds reads a number of seconds as Argo CD reads a variable.
func seconds(v any) (string, bool) {
	var text string
	switch v := v.(type) {
	case string:
		text = v
	case int64:
		text = strconv.FormatInt(v, 10)
	case float64:
		text = strconv.FormatFloat(v, 'f', -1, 64)
	}
	_, err := strconv.Atoi(text)
	return text, err == nil
}
