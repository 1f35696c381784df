package cause

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/live"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// maxPods bounds the pods of one workload that are looked at. Others fail for the same reason.
const maxPods = 5

// workload explains an object that has pods.
func (e *engine) workload(n *live.Node, at way, o manifest.Object) {
	key, path := live.KeyOf(o), at.path
	if e.refused(n, path, o) {
		return
	}
	owners := []manifest.Object{o}
	if key.Kind == "Deployment" {
		sets := owned(e.list("apps", "ReplicaSet", key.Namespace), o)
		// The newest replica set should run.
		slices.SortStableFunc(sets, func(a, b manifest.Object) int {
			return strings.Compare(manifest.String(b, "metadata", "creationTimestamp"), manifest.String(a, "metadata", "creationTimestamp"))
		})
		for _, set := range sets {
			if e.refused(n, append(slices.Clone(path), live.KeyOf(set).String()), set) {
				return
			}
		}
		owners = sets[:min(len(sets), 2)]
	}
	looked := 0
	for _, owner := range owners {
		above := at
		if live.KeyOf(owner) != key {
			above = at.to(live.KeyOf(owner))
		}
		for _, pod := range owned(e.list("", "Pod", key.Namespace), owner) {
			if ready(pod) {
				continue
			}
			if looked++; looked > maxPods {
				return
			}
			e.pod(n, above.to(live.KeyOf(pod)), pod)
		}
	}
	if looked == 0 && key.Kind != "Deployment" {
		e.uncreated(n, path, key)
	}
}

// refused explains a workload whose pods the API server refuses.
func (e *engine) refused(n *live.Node, path []string, o manifest.Object) bool {
	c := manifest.Condition(o, "ReplicaFailure")
	if manifest.String(c, "status") != "True" {
		return false
	}
	e.podsRefused(n, path, live.KeyOf(o), manifest.String(c, "message"), since(c))
	return true
}

func (e *engine) podsRefused(n *live.Node, path []string, key live.Key, message string, at time.Time) {
	s, ok := understand(message)
	if !ok {
		s = said{kind: Degraded, text: "the API server refuses its pods"}
	}
	e.add(Cause{
		Kind: s.kind, App: n, Path: path, Text: fmt.Sprintf("%s: %s", key, s.text),
		Detail: words.Shorten(plain(message), maxDetail), Fix: s.fix, Since: at,
	})
}

// uncreated explains a workload that has no pods, by its Events.
func (e *engine) uncreated(n *live.Node, path []string, key live.Key) {
	for _, x := range e.events(key) {
		if x.warning && x.reason == "FailedCreate" {
			e.podsRefused(n, path, key, x.message, x.at)
			return
		}
	}
}

// owned are the objects that another owns.
func owned(list []manifest.Object, owner manifest.Object) []manifest.Object {
	uid := manifest.String(owner, "metadata", "uid")
	var out []manifest.Object
	for _, o := range list {
		for _, r := range manifest.Maps(manifest.Map(o, "metadata")["ownerReferences"]) {
			if uid != "" && manifest.String(r, "uid") == uid {
				out = append(out, o)
			}
		}
	}
	return out
}

// ready reports whether a pod is ready or has ended well.
func ready(pod manifest.Object) bool {
	phase := manifest.String(pod, "status", "phase")
	return phase == "Succeeded" || phase == "Running" && manifest.String(manifest.Condition(pod, "Ready"), "status") == "True"
}

