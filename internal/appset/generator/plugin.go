package generator

import (
	"encoding/json"
	"errors"
	"fmt"

	"github.com/argosy-cd/argosy/internal/problem"
)

// RawJSON is a value of a plugin's input as templates see it: Argo CD has it as the bytes of its JSON, in a struct with this field.
type RawJSON struct{ Raw []byte }

// MarshalJSON implements json.Marshaler.
func (r RawJSON) MarshalJSON() ([]byte, error) { return r.Raw, nil }

// plugin gives one set for each object that a plugin returns.
func (r *run) plugin(f *fields) ([]Set, error) {
	f.requeue()
	table := f.table("values")
	name := ""
	f.nested("configMapRef", func(o *fields) { name = o.text("name") })
	var input map[string]any
	f.nested("input", func(o *fields) { input = field[map[string]any](o, "parameters", "an object") })
	if name == "" && f.err() == nil {
		f.errs = append(f.errs, fmt.Errorf("%s.configMapRef: name must be set", f.path))
	}
	values, err := r.newValues(table)
	if err := errors.Join(f.err(), problem.Wrap(err, func(e error) error { return fmt.Errorf("%s.%w", f.path, e) })); err != nil {
		return nil, err
	}
	raw := make(map[string]RawJSON, len(input))
	for k, v := range input {
		data, err := json.Marshal(v)
		if err != nil {
			return nil, fmt.Errorf("%s.input.parameters.%s: %w", f.path, k, err)
		}
		raw[k] = RawJSON{data}
	}
	if input == nil {
		raw = nil
	}
	spec, err := json.Marshal(pluginSpec{name, raw})
	if err != nil {
		return nil, fmt.Errorf("%s: %w", f.path, err)
	}
	answer, err := r.ask(f, Question{Ask: AskParameters, Spec: spec})
	if err != nil {
		return nil, err
	}
	out := collector{run: r, path: f.path, values: values}
	for i, object := range answer.Parameters {
		if out.full() {
			break
		}
		what := fmt.Sprintf("parameters %d of the plugin", i)
		params, err := r.pluginParams(object)
		if err != nil {
			return nil, fmt.Errorf("%s: %s: %w", f.path, what, err)
		}
		params["generator"] = map[string]any{"input": map[string]map[string]RawJSON{"parameters": raw}}
		if err := out.add(what, params); err != nil {
			return nil, err
		}
	}
	return out.all()
}

// pluginSpec is the Spec of a Question to a plugin.
type pluginSpec struct {
	ConfigMap  string             `json:"configMap"`
	Parameters map[string]RawJSON `json:"parameters,omitempty"`
}

func (r *run) pluginParams(object map[string]any) (Params, error) {
	params := make(Params, len(object)+2)
	if r.Engine.Go() {
		for k, v := range object {
			params[k] = floats(v)
		}
		return params, nil
	}
	flat, err := flattenText(floats(object).(map[string]any))
	for k, v := range flat {
		params[k] = v
	}
	return params, err
}
