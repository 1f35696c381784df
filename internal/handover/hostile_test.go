package handover_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/handover"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// junk is what may stand anywhere in an object whose author is not ours.
func junk() []any {
	return []any{
		nil, "", "\x1b[2Jgone\u202e\n", int64(-1), 1.5, true,
		[]any{},
		[]any{nil, "x", map[string]any{"uid": int64(3)}},
		map[string]any{},
		map[string]any{"name": []any{}, "": nil},
	}
}

// mutations calls f with copies of an object in which one field is something else.
func mutations(o manifest.Object, f func(path string, changed manifest.Object)) {
	var walk func(path []string, v any)
	walk = func(path []string, v any) {
		m, ok := v.(map[string]any)
		if !ok {
			return
		}
		for _, k := range manifest.Keys(m) {
			here := append(slices.Clone(path), k)
			for i, value := range junk() {
				changed := manifest.Copy(o).(map[string]any)
				at := changed
				for _, p := range path {
					at = at[p].(map[string]any)
				}
				at[k] = manifest.Copy(value)
				f(fmt.Sprintf("%s = junk %d", strings.Join(here, "."), i), changed)
			}
			walk(here, m[k])
		}
	}
	walk(nil, o)
}

// held is a cluster without controllers in which objects are as somebody has written them. It counts what would hurt.
type held struct {
	*cluster
}

func (h held) Delete(ctx context.Context, kind string, ref argo.Ref, uid string) error {
	if kind == argo.KindApplication && ref.Name != "web" && ref.Name != "root-handover" {
		h.Errorf("Application %s is deleted", ref)
	}
	return h.cluster.Delete(ctx, kind, ref, uid)
}

func (h held) Create(ctx context.Context, o manifest.Object) error {
	if name := manifest.String(o, "metadata", "name"); name != "web" && name != "root-handover" {
		h.Errorf("%s is created", name)
	}
	return h.cluster.Create(ctx, o)
}

// Patch is for objects of any shape.
func (h held) Patch(_ context.Context, kind string, ref argo.Ref, patch map[string]any) error {
	o := h.objects[kind+"/"+ref.Name]
	if o == nil {
		return errors.New("not found")
	}
	merge(o, manifest.Copy(patch).(map[string]any))
	return nil
}

// TestHostileObjects: whatever an object of the cluster looks like, a run ends with an error or with what it would do with a sound one, deletes
// no Application, and says nothing that a terminal would obey.
func TestHostileObjects(t *testing.T) {
	try := func(t *testing.T, what string, make func(t *testing.T) *cluster, key string, changed manifest.Object, run func(handover.Config) error) {
		t.Helper()
		for _, back := range []bool{false, true} {
			c := make(t)
			c.objects[key] = manifest.Copy(changed).(map[string]any)
			cfg := c.config(back)
			waits := 0
			cfg.Cluster = held{c}
			cfg.Wait = func(context.Context) error {
				if waits++; waits > 3 {
					return errors.New("not done")
				}
				return nil
			}
			cfg.Tell = func(line string) {
				if strings.ContainsAny(line, "\n\x1b\u202e") {
					t.Errorf("%s: %q", what, line)
				}
			}
			err := run(cfg)
			if len(c.deleted) > 0 {
				t.Errorf("%s: %v", what, c.deleted)
			}
			if err != nil && len(err.Error()) > 10_000 { // the command makes errors harmless
				t.Errorf("%s: %.200q", what, err)
			}
		}
	}
	n := 0
	for _, key := range []string{"ApplicationSet/web", "Application/web-a"} {
		mutations(newCluster(t).objects[key], func(path string, changed manifest.Object) {
			n++
			try(t, key+": "+path, newCluster, key, changed, func(c handover.Config) error { return c.Run(t.Context()) })
		})
	}
	for _, key := range []string{"Application/root", "ApplicationSet/web", "Application/web-a"} {
		mutations(newFolder(t).objects[key], func(path string, changed manifest.Object) {
			n++
			try(t, key+": "+path, newFolder, key, changed, func(c handover.Config) error {
				c.Set.Name = "root"
				return c.RunFolder(t.Context())
			})
		})
	}
	if n < 1000 {
		t.Errorf("only %d objects", n)
	}
}