// pod explains a pod that is not ready.
func (e *engine) pod(n *live.Node, at way, o manifest.Object) {
	key, path := live.KeyOf(o), at.path
	if manifest.String(o, "metadata", "deletionTimestamp") != "" {
		e.stuck(n, path, o)
		return
	}
	for _, list := range []string{"initContainerStatuses", "containerStatuses"} {
		for _, c := range manifest.Maps(manifest.Map(o, "status")[list]) {
			if e.container(n, path, key, c) {
				return
			}
		}
	}
	if c := manifest.Condition(o, "PodScheduled"); manifest.String(c, "status") == "False" {
		if !e.claims(n, path, o) {
			e.add(Cause{
				Kind: Unscheduled, App: n, Path: path, Text: fmt.Sprintf("%s finds no node", key), Since: since(c),
				Detail: plain(manifest.String(c, "message")), Fix: unscheduledFix(manifest.String(c, "message")),
			})
		}
		return
	}
	if e.claims(n, path, o) || e.warnings(n, path, key) {
		return
	}
	c := Cause{Kind: NotReady, App: n, Path: path, Text: fmt.Sprintf("%s is not ready", key), Since: since(manifest.Condition(o, "Ready"))}
	c.Detail = plain(cmp.Or(manifest.String(o, "status", "message"), manifest.String(manifest.Condition(o, "Ready"), "message")))
	if phase := manifest.String(o, "status", "phase"); phase != "Running" && phase != "" {
		c.Text = fmt.Sprintf("%s is %s", key, phase)
	}
	if at.hook != "" {
		c.Kind, c.Text = Hook, fmt.Sprintf("the %s hook has not ended: %s", at.hook, c.Text)
		c.Fix, c.Command = "read its log with this command, or end the sync", kubectlLogs(key, "")
		c.Since = n.Operation.Started
	}
	e.add(c)
}

func unscheduledFix(message string) string {
	switch {
	case strings.Contains(message, "Insufficient"):
		return "add nodes, or request less"
	case strings.Contains(message, "untolerated taint"):
		return "tolerate the taint, or remove it from the nodes"
	case strings.Contains(message, "node affinity/selector"):
		return "change the node selector, or label a node"
	}
	return ""
}

// container explains a container that does not run.
func (e *engine) container(n *live.Node, path []string, key live.Key, c map[string]any) bool {
	waiting := manifest.Map(c, "state", "waiting")
	reason, text := manifest.String(waiting, "reason"), manifest.String(waiting, "message")
	image, name := manifest.String(c, "image"), manifest.String(c, "name")
	out := Cause{App: n, Path: path, Detail: words.Shorten(plain(text), maxDetail)}
	switch reason {
	case "ErrImagePull", "ImagePullBackOff", "InvalidImageName", "ErrImageNeverPull", "RegistryUnavailable", "ImageInspectError":
		out.Kind, out.Text = ImagePull, fmt.Sprintf("image %s cannot be pulled", image)
		out.Fix = "correct the image, or the credentials of its registry (imagePullSecrets)"
		out.Detail = cmp.Or(out.Detail, reason)
		if pull := e.pullMessage(key); pull != "" {
			out.Detail = pull
		}
	case "CreateContainerConfigError":
		out.Kind, out.Text = Config, fmt.Sprintf("container %s of %s lacks its configuration: %s", name, key, text)
		out.Fix, out.Detail = "deploy the Secret or ConfigMap in an earlier wave, or correct its name", ""
	case "CrashLoopBackOff", "RunContainerError", "CreateContainerError", "StartError":
		out.Kind, out.Text = Crash, fmt.Sprintf("container %s of %s crashes", name, key)
		last := manifest.Map(c, "lastState", "terminated")
		if why := manifest.String(last, "reason"); why != "" {
			out.Text += fmt.Sprintf(": %s, exit code %v", why, last["exitCode"])
			out.Since, _ = time.Parse(time.RFC3339, manifest.String(last, "finishedAt"))
		}
		out.Fix, out.Command = "read its log", append(kubectlLogs(key, name), "--previous")
		out.Detail = words.Shorten(cmp.Or(plain(manifest.String(last, "message")), out.Detail), maxDetail)
	default:
		ended := manifest.Map(c, "state", "terminated")
		if code := fmt.Sprint(ended["exitCode"]); ended == nil || code == "0" {
			return false
		}
		out.Kind = Crash
		out.Text = fmt.Sprintf("container %s of %s ended: %s, exit code %v", name, key, manifest.String(ended, "reason"), ended["exitCode"])
		out.Fix, out.Command = "read its log", kubectlLogs(key, name)
		out.Detail = words.Shorten(plain(manifest.String(ended, "message")), maxDetail)
	}
	e.add(out)
	return true
}

// pullMessage is the kubelet's message about a failed image pull; the state of the container says only that it waits.
func (e *engine) pullMessage(key live.Key) string {
	for _, x := range e.events(key) {
		if x.warning && strings.HasPrefix(x.message, "Failed to pull image") {
			return words.Shorten(plain(x.message), maxDetail)
		}
	}
	return ""
}

