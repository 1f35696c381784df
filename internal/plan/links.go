package plan

import (
	"cmp"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/strict"
)

const (
	groupStorage  = "storage.k8s.io"
	groupNetwork  = "networking.k8s.io"
	groupSnapshot = "snapshot.storage.k8s.io"
	groupGateway  = "gateway.networking.k8s.io"
	groupCerts    = "cert-manager.io"
	groupSecrets  = "external-secrets.io"
)

// nameable are the kinds that references name, with those of them that are not namespaced.
var nameable = map[[2]string]bool{
	{groupStorage, "StorageClass"}: false, {groupSnapshot, "VolumeSnapshotClass"}: false, {"scheduling.k8s.io", "PriorityClass"}: false,
	{groupGateway, "GatewayClass"}: false, {groupNetwork, "IngressClass"}: false, {groupCerts, "ClusterIssuer"}: false,
	{groupSecrets, "ClusterSecretStore"}: false, {groupCerts, "Issuer"}: true, {groupSecrets, "SecretStore"}: true, {"", "Service"}: true,
	{"", "ConfigMap"}: true, {"", "Secret"}: true, {"", "ServiceAccount"}: true, {"", "PersistentVolumeClaim"}: true,
}

// isNamed reports whether references name objects of a kind.
func isNamed(kind string) bool {
	for k := range nameable {
		if k[1] == kind {
			return true
		}
	}
	return false
}

// link is the name of another object, and the field that has it.
type link struct {
	Named
	field []string
}

// links collects the links of an object.
type links struct {
	object manifest.Object
	list   []link
}

// add notes something that the object names. The name is the value of the last field, unless another is given.
func (l *links) add(group, kind string, name string, field ...string) {
	if name != "" && !strings.Contains(name, "{{") {
		l.list = append(l.list, link{Named{Group: group, Kind: kind, Name: name}, field})
	}
}

// text is the text of a field.
func (l *links) text(field ...string) string { return manifest.String(l.object, field...) }

// linksOf returns the objects that an object names and needs.
func linksOf(item *Item) []link {
	l := &links{object: item.Object}
	switch item.Group + "/" + item.Kind {
	case "/PersistentVolumeClaim":
		if l.text("spec", "volumeName") == "" {
			l.add(groupStorage, "StorageClass", l.text("spec", "storageClassName"), "spec", "storageClassName")
		}
	case groupSnapshot + "/VolumeSnapshot":
		l.add(groupSnapshot, "VolumeSnapshotClass", l.text("spec", "volumeSnapshotClassName"), "spec", "volumeSnapshotClassName")
	case groupSecrets + "/ExternalSecret":
		kind := cmp.Or(l.text("spec", "secretStoreRef", "kind"), "SecretStore")
		l.add(groupSecrets, kind, l.text("spec", "secretStoreRef", "name"), "spec", "secretStoreRef", "name")
	case groupCerts + "/Certificate":
		if g := l.text("spec", "issuerRef", "group"); g == "" || g == groupCerts {
			l.add(groupCerts, cmp.Or(l.text("spec", "issuerRef", "kind"), "Issuer"), l.text("spec", "issuerRef", "name"), "spec",
				"issuerRef",
				"name")
		}
	case groupGateway + "/Gateway":
		l.add(groupGateway, "GatewayClass", l.text("spec", "gatewayClassName"), "spec", "gatewayClassName")
	case groupNetwork + "/Ingress":
		l.add(groupNetwork, "IngressClass", l.text("spec", "ingressClassName"), "spec", "ingressClassName")
	case "apiregistration.k8s.io/APIService":
		l.service("spec", "service")
	case "admissionregistration.k8s.io/ValidatingWebhookConfiguration", "admissionregistration.k8s.io/MutatingWebhookConfiguration":
		hooks, _ := item.Object["webhooks"].([]any)
		for i := range hooks {
			l.object, _ = hooks[i].(map[string]any)
			n := len(l.list)
			l.service("clientConfig", "service")
			for j := range l.list[n:] {
				l.list[n+j].field = append([]string{"webhooks", strict.Index(i)}, l.list[n+j].field...)
			}
		}
	default:
		l.workload(item)
	}
	return l.list
}

// service notes the Service at a field.
func (l *links) service(field ...string) {
	m := manifest.Map(l.object, field...)
	if name := manifest.String(m, "name"); name != "" {
		l.list = append(l.list, link{Named{Kind: "Service", Namespace: manifest.String(m, "namespace"), Name: name}, append(field, "name")})
	}
}

