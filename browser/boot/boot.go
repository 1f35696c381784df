// Package boot writes recordings of boots for tests and pictures, as argosy boot --record does: a root, waves, Applications in them, and one
// in each wave that deploys others.
package boot

import (
	"encoding/json"
	"fmt"
	"io"
	"time"
)

// Options say what is booted.
type Options struct {
	// Apps is how many Applications there are besides the root, Waves how many waves they are in.
	Apps, Waves int
	// Done is how many waves are healthy in the end; the next one runs.
	Done int
	// Fail is the number of an Application that is Degraded in the wave that runs; negative is none.
	Fail int
	// Name names Applications; nil is by number.
	Name func(i int) string
}

// start is when the boot begins.
var start = time.Date(2026, 5, 4, 10, 0, 0, 0, time.UTC)

type object = map[string]any

type app struct {
	name, parent string
	wave, lane   int
	children     []*app
}

// Write writes the recording.
func Write(w io.Writer, o Options) error {
	root, apps := plan(o)
	out := json.NewEncoder(w)
	var err error
	emit := func(at time.Duration, what string, obj object, source string) {
		if err == nil {
			err = out.Encode(object{"at": start.Add(at), "what": what, "object": obj, "source": source})
		}
	}
	const lane = 40 * time.Second
	emit(0, "listed", nil, "Applications in all namespaces")
	emit(time.Second, "seen", root.object("OutOfSync", "Missing", time.Second, 0), "")
	for n := range min(o.Done+1, o.Waves) {
		at := time.Duration(n)*lane + 2*time.Second
		emit(at, "seen", root.object("OutOfSync", "Progressing", time.Second, n), "")
		i := 0
		for _, a := range apps {
			if a.lane != n {
				continue
			}
			i++
			emit(at+time.Duration(i%7)*300*time.Millisecond, "seen", a.object("OutOfSync", "Missing", at, n), "")
		}
		i = 0
		for k, a := range apps {
			if a.lane != n {
				continue
			}
			i++
			took := at + 5*time.Second + time.Duration((k*7919)%29)*time.Second
			switch {
			case k == o.Fail && n == o.Done:
				emit(at+12*time.Second, "seen", a.object("Synced", "Degraded", at, n), "")
			case n < o.Done || i%3 == 0 && len(a.children) == 0:
				emit(took, "seen", a.object("Synced", "Healthy", at, n), "")
			case i%3 == 1:
				emit(at+8*time.Second, "seen", a.object("Synced", "Progressing", at, n), "")
			}
		}
	}
	end := time.Duration(o.Done)*lane + 36*time.Second
	if o.Done >= o.Waves {
		emit(end, "seen", root.object("Synced", "Healthy", time.Second, o.Waves), "")
	} else {
		emit(end, "seen", root.object("OutOfSync", "Progressing", time.Second, o.Done), "")
	}
	return err
}

// plan is the tree.
func plan(o Options) (*app, []*app) {
	name := o.Name
	if name == nil {
		name = func(i int) string { return fmt.Sprintf("%s-%03d", words[i%len(words)], i) }
	}
	root := &app{name: "root"}
	var all []*app
	var parent *app
	for i := range o.Apps {
		lane := i * o.Waves / o.Apps
		a := &app{name: name(i), parent: "root", wave: lane, lane: lane}
		// The last third of each wave is deployed by one Application of it.
		each := o.Apps / o.Waves
		if at := i % max(each, 1); each > 6 && at > each*2/3 && parent != nil && parent.lane == lane {
			a.parent, a.wave = parent.name, 0
			parent.children = append(parent.children, a)
		} else {
			root.children = append(root.children, a)
			parent = a
		}
		all = append(all, a)
	}
	return root, all
}

var words = []string{
	"cilium", "cert-manager", "longhorn", "external-secrets", "prometheus", "loki", "tempo", "kyverno", "gateway", "postgres", "valkey",
	"keycloak", "vault", "harbor", "gitea", "minio", "grafana", "velero", "istio", "nats",
}

// object is the Application at a moment of the boot.
func (a *app) object(sync, health string, created time.Duration, wave int) object {
	annotations := object{"argocd.argoproj.io/sync-wave": fmt.Sprint(a.wave)}
	if a.parent != "" {
		annotations["argocd.argoproj.io/tracking-id"] = fmt.Sprintf("%s:argoproj.io/Application:argocd/%s", a.parent, a.name)
	}
	resources, results := []object{}, []object{}
	for _, c := range a.children {
		status := "OutOfSync"
		if c.lane < wave {
			status = "Synced"
		}
		resources = append(resources, object{
			"group": "argoproj.io", "version": "v1alpha1", "kind": "Application", "namespace": "argocd", "name": c.name, "status": status,
			"syncWave": c.wave,
		})
		if c.lane == wave && a.parent == "" {
			results = append(results, object{
				"group": "argoproj.io", "kind": "Application", "namespace": "argocd", "name": c.name, "status": "Synced", "hookPhase": "Running",
			})
		}
	}
	status := object{"health": object{"status": health}, "sync": object{"status": sync}, "resources": resources, "reconciledAt": start}
	if len(results) > 0 && health != "Healthy" {
		status["operationState"] = object{
			"phase": "Running", "startedAt": start.Add(created),
			"message":    fmt.Sprintf("waiting for healthy state of argoproj.io/Application/%s and %d more resources", results[0]["name"], len(results)-1),
			"syncResult": object{"resources": results},
		}
	} else if sync == "OutOfSync" {
		status["operationState"] = object{"phase": "Running", "startedAt": start.Add(created), "message": "one or more objects are being applied"}
	}
	return object{
		"apiVersion": "argoproj.io/v1alpha1", "kind": "Application",
		"metadata": object{
			"name": a.name, "namespace": "argocd", "uid": "u-" + a.name, "creationTimestamp": start.Add(created), "annotations": annotations,
		},
		"spec": object{
			"project": []string{"platform", "apps", "data"}[len(a.name)%3], "source": object{"repoURL": "https://git.example.com/x.git", "path": a.name},
			"destination": object{"namespace": "x"}, "syncPolicy": object{"automated": object{}},
		},
		"status": status,
	}
}