// claims explains volumes of a pod that are not bound. It reports whether there are any.
func (e *engine) claims(n *live.Node, path []string, pod manifest.Object) bool {
	found := false
	for _, v := range manifest.Maps(manifest.Map(pod, "spec")["volumes"]) {
		name := manifest.String(v, "persistentVolumeClaim", "claimName")
		if name == "" {
			continue
		}
		key := live.Key{Kind: "PersistentVolumeClaim", Namespace: manifest.String(pod, "metadata", "namespace"), Name: name}
		o, err := e.lookup(key)
		switch {
		case err != nil:
		case o == nil:
			found = true
			e.add(Cause{
				Kind: Volume, App: n, Path: append(slices.Clone(path), key.String()), Text: fmt.Sprintf("%s does not exist", key),
				Fix: "deploy the claim in an earlier wave, or correct its name",
			})
		case manifest.String(o, "status", "phase") == "Pending":
			found = true
			e.claim(n, append(slices.Clone(path), key.String()), o)
		}
	}
	return found
}

var storageClass = regexp.MustCompile(`storageclass\.storage\.k8s\.io "([^"]+)" not found`)

// claim explains a volume that is not bound.
func (e *engine) claim(n *live.Node, path []string, o manifest.Object) {
	key := live.KeyOf(o)
	c := Cause{Kind: Volume, App: n, Path: path, Text: fmt.Sprintf("%s is not bound to a volume", key)}
	c.Fix = "check the storage class and its provisioner"
	c.Since, _ = time.Parse(time.RFC3339, manifest.String(o, "metadata", "creationTimestamp"))
	for _, x := range e.events(key) {
		if !slices.Contains([]string{"ProvisioningFailed", "FailedBinding", "WaitForFirstConsumer", "ExternalProvisioning"}, x.reason) {
			continue
		}
		c.Detail = words.Shorten(plain(x.message), maxDetail)
		switch m := storageClass.FindStringSubmatch(x.message); {
		case m != nil:
			c.Text = fmt.Sprintf("%s: the storage class %s does not exist", key, m[1])
			c.Fix = "deploy the storage class in an earlier wave, or correct its name"
		case x.reason == "WaitForFirstConsumer":
			c.Text = fmt.Sprintf("%s is bound when the first pod uses it, and none does", key)
			c.Fix = "put the claim into the wave of its pods: a wave that waits for the claim never ends"
		case x.reason == "FailedBinding":
			c.Fix = "set a storage class, or a default one"
		}
		break
	}
	e.add(c)
}

// warnings explains a pod by its newest Event that names a reason.
func (e *engine) warnings(n *live.Node, path []string, key live.Key) bool {
	for _, x := range e.events(key) {
		if !x.warning {
			continue
		}
		c := Cause{App: n, Path: path, Detail: words.Shorten(plain(x.message), maxDetail), Since: x.at}
		switch x.reason {
		case "FailedMount", "FailedAttachVolume":
			c.Kind, c.Text = Volume, fmt.Sprintf("a volume of %s cannot be mounted", key)
			if strings.Contains(x.message, "not found") {
				c.Kind, c.Fix = Config, "deploy the Secret, ConfigMap or claim in an earlier wave, or correct its name"
			}
		case "Unhealthy":
			c.Kind, c.Text = NotReady, fmt.Sprintf("%s runs, and its probe fails", key)
			c.Fix, c.Command = "read its log", kubectlLogs(key, "")
		case "FailedCreatePodSandBox", "NetworkNotReady":
			c.Kind, c.Text = NotReady, fmt.Sprintf("%s has no network", key)
			c.Fix = "check the network plugin of the node"
		default:
			continue
		}
		e.add(c)
		return true
	}
	return false
}

func kubectlLogs(key live.Key, container string) []string {
	out := []string{"kubectl", "logs", "-n", key.Namespace, key.Name}
	if container != "" {
		out = append(out, "-c", container)
	}
	return out
}

func since(c map[string]any) time.Time {
	t, _ := time.Parse(time.RFC3339, manifest.String(c, "lastTransitionTime"))
	return t
}
