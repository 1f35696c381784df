package handover

import (
	"context"
	"fmt"
	"slices"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// maxMessage is how much of a message of Argo CD is shown.
const maxMessage = 1000

// troubles says why Argo CD has not compared an Application, "" if it has.
func troubles(app manifest.Object) string {
	conditions, _ := manifest.Map(app, "status")["conditions"].([]any)
	for _, v := range conditions {
		if m, _ := v.(map[string]any); argo.IsError(manifest.String(m, "type")) {
			return fmt.Sprintf("Argo CD says %s: %s", manifest.String(m, "type"), message(m))
		}
	}
	if status := manifest.String(app, "status", "sync", "status"); status == "" || status == argo.SyncUnknown {
		return "Argo CD has not rendered it yet"
	}
	return ""
}

// isSynced reports whether Argo CD has synced an Application.
func isSynced(app manifest.Object) (bool, string) {
	status := manifest.String(app, "status", "sync", "status")
	return status == argo.Synced, fmt.Sprintf("it is %s: %s", words.OrDash(status),
		words.OrDash(message(manifest.Map(app, "status", "operationState"))))
}

// message is Argo CD's message, without passwords of URLs.
func message(o map[string]any) string {
	return giturl.Message(manifest.String(o, "message"), maxMessage)
}

// syncing reports whether a sync of an Application is running, or about to.
func syncing(app manifest.Object) bool {
	return app["operation"] != nil || manifest.String(app, "status", "operationState", "phase") == argo.PhaseRunning
}

// deleting reports whether an object is being deleted.
func deleting(o manifest.Object) bool { return manifest.Map(o, "metadata")["deletionTimestamp"] != nil }

// deleteAlone deletes an Application without the Applications that it deploys. Nil is gone already.
func (c Config) deleteAlone(ctx context.Context, ref argo.Ref, app manifest.Object) error {
	if app == nil || deleting(app) {
		return nil
	}
	if finalizers, _ := manifest.Map(app, "metadata")["finalizers"].([]any); len(finalizers) > 0 {
		return fmt.Errorf("%s %s has finalizers, so deleting it would delete its Applications; remove the finalizers", argo.KindApplication,
			ref)
	}
	return c.Cluster.Delete(ctx, argo.KindApplication, ref, manifest.String(app, "metadata", "uid"))
}

// differing are the names that are in one of two lists.
func differing(a, b []string) []string {
	var out []string
	for _, name := range slices.Concat(a, b) {
		if slices.Contains(a, name) != slices.Contains(b, name) {
			out = append(out, name)
		}
	}
	return out
}

// texts are references in words.
func texts(refs []argo.Ref) []string {
	var out []string
	for _, r := range refs {
		out = append(out, r.String())
	}
	return out
}
