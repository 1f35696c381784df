package order

import (
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// builtIn are the groups of Kubernetes itself, with their kinds that are not namespaced. Groups without a dot cannot be those of a CRD, so
// they need not be here unless they have such kinds.
var builtIn = map[string]string{
	"":       "Namespace Node PersistentVolume ComponentStatus",
	"policy": "PodSecurityPolicy",
	"admissionregistration.k8s.io": "MutatingWebhookConfiguration ValidatingWebhookConfiguration ValidatingAdmissionPolicy " +
		"ValidatingAdmissionPolicyBinding MutatingAdmissionPolicy MutatingAdmissionPolicyBinding",
	"apiextensions.k8s.io":         "CustomResourceDefinition",
	"apiregistration.k8s.io":       "APIService",
	"authentication.k8s.io":        "TokenReview SelfSubjectReview",
	"authorization.k8s.io":         "SubjectAccessReview SelfSubjectAccessReview SelfSubjectRulesReview",
	"certificates.k8s.io":          "CertificateSigningRequest ClusterTrustBundle",
	"coordination.k8s.io":          "",
	"discovery.k8s.io":             "",
	"events.k8s.io":                "",
	"flowcontrol.apiserver.k8s.io": "FlowSchema PriorityLevelConfiguration",
	"internal.apiserver.k8s.io":    "StorageVersion",
	"networking.k8s.io":            "IngressClass IPAddress ServiceCIDR",
	"node.k8s.io":                  "RuntimeClass",
	"rbac.authorization.k8s.io":    "ClusterRole ClusterRoleBinding",
	"resource.k8s.io":              "DeviceClass DeviceTaintRule ResourceSlice",
	"scheduling.k8s.io":            "PriorityClass",
	"storage.k8s.io":               "CSIDriver CSINode StorageClass VolumeAttachment VolumeAttributesClass",
	"storagemigration.k8s.io":      "StorageVersionMigration",
}

// BuiltIn reports whether a group is one of Kubernetes itself.
func BuiltIn(group string) bool {
	_, ok := builtIn[group]
	return ok || !strings.Contains(group, ".")
}

// ClusterScoped reports whether a kind of Kubernetes itself is not namespaced.
func ClusterScoped(group, kind string) bool {
	for name := range strings.FieldsSeq(builtIn[group]) {
		if name == kind {
			return true
		}
	}
	return false
}

// OfArgoCD reports whether a kind is installed with Argo CD.
func OfArgoCD(group, kind string) bool {
	return group == argo.Group && (kind == argo.KindApplication || kind == argo.KindApplicationSet || kind == argo.KindAppProject)
}

// IsNamespace reports whether an object is a Namespace.
func IsNamespace(o manifest.Object) bool {
	return manifest.Group(o) == "" && manifest.String(o, "kind") == "Namespace"
}

func isCRD(o manifest.Object) bool {
	return manifest.Group(o) == "apiextensions.k8s.io" && manifest.String(o, "kind") == "CustomResourceDefinition"
}

// DefinedKind is group/Kind of what a CRD defines, "" for other objects.
func DefinedKind(o manifest.Object) string {
	group, kind := manifest.String(o, "spec", "group"), manifest.String(o, "spec", "names", "kind")
	if !isCRD(o) || group == "" || kind == "" {
		return ""
	}
	return group + "/" + kind
}
