package cause

import (
	"fmt"
	"regexp"
	"strings"
)

// said is the meaning of a message of Argo CD or of the API server.
type said struct {
	kind Kind
	// text completes a sentence that begins with an object.
	text string
	fix  string
}

// rule recognises a message. $1 and so on in its texts are the groups of the expression.
type rule struct {
	re   *regexp.Regexp
	said said
}

// rules are tried in order. The messages are those of Argo CD 3.2 to 3.5, of its sync engine, and of Kubernetes.
var rules = func() []rule {
	table := []struct {
		re string
		said
	}{
		{`The Kubernetes API could not find version "([^"]*)" of (\S+) for`, said{
			MissingCRD, "the cluster has $2, but not its version $1",
			"deploy a CRD with that version, or change apiVersion",
		}},
		{`The Kubernetes API could not find (\S+) for`, said{
			MissingCRD, "the cluster has no kind $1: its CRD is not installed",
			"deploy the CRD in an earlier wave",
		}},
		{`no matches for kind "([^"]+)" in version "([^"]+)"`, said{
			MissingCRD, "the cluster has no kind $1 in $2: its CRD is not installed",
			"deploy the CRD in an earlier wave",
		}},
		{`the server could not find the requested resource`, said{
			MissingCRD, "the cluster does not know its kind: the CRD is not installed",
			"deploy the CRD in an earlier wave",
		}},
		{`exceeded quota: ([^,]+), requested: (.+?), used: (.+?), limited: (\S+)`, said{
			Quota, "ResourceQuota $1 is used up: requested $2, used $3, limited to $4",
			"raise the quota, or request less",
		}},
		{`violates PodSecurity "([^"]+)": ?(.*)`, said{
			PodSecurity, "the namespace allows only pods of level $1: $2", "change the security context, or the level of the namespace",
		}},
		{`failed calling webhook "([^"]+)": ?(.*)`, said{
			Webhook, "the admission webhook $1 does not answer: $2",
			"repair the server of the webhook, or set failurePolicy: Ignore in the webhook configuration",
		}},
		{`admission webhook "([^"]+)" denied the request:? ?(.*)`, said{
			Webhook, "the admission webhook $1 refused it: $2", "change the manifest so that the webhook accepts it",
		}},
		{`ValidatingAdmissionPolicy '([^']+)'.* denied request: ?(.*)`, said{
			Webhook, "the admission policy $1 refused it: $2", "change the manifest so that the policy accepts it",
		}},
		{
			`field is immutable|updates to statefulset spec for fields other than|may not change once set|is immutable after creation`,
			said{
				Immutable, "it changes a field that is immutable",
				"delete the object so that Argo CD creates it again, or set the annotation argocd.argoproj.io/sync-options: " +
					"Replace=true,Force=true",
			},
		},
		{`metadata\.annotations: Too long`, said{
			TooLarge, "it is too large for a client-side apply", "set the sync option ServerSideApply=true",
		}},
		{`[Rr]eferencing project (\S+) which does not exist`, said{
			Project, "its project $1 does not exist", "create the AppProject $1 before the Application",
		}},
		{`(?:application|sync source|destination) repo (\S+) is not permitted in project '([^']*)'`, said{
			Project, "its project $2 does not permit the repository $1", "add the repository to sourceRepos of the AppProject $2",
		}},
		{`destination server '([^']*)' and namespace '([^']*)' do not match any of the allowed destinations in project '([^']*)'`, said{
			Project, "its project $3 does not permit namespace $2 of $1", "add the destination to the AppProject $3",
		}},
		{`resource ([^:\s]*):(\S+) is not permitted in project (\S+)`, said{
			Project, "its project $3 does not permit the kind $2 of group \"$1\"",
			"permit the kind in the AppProject $3: clusterResourceWhitelist, namespaceResourceWhitelist or namespaceResourceBlacklist",
		}},
		{`namespace (\S+) is not permitted in project '([^']*)'`, said{
			Project, "its project $2 does not permit namespace $1", "add the namespace to destinations of the AppProject $2",
		}},
		{`is not permitted to use project '([^']*)'`, said{
			Project, "its project $1 does not permit Applications of this namespace",
			"add the namespace to sourceNamespaces of the AppProject $1",
		}},
		{`is not permitted in project|not permitted to use project`, said{
			Project, "its project does not permit it", "permit the source, the destination or the kind in the AppProject",
		}},
		{`because it is being terminated`, said{
			Finalizer, "its namespace is being deleted",
			"repair what blocks the deletion: kubectl get namespace NAME -o yaml shows it in status.conditions",
		}},
		{`namespaces "([^"]+)" not found`, said{
			NoNamespace, "namespace $1 does not exist",
			"set the sync option CreateNamespace=true, or deploy the namespace in an earlier wave",
		}},
		{`is forbidden: User "([^"]+)" cannot (\w+) resource "([^"]+)"`, said{
			Rights, "$1 may not $2 $3", "give Argo CD's service account the right",
		}},
		{`Apply failed with \d+ conflicts?: (.*)`, said{
			Conflict, "another field manager owns a field: $1",
			"remove the field from the manifest, or from what the other manager applies",
		}},
		{
			`is invalid: (.*)|unknown field "([^"]+)"|error validating data: (.*)|strict decoding error: (.*)|ValidationError\((.*)`,
			said{Invalid, "the API server refuses the manifest", "correct the manifest"},
		},
		{`auto-sync will wipe out all resources`, said{
			Wiped, "its source is empty, and automated sync refuses to delete everything",
			"restore the manifests, or set allowEmpty in its automated sync policy",
		}},
		{`Shared resource found: (.*?)(?:\. Retrying attempt .*)?$`, said{
			Shared, "an object belongs to another Application, too: $1", "remove the object from one of the two Applications",
		}},
		{`no PriorityClass with name (\S+) was found`, said{
			Config, "PriorityClass $1 does not exist", "deploy the PriorityClass in an earlier wave",
		}},
		{`error looking up service account \S+: serviceaccount "([^"]+)" not found`, said{
			Config, "ServiceAccount $1 does not exist", "deploy the ServiceAccount in an earlier wave",
		}},
		{`could not find (?:cmp-server )?plugin(?: with name "([^"]+)")? supporting the given repository`, said{
			Plugin, "the repo-server finds no plugin $1: its sidecar does not run, or its discovery does not match",
			"check that the sidecar of the repo-server runs, and read its log",
		}},
		{`(?:CMP processing failed|generating manifests in cmp).*(?:code = Unavailable|code = DeadlineExceeded)`, said{
			Plugin, "its plugin does not answer", "check that the sidecar of the repo-server runs, and read its log",
		}},
		{`code = Unavailable|connect: connection refused|error while dialing|Error while dialing`, said{
			Repository, "the repo-server, or its repository, does not answer",
			"check that the repo-server runs, and that it reaches the URL of the repository",
		}},
		{
			`repository not (?:found|accessible)|authentication required|[Uu]nable to (?:ls-remote|resolve|get repository)|failed to list refs|` +
				`no such host|could not read Username|app path does not exist|unable to resolve '?`,
			said{
				Repository, "its repository, path or revision cannot be read",
				"correct repoURL, path, targetRevision, or the credentials",
			},
		},
		{
			`[Uu]nable to get cluster|error getting cluster|there are no clusters with|Failed to get destination cluster|cluster .* not found`,
			said{Destination, "Argo CD does not know the cluster of its destination", "register the cluster, or correct spec.destination"},
		},
		{`Failed to load live state|failed to get cluster info|error synchronizing cache state`, said{
			Destination, "Argo CD cannot read the cluster of its destination",
			"check the connection to that cluster, and the rights of Argo CD there",
		}},
		{`Failed to load target state|failed to generate manifest|CMP processing failed|generating manifests in cmp`, said{
			Manifests, "its manifests cannot be rendered", "correct the source; argosy app render shows the same offline",
		}},
	}
	out := make([]rule, 0, len(table))
	for _, row := range table {
		out = append(out, rule{regexp.MustCompile(row.re), row.said})
	}
	return out
}()

