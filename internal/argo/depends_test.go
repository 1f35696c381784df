package argo_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

func TestAssignWaves(t *testing.T) {
	for name, c := range map[string]struct {
		apps string // name[@wave][<-needs]
		want string // waves of those that have one, or errors
	}{
		"nothing":       {"a b", ""},
		"a chain":       {"c<-b b<-a a", "b=1 c=2"},
		"a diamond":     {"d<-b,c b<-a c<-a a", "b=1 c=1 d=2"},
		"hand-written":  {"b<-a a@3", "a=3 b=4"},
		"its own":       {"b@9<-a a@3", "a=3 b=9"},
		"negative":      {"b<-a a@-5", "a=-5 b=-4"},
		"twice, spaces": {"b<-a,,a a", "b=1"},
		"inherited":     {"inherits<-a a", "inherits=4"},
		"behind it":     {"inherits<-a a@7", "a=7 inherits=8"},
		"contradiction": {
			"b@1<-a a@1",
			`Application "b": argosy.dev/depends-on: its own annotation puts it into wave 1, but a, which it needs, is in wave 1`,
		},
		"a circle": {"a<-b b<-c c<-a", `Application "a": argosy.dev/depends-on: they need each other: a → b → c → a`},
		"itself":   {"a<-a", "they need each other: a → a"},
		"unknown":  {"a<-x", `Application "a": argosy.dev/depends-on: there is no Application "x" beside it`},
		"several": {"a<-x b<-b", `there is no Application "x" beside it` + "\n" +
			`Application "b": argosy.dev/depends-on: they need each other`},
		"others unharmed": {"b<-a a c@2", "b=1 c=2"},
	} {
		t.Run(name, func(t *testing.T) {
			var objects []manifest.Object
			for _, text := range strings.Fields(c.apps) {
				head, needs, _ := strings.Cut(text, "<-")
				app, wave, hasWave := strings.Cut(head, "@")
				annotations := map[string]any{}
				if needs != "" {
					annotations[argo.DependsAnnotation] = strings.ReplaceAll(needs, ",", " , ")
				}
				if hasWave {
					annotations[argo.SyncWaveAnnotation] = wave
				}
				objects = append(objects, manifest.Object{
					"apiVersion": argo.APIVersion, "kind": argo.KindApplication,
					"metadata": map[string]any{"name": app, "annotations": annotations},
				})
			}
			objects = append(objects, manifest.Object{"kind": "ConfigMap", "metadata": map[string]any{"name": "x"}})
			err := argo.AssignWaves(objects, map[string]int{"inherits": 4})
			waves := map[string]string{}
			for _, o := range objects {
				if wave := manifest.String(o, "metadata", "annotations", argo.SyncWaveAnnotation); wave != "" {
					waves[manifest.String(o, "metadata", "name")] = wave
				}
			}
			var got []string
			for _, app := range manifest.Keys(waves) {
				got = append(got, fmt.Sprintf("%s=%s", app, waves[app]))
			}
			text := strings.Join(got, " ")
			if err != nil {
				text = err.Error()
			}
			if text != c.want && (err == nil || !strings.Contains(text, c.want)) {
				t.Errorf("got  %s\nwant %s", text, c.want)
			}
		})
	}
}

// TestLongChain: the memory for a chain of Applications grows with its length, and not with its square.
func TestLongChain(t *testing.T) {
	const length, each = 3000, 5000
	var objects []manifest.Object
	for i := range length {
		annotations := map[string]any{}
		if i < length-1 {
			annotations[argo.DependsAnnotation] = fmt.Sprint("a", i+1)
		}
		objects = append(objects, manifest.Object{
			"apiVersion": argo.APIVersion, "kind": argo.KindApplication,
			"metadata": map[string]any{"name": fmt.Sprint("a", i), "annotations": annotations},
		})
	}
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := argo.AssignWaves(objects, nil)
	runtime.ReadMemStats(&after)
	if wave := manifest.String(objects[0], "metadata", "annotations", argo.SyncWaveAnnotation); err != nil || wave != fmt.Sprint(length-1) {
		t.Errorf("%s, %v", wave, err)
	}
	if used := after.TotalAlloc - before.TotalAlloc; used > length*each {
		t.Errorf("%d bytes", used)
	}
}