// workload adds the objects that the Pods of a workload need to start.
func (l *links) workload(item *Item) {
	path := map[string][]string{
		"/Pod": {"spec"}, "apps/Deployment": {"spec", "template", "spec"}, "apps/StatefulSet": {"spec", "template", "spec"},
		"apps/DaemonSet": {"spec", "template", "spec"}, "batch/Job": {"spec", "template", "spec"},
		"apps/ReplicaSet": {"spec", "template", "spec"}, "argoproj.io/Rollout": {"spec", "template", "spec"},
	}[item.Group+"/"+item.Kind]
	pod := manifest.Map(l.object, path...)
	if path == nil || pod == nil || isZero(manifest.Map(l.object, "spec")["replicas"]) {
		return
	}
	at := func(more ...string) []string { return append(slices.Clip(path), more...) }
	if class := manifest.String(pod, "priorityClassName"); !strings.HasPrefix(class, "system-") {
		l.add("scheduling.k8s.io", "PriorityClass", class, at("priorityClassName")...)
	}
	if account := cmp.Or(manifest.String(pod, "serviceAccountName"), manifest.String(pod, "serviceAccount")); account != "default" {
		l.add("", "ServiceAccount", account, at("serviceAccountName")...)
	}
	templates, _ := manifest.Map(l.object, "spec")["volumeClaimTemplates"].([]any)
	for i, v := range templates {
		m, _ := v.(map[string]any)
		l.add(groupStorage, "StorageClass", manifest.String(m, "spec", "storageClassName"), "spec", "volumeClaimTemplates", strict.Index(i),
			"spec", "storageClassName")
	}
	l.volumes(pod, at)
	for _, list := range []string{"initContainers", "containers"} {
		containers, _ := pod[list].([]any)
		for i, v := range containers {
			c, _ := v.(map[string]any)
			l.environment(c, func(more ...string) []string { return at(append([]string{list, strict.Index(i)}, more...)...) })
		}
	}
}

func isZero(v any) bool {
	n, ok := manifest.Number(v)
	return ok && n == 0
}

func (l *links) volumes(pod map[string]any, at func(...string) []string) {
	volumes, _ := pod["volumes"].([]any)
	for i, v := range volumes {
		m, _ := v.(map[string]any)
		here := func(more ...string) []string { return at(append([]string{"volumes", strict.Index(i)}, more...)...) }
		l.needed("Secret", manifest.Map(m, "secret"), "secretName", here("secret", "secretName"))
		l.needed("ConfigMap", manifest.Map(m, "configMap"), "name", here("configMap", "name"))
		l.needed("PersistentVolumeClaim", manifest.Map(m, "persistentVolumeClaim"), "claimName", here("persistentVolumeClaim", "claimName"))
		sources, _ := manifest.Map(m, "projected")["sources"].([]any)
		for j, s := range sources {
			p, _ := s.(map[string]any)
			l.needed("Secret", manifest.Map(p, "secret"), "name", here("projected", "sources", strict.Index(j), "secret", "name"))
			l.needed("ConfigMap", manifest.Map(p, "configMap"), "name", here("projected", "sources", strict.Index(j), "configMap", "name"))
		}
	}
}

func (l *links) environment(c map[string]any, at func(...string) []string) {
	env, _ := c["env"].([]any)
	for i, v := range env {
		m, _ := v.(map[string]any)
		from := manifest.Map(m, "valueFrom")
		l.needed("Secret", manifest.Map(from, "secretKeyRef"), "name", at("env", strict.Index(i), "valueFrom", "secretKeyRef", "name"))
		l.needed("ConfigMap", manifest.Map(from, "configMapKeyRef"), "name", at("env", strict.Index(i), "valueFrom", "configMapKeyRef",
			"name"))
	}
	all, _ := c["envFrom"].([]any)
	for i, v := range all {
		m, _ := v.(map[string]any)
		l.needed("Secret", manifest.Map(m, "secretRef"), "name", at("envFrom", strict.Index(i), "secretRef", "name"))
		l.needed("ConfigMap", manifest.Map(m, "configMapRef"), "name", at("envFrom", strict.Index(i), "configMapRef", "name"))
	}
}

// needed adds a ConfigMap or a Secret that a Pod cannot start without.
func (l *links) needed(kind string, m map[string]any, key string, field []string) {
	if m["optional"] != true {
		l.add("", kind, manifest.String(m, key), field...)
	}
}

// brings returns the objects that an item provides: itself, and the Secret that a controller creates from it.
func brings(item *Item) []Named {
	var out []Named
	if _, ok := nameable[[2]string{item.Group, item.Kind}]; ok {
		out = append(out, Named{item.Group, item.Kind, item.Namespace, item.Name})
	}
	secret := ""
	switch item.Group + "/" + item.Kind {
	case groupSecrets + "/ExternalSecret":
		secret = cmp.Or(manifest.String(item.Object, "spec", "target", "name"), item.Name)
	case groupCerts + "/Certificate":
		secret = manifest.String(item.Object, "spec", "secretName")
	case "bitnami.com/SealedSecret":
		secret = item.Name
	case "/PersistentVolume": // a claim can name it by its class, which need not exist
		if class := manifest.String(item.Object, "spec", "storageClassName"); class != "" {
			out = append(out, Named{groupStorage, "StorageClass", "", class})
		}
	}
	if secret != "" {
		out = append(out, Named{"", "Secret", item.Namespace, secret})
	}
	return out
}