// understand returns the meaning of a message. It reports false if no rule matches.
func understand(message string) (said, bool) {
	message = oneLine(message)
	for _, r := range rules {
		m := r.re.FindStringSubmatchIndex(message)
		if m == nil {
			continue
		}
		fill := func(text string) string {
			text = string(r.re.ExpandString(nil, text, message, m))
			return strings.TrimRight(strings.ReplaceAll(strings.TrimSpace(text), "plugin :", "plugin:"), ": ")
		}
		return said{r.said.kind, fill(r.said.text), fill(r.said.fix)}, true
	}
	return said{}, false
}

// oneLine is a text on one line.
func oneLine(s string) string { return strings.Join(strings.Fields(s), " ") }

var (
	rpcError = regexp.MustCompile(`rpc error: code = \w+ desc = |error when \w+ "/[^"]*": `)
	wrappers = regexp.MustCompile(`^(?:Failed to load target state: |failed to generate manifest for source \d+ of \d+: |` +
		`Manifest generation error \(cached\): |CMP processing failed for application "[^"]*": |error generating manifests in cmp: )+`)
)

// plain returns a message on one line, without its wrapping.
func plain(message string) string {
	return wrappers.ReplaceAllString(rpcError.ReplaceAllString(oneLine(message), ""), "")
}

// Short are revisions as people write them: commits are cut, versions of charts and digests are not.
func Short(revisions []string) string {
	list := make([]string, len(revisions))
	for i, r := range revisions {
		if list[i] = r; len(r) == 40 {
			list[i] = r[:7]
		}
	}
	return strings.Join(list, ", ")
}

// retried says how often a sync was tried again.
func retried(n int) string {
	if n == 0 {
		return "not retried"
	}
	return "retried " + times(n)
}

func times(n int) string {
	if n == 1 {
		return "once"
	}
	return fmt.Sprintf("%d times", n)
}
