package settings

import (
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Names of the option of the applicationset-controller by which it honours RollingSync.
const (
	progressiveFlag = "--enable-progressive-syncs"
	progressiveKey  = "applicationsetcontroller.enable.progressive.syncs" // of argocd-cmd-params-cm
	progressiveEnv  = "ARGOCD_APPLICATIONSET_CONTROLLER_ENABLE_PROGRESSIVE_SYNCS"

	paramsName = "argocd-cmd-params-cm"

	policyFlag, policyKey, policyEnv       = "--policy", "applicationsetcontroller.policy", "ARGOCD_APPLICATIONSET_CONTROLLER_POLICY"
	overrideFlag, overrideKey, overrideEnv = "--enable-policy-override", "applicationsetcontroller.enable.policy.override",
		"ARGOCD_APPLICATIONSET_CONTROLLER_ENABLE_POLICY_OVERRIDE"
)

// Progressive collects what objects say about --enable-progressive-syncs and about the policy of sets. The first that says something wins.
// The zero Progressive knows nothing.
type Progressive struct {
	on *bool
	// params says that argocd-cmd-params-cm was seen without the key, reads that the Deployment takes the key from there.
	params, reads bool
	policy        string
	override      bool
}

// Policy is what the applicationset-controller forces on sets whatever they say themselves: sync, create-only, create-update or
// create-delete. "" is nothing, or not known.
func (p *Progressive) Policy() string {
	if p.override {
		return ""
	}
	return p.policy
}

// sayPolicy notes the two options that decide about policies.
func (p *Progressive) sayPolicy(policy, override any) {
	if text, _ := policy.(string); p.policy == "" {
		p.policy = strings.TrimSpace(text)
	}
	if on, ok := boolean(override); ok {
		p.override = p.override || on
	}
}

// Known returns whether the option is on; nil is not known. Argo CD's default is off: that counts where both argocd-cmd-params-cm and a
// Deployment that reads it were seen.
func (p *Progressive) Known() *bool {
	if p.on == nil && p.params && p.reads {
		off := false
		return &off
	}
	return p.on
}

func (p *Progressive) say(on bool) {
	if p.on == nil {
		p.on = &on
	}
}

// Learn reads an object that may say something: argocd-cmd-params-cm, the Deployment of the applicationset-controller, an ArgoCD resource
// of the operator, or an Application with values of the chart argo-cd. The caller knows that it belongs to the right Argo CD.
func (p *Progressive) Learn(o manifest.Object) {
	name := manifest.String(o, "metadata", "name")
	switch {
	case isConfigMap(o) && name == paramsName:
		on, ok := boolean(manifest.Map(o, "data")[progressiveKey])
		if ok {
			p.say(on)
		}
		p.params = true
		p.sayPolicy(manifest.Map(o, "data")[policyKey], manifest.Map(o, "data")[overrideKey])
	case manifest.Group(o) == "apps" && manifest.String(o, "kind") == "Deployment" && strings.HasSuffix(name, "applicationset-controller"):
		p.deployment(o)
	case manifest.Group(o) == argo.Group && manifest.String(o, "kind") == "ArgoCD":
		p.controller(manifest.Map(o, "spec", "applicationSet"), "extraCommandArgs", "env")
		params := manifest.Map(o, "spec", "cmdParams")
		if on, ok := boolean(params[progressiveKey]); ok {
			p.say(on)
		}
		p.sayPolicy(params[policyKey], params[overrideKey])
	case argo.IsApplication(o):
		for _, source := range argo.Sources(o) {
			if values, err := inline(manifest.Map(source, "helm")); err == nil {
				p.LearnValues(values)
			}
		}
	}
}

// LearnValues reads values of the chart argo-cd, or of one that depends on it.
func (p *Progressive) LearnValues(values map[string]any) {
	for _, v := range slices.Concat([]map[string]any{values}, nested(values)) {
		p.controller(manifest.Map(v, "applicationSet"), "extraArgs", "extraEnv")
		params := manifest.Map(v, "configs", "params")
		if on, ok := boolean(params[progressiveKey]); ok {
			p.say(on)
		}
		p.sayPolicy(params[policyKey], params[overrideKey])
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

// deployment reads the Deployment of the controller: what it does not say is off, unless it is read from argocd-cmd-params-cm.
func (p *Progressive) deployment(o manifest.Object) {
	containers, _ := manifest.Map(o, "spec", "template", "spec")["containers"].([]any)
	for _, item := range containers {
		c, _ := item.(map[string]any)
		reads := false
		for _, e := range list(c["env"]) {
			if m, _ := e.(map[string]any); manifest.String(m, "name") == progressiveEnv && m["valueFrom"] != nil {
				reads = true
			}
		}
		p.controller(c, "command", "")
		p.controller(c, "args", "env")
		p.reads = p.reads || reads
		if !reads && len(c) > 0 && len(containers) == 1 {
			p.say(false)
		}
	}
}

// controller reads arguments and environment variables.
func (p *Progressive) controller(m map[string]any, args, env string) {
	for _, item := range list(m[args]) {
		text, _ := item.(string)
		flag, value, given := strings.Cut(text, "=")
		on, ok := boolean(value)
		switch flag {
		case progressiveFlag:
			p.say(on || !given || !ok)
		case policyFlag:
			p.sayPolicy(value, nil)
		case overrideFlag:
			p.sayPolicy(nil, on || !given || !ok)
		}
	}
	for _, item := range list(m[env]) {
		e, _ := item.(map[string]any)
		switch on, ok := boolean(e["value"]); manifest.String(e, "name") {
		case progressiveEnv:
			if ok {
				p.say(on)
			}
		case policyEnv:
			p.sayPolicy(e["value"], nil)
		case overrideEnv:
			p.sayPolicy(nil, e["value"])
		}
	}
}

func list(v any) []any {
	l, _ := v.([]any)
	return l
}

// boolean reads a value as Argo CD reads a variable: true or false in any case, and nothing else.
func boolean(v any) (on, ok bool) {
	switch v := v.(type) {
	case bool:
		return v, true
	case string:
		return strings.EqualFold(v, "true"), strings.EqualFold(v, "true") || strings.EqualFold(v, "false")
	}
	return false, false
}
