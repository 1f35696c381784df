package lint

import (
	"fmt"
	"slices"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/words"
)

var ruleReferenceLater = Rule{
	Rule: plan.Rule{
		Name: "reference-later", Kind: plan.Ordering, Severity: plan.Error,
		Means: "An object needs another that comes in a later wave: a claim its StorageClass, a Certificate its Issuer, an " +
			"ExternalSecret its store, a Pod its Secret, ConfigMap, ServiceAccount or PriorityClass. The later wave starts only when the " +
			"object is healthy, and the object never becomes healthy.",
		Cure: "Deploy what is needed in the same wave, or in an earlier one.",
	},
	Family: Prerequisites,
	Why: "A wave is done when all of its objects are healthy (pkg/sync/sync_context.go of gitops-engine, read in 3.2.11). A claim " +
		"without its StorageClass is Pending, a Pod without its Secret does not start, and Argo CD calls both Progressing.",
	check: func(p *pass) {
		p.deadlocks(func(r plan.Reference) bool { return !r.Item.Hook })
	},
}

var ruleHookNeedsLater = Rule{
	Rule: plan.Rule{
		Name: "hook-needs-later", Kind: plan.Ordering, Severity: plan.Error,
		Means: "A hook needs something that comes after it, such as a PreSync Job that needs a ServiceAccount of the Sync phase. At the " +
			"first sync the hook never ends, and nothing after it is deployed.",
		Cure: "Turn what the hook needs into a hook of an earlier wave, or move the hook to a later phase.",
	},
	Family: Waves,
	Why: "A sync waits until each hook has ended before it goes on. Argo CD runs Helm hooks for upgrades at the first sync, too " +
		"(pkg/sync/hook/helm/type.go of gitops-engine, read in 3.2.11).",
	check: func(p *pass) {
		p.deadlocks(func(r plan.Reference) bool { return r.Item.Hook })
	},
}

// deadlocks finds references to objects that wait for the object that needs them, once for each Application and needed object.
func (p *pass) deadlocks(about func(plan.Reference) bool) {
	type key struct {
		plan.Named
		app *plan.Application
	}
	seen := map[key]bool{}
	for _, r := range p.References {
		k := key{r.Named, r.App}
		if !r.Later || !about(r) || seen[k] {
			continue
		}
		if r.InDoubt {
			p.miss("%s needs %s, which comes later; Argo CD's settings were not found, so it is not known whether that is a deadlock",
				r.App.Name, r.Named)
		}
		if !r.Holds {
			continue
		}
		seen[k] = true
		p.refer(r, "%s %s needs %s, which comes in %s of %s%s, and only after %s: a deadlock", r.Item.Kind, r.Item.Name, r.Named,
			r.Other.At(), r.At.Name, by(r), r.User.At())
	}
}

// by names the item that provides a reference, unless that is the object itself in the same Application.
func by(r plan.Reference) string {
	if r.By.App == r.At && r.By.Item.Kind == r.Kind {
		return ""
	}
	return fmt.Sprintf(" (%s %s of %s)", r.By.Item.Kind, r.By.Item.Name, r.By.App.Name)
}

// refer notes something about a reference, at the field that has it.
func (p *pass) refer(r plan.Reference, format string, args ...any) {
	p.item(r.App, r.Item, r.Field, format, args...)
}

var ruleWebhookBeforeService = Rule{
	Rule: plan.Rule{
		Name: "webhook-before-service", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "A webhook is configured in an earlier wave than the Service that it calls. Until the Service comes, the API server " +
			"refuses every object that the webhook is for. If such an object is deployed in between, the sync fails there.",
		Cure: "Put the webhook configuration in the wave of its Service, or in a later one.",
	},
	Family: Prerequisites,
	Why: "failurePolicy is Fail unless it is set (admissionregistration.k8s.io/v1). Inside a wave Argo CD applies Services and workloads " +
		"before webhook configurations (pkg/sync/sync_tasks.go of gitops-engine, read in 3.2.11).",
	check: func(p *pass) {
		for _, r := range p.References {
			if r.Later && isWebhook(r) && !ignoresFailure(r) {
				p.refer(r, "%s %s calls %s, which comes in %s of %s%s; until then the API server refuses what the webhook is for",
					r.Item.Kind,
					r.Item.Name, r.Named, r.Other.At(), r.At.Name, by(r))
			}
		}
	},
}

func isWebhook(r plan.Reference) bool { return r.Item.Group == "admissionregistration.k8s.io" }

