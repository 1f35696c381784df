package lint

import (
	"regexp"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
)

// Limits of names.
const (
	maxLabel = 63 // of the value of a label
	maxName  = 253
)

var ruleNameTooLong = Rule{
	Rule: plan.Rule{
		Name: "name-too-long", Kind: plan.Broken, Severity: plan.Error,
		Means: "Argo CD marks each object with a label that has the name of the Application, and the name is longer than the 63 " +
			"characters that the value of a label can have. The API server refuses every object. (A name of more than 53 characters " +
			"is too long for a Helm release: that is source-broken.)",
		Cure: "Shorten the name, or use application.resourceTrackingMethod: annotation.",
	},
	Family: Names,
	Why: "With application.resourceTrackingMethod: label the label has the whole name; with annotation+label it is cut " +
		"(util/argo/resource_tracking.go, read in 3.2.11).",
	check: func(p *pass) {
		for _, app := range p.applications() {
			switch {
			case len(app.Name) <= maxLabel:
			case p.Settings == nil || p.Settings.Partial:
				p.miss("Argo CD's settings were not found; with application.resourceTrackingMethod: label, " +
					"names have 63 characters at most")
			case p.Settings.Tracking.Method == argo.TrackByLabel:
				p.find(app, []string{"metadata", "name"}, "the name has %d characters; it is also a label, which has %d at most",
					len(app.Name), maxLabel)
			}
		}
	},
}

var namePattern = regexp.MustCompile(`^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$`)

var ruleNameInvalid = Rule{
	Rule: plan.Rule{
		Name: "name-invalid", Kind: plan.Broken, Severity: plan.Error,
		Means: "Kubernetes does not allow the name. The API server refuses the Application or the set, and the sync of its parent " +
			"fails.",
		Cure: "Use lower case letters, digits, dashes and dots, with letters or digits at the ends.",
	},
	Family: Names,
	Why:    "The name of an object is a DNS subdomain.",
	check: func(p *pass) {
		generated := p.generated()
		for _, parent := range p.Applications {
			for _, item := range parent.Items {
				if item.Application == nil && item.Children == nil || generated[item.Application] {
					continue
				}
				if name := manifest.String(item.Object, "metadata", "name"); !namePattern.MatchString(name) || len(name) > maxName {
					p.about(item, []string{"metadata", "name"}, "%q is not a name that Kubernetes allows", name)
				}
			}
		}
	},
}

var ruleNameFromServer = Rule{
	Rule: plan.Rule{
		Name: "name-from-server", Kind: plan.Broken, Severity: plan.Error,
		Means: "The name of the Applications has the address of a cluster, such as https://10.0.0.1:6443, which is not a name that " +
			"Kubernetes allows. The set creates no Applications.",
		Cure: "Use the name of the cluster: {{.nameNormalized}}, or {{nameNormalized}} without goTemplate.",
	},
	Family: Names,
	Why: "The parameter server of the clusters generator is a URL (applicationset/generators/cluster.go, read in 3.2.11). The API " +
		"server refuses an Application with such a name.",
	check: func(p *pass) {
		for _, s := range p.sets() {
			name := manifest.String(s.spec, "template", "metadata", "name")
			if g := s.has(generator.KindClusters, generator.KindDecision); g == nil {
				continue
			}
			for _, a := range action.FindAllString(name, -1) {
				if params := s.parameters(a); len(params) == 1 && params[0] == "server" && !strings.ContainsAny(a, "|(") {
					p.set(s, []string{"template", "metadata", "name"}, "the name has the address of a cluster, which Kubernetes refuses")
				}
			}
		}
	},
}
