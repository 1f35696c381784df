package settings

import (
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Progressive collects the values that objects have for --enable-progressive-syncs, by which the applicationset-controller honours
// RollingSync. The first value wins. It collects the policy of sets, too. The zero Progressive has no values.
type Progressive struct{ option, policy, override Option }

func (p *Progressive) at() *Option {
	if p.option.flag == "" {
		p.policy = Option{
			flag: "--policy", key: "applicationsetcontroller.policy", env: "ARGOCD_APPLICATIONSET_CONTROLLER_POLICY", valid: policy,
			of: setController,
		}
		p.override = Option{
			flag: "--enable-policy-override", key: "applicationsetcontroller.enable.policy.override",
			env: "ARGOCD_APPLICATIONSET_CONTROLLER_ENABLE_POLICY_OVERRIDE", preset: "false", valid: truth, of: setController,
		}
		p.option = Option{
			flag: "--enable-progressive-syncs", key: "applicationsetcontroller.enable.progressive.syncs",
			env: "ARGOCD_APPLICATIONSET_CONTROLLER_ENABLE_PROGRESSIVE_SYNCS", preset: "false", valid: truth, of: setController,
		}
	}
	return &p.option
}

// Known reports whether the option is on; nil if unknown.
func (p *Progressive) Known() *bool {
	value, ok := p.at().Known()
	if !ok {
		return nil
	}
	on := value == "true"
	return &on
}

// Learn reads an object that may say something, as Option.Learn does.
func (p *Progressive) Learn(o manifest.Object) {
	p.at().Learn(o)
	p.policy.Learn(o)
	p.override.Learn(o)
}

// LearnValues reads values of the chart argo-cd, or of one that depends on it.
func (p *Progressive) LearnValues(values map[string]any) {
	p.at().LearnValues(values)
	p.policy.LearnValues(values)
	p.override.LearnValues(values)
}

// Policy returns the policy that the applicationset-controller forces on all sets. "" means none, or unknown.
func (p *Progressive) Policy() argo.ApplicationsSync {
	if on, _ := p.override.Known(); on == "true" {
		return ""
	}
	value, _ := p.policy.Known()
	return argo.ApplicationsSync(value)
}

// policy reads the policy of sets. An empty one is none.
func policy(v any) (string, bool) {
	text, _ := v.(string)
	return text, argo.ApplicationsSync(text).Known()
}

// truth reads a value as Argo CD reads a variable: true or false in any case, and nothing else.
func truth(v any) (string, bool) {
	switch v := v.(type) {
	case bool:
		return strconv.FormatBool(v), true
	case string:
		return strings.ToLower(v), strings.EqualFold(v, "true") || strings.EqualFold(v, "false")
	}
	return "", false
}
