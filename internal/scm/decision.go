package scm

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// decision reads objects that decide about clusters (applicationset/generators/duck_type.go, v3.2.11).
type decision struct {
	asker *Asker
	spec  decisionSpec
}

type decisionSpec struct {
	ConfigMap string         `json:"configMap"`
	Name      string         `json:"name"`
	Selector  map[string]any `json:"labelSelector"`
}

func (a *Asker) openDecision(q generator.Question) (service, error) {
	d := &decision{asker: a}
	if err := json.Unmarshal(q.Spec, &d.spec); err != nil {
		return nil, errors.New("the question is not valid")
	}
	return d, a.allow(Target{Resource: "configmap/" + d.spec.ConfigMap, Namespace: a.Namespace})
}

func (d *decision) key(q generator.Question) string { return questionKey("objects", q) }

func (d *decision) clean(err error) error { return err }

func (d *decision) lasts() time.Duration { return 0 }

func (d *decision) warnings() []string { return nil }

func (d *decision) answer(ctx context.Context, _ generator.Question) (*generator.Answer, error) {
	a := d.asker
	data, err := a.configMap(ctx, a.Namespace, d.spec.ConfigMap)
	if err != nil {
		return nil, err
	}
	out := &generator.Decision{ConfigMap: map[string]string{}, Objects: []generator.DecisionObject{}}
	for _, key := range []string{"apiVersion", "kind", "statusListKey", "matchKey"} {
		if v, ok := data[key]; ok {
			out.ConfigMap[key] = v
		}
	}
	group, version, ok := strings.Cut(data["apiVersion"], "/")
	if !ok || group == "" || data["kind"] == "" {
		return &generator.Answer{Decision: out}, nil // the generator reports the error
	}
	objects, err := a.Objects.List(ctx, List{
		Namespace: a.Namespace, Group: group, Version: version, Resource: data["kind"],
		Name: d.spec.Name,
	})
	if err != nil {
		return nil, err
	}
	for _, o := range objects {
		labels := map[string]string{}
		for key, v := range manifest.Map(o, "metadata", "labels") {
			labels[key], _ = v.(string)
		}
		match, err := generator.MatchLabels(d.spec.Selector, labels)
		if err != nil {
			return nil, err
		}
		if match {
			out.Objects = append(out.Objects, generator.DecisionObject{
				Name:   manifest.String(o, "metadata", "name"),
				Status: manifest.Map(o, "status"),
			})
		}
	}
	return &generator.Answer{Decision: out}, tooMany(len(out.Objects), maxRepositories, "objects")
}