// ignoresFailure reports whether the API server goes on without the webhook of a reference.
func ignoresFailure(r plan.Reference) bool {
	list, _ := r.Item.Object["webhooks"].([]any)
	return !slices.ContainsFunc(list, func(v any) bool {
		m, _ := v.(map[string]any)
		return manifest.String(m, "clientConfig", "service", "name") == r.Name && manifest.String(m, "failurePolicy") != "Ignore"
	})
}

var ruleServiceMissing = Rule{
	Rule: plan.Rule{
		Name: "service-missing", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "Nobody in the plan deploys the Service of a webhook or of an APIService. Unless the cluster has it, the API server " +
			"refuses every object that the webhook is for, and an APIService is never available, so that waves behind it wait for ever.",
		Cure: "Deploy the Service, correct its name and namespace, or set --exists Service/NAME if the cluster has it.",
	},
	Family: Prerequisites,
	Why: "failurePolicy is Fail unless it is set. Argo CD calls an APIService Progressing until it is Available " +
		"(pkg/health/health_apiservice.go of gitops-engine, read in 3.2.11).",
	check: func(p *pass) {
		p.missing("never works", func(r plan.Reference) bool { return r.Kind == "Service" && (!isWebhook(r) || !ignoresFailure(r)) })
	},
}

var ruleReferenceMissing = Rule{
	Rule: plan.Rule{
		Name: "reference-missing", Kind: plan.Ordering, Severity: plan.Warning,
		Means: "Nobody in the plan deploys the Issuer of a Certificate, or the store of an ExternalSecret. Unless the cluster has it, " +
			"the object is never ready, and waves behind it wait for ever.",
		Cure: "Deploy it, correct the name, or set --exists KIND/NAME if the cluster has it.",
	},
	Family: Prerequisites,
	Why: "The bundled health checks of Certificate and ExternalSecret wait for their condition Ready (resource_customizations, read in " +
		"3.2.11).",
	check: func(p *pass) {
		p.missing("is never ready", func(r plan.Reference) bool {
			return slices.Contains([]string{"Issuer", "ClusterIssuer", "SecretStore", "ClusterSecretStore"}, r.Kind)
		})
	},
}

var ruleClassMissing = Rule{
	Rule: plan.Rule{
		Name: "class-missing", Kind: plan.Ordering, Severity: plan.Info,
		Means: "Nobody in the plan deploys a StorageClass, VolumeSnapshotClass, PriorityClass, GatewayClass or IngressClass that an " +
			"object names. Clusters and controllers bring some of them. If nobody does, the object is never healthy.",
		Cure: "Deploy the class, correct the name, or set --exists KIND/NAME if the cluster has it.",
	},
	Family: Prerequisites,
	Why: "A claim without its StorageClass stays Pending, a Pod with an unknown PriorityClass is refused, and no controller handles an " +
		"Ingress or a Gateway of an unknown class. Argo CD calls all of them Progressing (pkg/health of gitops-engine, read in 3.2.11).",
	check: func(p *pass) {
		p.missing("is never healthy", func(r plan.Reference) bool {
			return slices.Contains([]string{"StorageClass", "VolumeSnapshotClass", "PriorityClass", "GatewayClass", "IngressClass"}, r.Kind)
		})
	},
}

// missing finds references to objects that nothing deploys, once for each object.
func (p *pass) missing(effect string, about func(plan.Reference) bool) {
	first, users := map[plan.Named]plan.Reference{}, map[plan.Named][]string{}
	var inOrder []plan.Named
	for _, r := range p.References {
		switch {
		case r.By.App != nil || r.Exists || !about(r):
		case r.Unknown != "":
			p.miss("%s needs %s; %s", r.App.Name, r.Named, r.Unknown)
		default:
			if users[r.Named] == nil {
				first[r.Named], inOrder = r, append(inOrder, r.Named)
			}
			if !slices.Contains(users[r.Named], r.App.Name) {
				users[r.Named] = append(users[r.Named], r.App.Name)
			}
		}
	}
	for _, n := range inOrder {
		r := first[n]
		more := ""
		if len(users[n]) > 1 {
			more = "; also needed by " + words.Some(users[n][1:])
		}
		behind := ""
		if r.Blocks {
			behind = ", and everything behind it waits"
		}
		p.refer(r, "nothing in this plan deploys %s; unless the cluster has it, %s %s, which needs it, %s%s%s", n, r.Item.Kind,
			r.Item.Name, effect, behind, more)
	}
}
