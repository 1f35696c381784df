package generator

import (
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
)

// decisionSpec is the Spec of a Question about objects that decide about clusters.
type decisionSpec struct {
	ConfigMap string          `json:"configMap"`
	Name      string          `json:"name,omitempty"`
	Selector  json.RawMessage `json:"labelSelector,omitempty"`
}

// decision gives one set for each cluster that the status of an object lists, and that Argo CD knows by its name.
func (r *run) decision(f *fields) ([]Set, error) {
	f.requeue()
	spec := decisionSpec{ConfigMap: f.text("configMapRef"), Name: f.text("name")}
	selector := field[map[string]any](f, "labelSelector", "an object")
	// Argo CD does not render these values.
	values := f.table("values")
	_, selErr := newSelector(f.path+".labelSelector", selectorOrNil(selector), labelValue)
	selects := selector["matchLabels"] != nil || selector["matchExpressions"] != nil
	if len(f.errs) == 0 {
		switch {
		case spec.ConfigMap == "":
			f.errs = append(f.errs, fmt.Errorf("%s: configMapRef must be set", f.path))
		case (spec.Name == "") == !selects:
			f.errs = append(f.errs, fmt.Errorf("%s: name or labelSelector must be set, and not both", f.path))
		}
	}
	if err := errors.Join(f.err(), selErr); err != nil {
		return nil, err
	}
	if selects {
		var err error
		if spec.Selector, err = json.Marshal(selector); err != nil {
			return nil, fmt.Errorf("%s.labelSelector: %w", f.path, err)
		}
	}
	data, err := json.Marshal(spec)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	var known []Cluster
	if r.Clusters != nil {
		if known, err = r.Clusters.Clusters(r.ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", f.path, err)
		}
		if err := configErrors(known); err != nil && !r.Version.Has(versions.ClusterConfigUnread) {
			return nil, problem.Wrap(err, func(e error) error { return fmt.Errorf("%s: %w", f.path, e) })
		}
	}
	answer, err := r.ask(f, Question{Ask: AskDecision, Spec: data})
	if err != nil {
		return nil, err
	}
	sets, err := r.decisions(answer.Decision, known, values)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	return sets, nil
}

func selectorOrNil(m map[string]any) any {
	if m == nil {
		return nil
	}
	return m
}

// decisions follows applicationset/generators/duck_type.go, v3.2.11.
func (r *run) decisions(d *Decision, known []Cluster, values map[string]string) ([]Set, error) {
	if group, _, ok := strings.Cut(d.ConfigMap["apiVersion"], "/"); d.ConfigMap["kind"] == "" || !ok || group == "" {
		return nil, errors.New("its ConfigMap must have an apiVersion with a group, and a kind, which is the plural name of the resource")
	}
	if len(d.Objects) == 0 {
		return nil, errors.New("name or labelSelector selects no object of the kind that its ConfigMap names")
	}
	if !slices.ContainsFunc(known, func(c Cluster) bool { return c.Server == argo.InClusterServer }) {
		known = append(slices.Clip(known), Cluster{Name: argo.InClusterName, Server: argo.InClusterServer})
	}
	matchKey, listKey := d.ConfigMap["matchKey"], d.ConfigMap["statusListKey"]
	if matchKey == "" {
		return nil, nil
	}
	if listKey == "" {
		listKey = "clusters"
	}
	var sets []Set
	for _, o := range d.Objects {
		if len(o.Status) == 0 {
			continue
		}
		list, ok := o.Status[listKey].([]any)
		if !ok {
			return nil, fmt.Errorf("status.%s of %s must be a list", listKey, o.Name)
		}
		for i, v := range list {
			at := fmt.Sprintf("status.%s[%d] of %s", listKey, i, o.Name)
			params, err := r.decided(at, v, matchKey, known)
			if err != nil {
				return nil, err
			}
			if params == nil {
				continue
			}
			r.addPlain(params, values)
			if err := r.keep(at, len(params)); err != nil {
				return nil, err
			}
			if sets = append(sets, Set{params, Origin{What: at}}); len(sets) > r.MaxSets {
				return nil, fmt.Errorf("more than %d parameter sets", r.MaxSets)
			}
		}
	}
	return sets, nil
}

// decided returns the parameters of one decision; nil if Argo CD does not know the cluster.
func (r *run) decided(at string, v any, matchKey string, known []Cluster) (Params, error) {
	decision, ok := v.(map[string]any)
	if !ok {
		return nil, fmt.Errorf("%s must be an object", at)
	}
	text := func(key string) (string, error) {
		s, ok := decision[key].(string)
		if !ok && !r.Version.Has(versions.DecisionsPrinted) {
			return "", fmt.Errorf("%s.%s must be a string before Argo CD 3.3", at, key)
		}
		if !ok {
			s = printed(wholeNumbers(decision[key]))
		}
		return s, nil
	}
	if decision[matchKey] == nil {
		return nil, nil
	}
	name, err := text(matchKey)
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(known, func(c Cluster) bool { return c.Name == name })
	if i < 0 || name == "" {
		return nil, nil
	}
	params := Params{"name": known[i].Name, "server": known[i].Server}
	for key := range decision {
		if params[key], err = text(key); err != nil {
			return nil, err
		}
	}
	return params, nil
}

// UnmarshalJSON keeps whole numbers, which are printed without an exponent.
func (o *DecisionObject) UnmarshalJSON(data []byte) error {
	type plain DecisionObject
	v, err := manifest.JSON(data)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, (*plain)(o)); err != nil {
		return err
	}
	m, _ := v.(map[string]any)
	o.Status = manifest.Map(m, "status")
	return nil
}

// wholeNumbers makes numbers of a value those of Kubernetes: int64, or float64 if that is too small.
func wholeNumbers(v any) any {
	switch v := v.(type) {
	case json.Number:
		return floats(v)
	case map[string]any:
		m := make(map[string]any, len(v))
		for k, e := range v {
			m[k] = wholeNumbers(e)
		}
		return m
	case []any:
		l := make([]any, len(v))
		for i, e := range v {
			l[i] = wholeNumbers(e)
		}
		return l
	}
	return v
}

// addPlain adds values as they are written.
func (r *run) addPlain(params Params, values map[string]string) {
	switch {
	case len(values) == 0:
	case r.Engine.Go():
		own := make(map[string]string, len(values))
		for k, v := range values {
			own[k] = v
		}
		params["values"] = own
	default:
		for k, v := range values {
			params["values."+k] = v
		}
	}
}

// MatchLabels reports whether a label selector matches. A nil selector matches everything.
func MatchLabels(selector map[string]any, labels map[string]string) (bool, error) {
	s, err := newSelector("labelSelector", selectorOrNil(selector), labelValue)
	if err != nil || selector == nil {
		return err == nil, err
	}
	return s.matches(labels), nil
}
