package settings

import (
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// Progressive collects what objects say about --enable-progressive-syncs, by which the applicationset-controller honours RollingSync. The
// first that says something wins. The zero Progressive knows nothing.
type Progressive struct{ option Option }

func (p *Progressive) at() *Option {
	if p.option.flag == "" {
		p.option = Option{
			flag: "--enable-progressive-syncs", key: "applicationsetcontroller.enable.progressive.syncs",
			env: "ARGOCD_APPLICATIONSET_CONTROLLER_ENABLE_PROGRESSIVE_SYNCS", preset: "false", valid: truth, of: setController,
		}
	}
	return &p.option
}

// Known returns whether the option is on; nil is not known.
func (p *Progressive) Known() *bool {
	value, ok := p.at().Known()
	if !ok {
		return nil
	}
	on := value == "true"
	return &on
}

// Learn reads an object that may say something, as Option.Learn does.
func (p *Progressive) Learn(o manifest.Object) { p.at().Learn(o) }

// LearnValues reads values of the chart argo-cd, or of one that depends on it.
func (p *Progressive) LearnValues(values map[string]any) { p.at().LearnValues(values) }

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
