package render

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"helm.sh/helm/v4/pkg/chart/common"
	helmchart "helm.sh/helm/v4/pkg/chart/v2"

	"github.com/argosy-cd/argosy/internal/problem"
)

// validateValues checks the values of a chart and its dependencies against their schemas, without a network.
func validateValues(c *helmchart.Chart, values any) error {
	var errs []error
	if len(c.Schema) > 0 {
		errs = append(errs, validateAgainst(c, values))
	}
	// The loader goes over a map.
	subcharts := slices.SortedFunc(slices.Values(c.Dependencies()), func(a, b *helmchart.Chart) int {
		return cmp.Compare(a.Name(), b.Name())
	})
	for _, sub := range subcharts {
		m, ok := asMap(values)
		if !ok {
			continue
		}
		if err := validateValues(sub, m[sub.Name()]); err != nil {
			errs = append(errs, err)
		}
	}
	return errors.Join(errs...)
}

func asMap(v any) (map[string]any, bool) {
	switch v := v.(type) {
	case common.Values:
		return v, true
	case map[string]any:
		return v, true
	default:
		return nil, false
	}
}

func validateAgainst(c *helmchart.Chart, values any) error {
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(c.Schema))
	if err != nil {
		return fmt.Errorf("values.schema.json of chart %s: %w", c.Name(), err)
	}
	compiler := jsonschema.NewCompiler()
	loader := &noLoader{}
	compiler.UseLoader(loader)
	compiler.DefaultDraft(jsonschema.Draft7) // as the Helm of Argo CD
	const name = "file:///values.schema.json"
	if err := compiler.AddResource(name, doc); err != nil {
		return fmt.Errorf("values.schema.json of chart %s: %w", c.Name(), err)
	}
	schema, err := compiler.Compile(name)
	if err != nil && loader.url != "" {
		return remoteSchemaError{chart: c.Name(), url: loader.url, err: err}
	}
	if err != nil {
		return fmt.Errorf("values.schema.json of chart %s: %w", c.Name(), err)
	}
	// By way of JSON, so that there are only types that the validator knows.
	text, err := json.Marshal(values)
	if err != nil {
		return err
	}
	instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		return err
	}
	if err := schema.Validate(instance); err != nil {
		_, detail, _ := strings.Cut(err.Error(), "\n")
		return fmt.Errorf("do not fit values.schema.json of chart %s: %s", c.Name(), detail)
	}
	return nil
}

// remoteSchemaError says that a schema refers to another one, which helm fetches.
type remoteSchemaError struct {
	chart, url string
	err        error
}

func (e remoteSchemaError) Error() string {
	return fmt.Sprintf("values.schema.json of chart %s: %v", e.chart, e.err)
}

// withoutRemote moves errors about remote schemas to the warnings.
func withoutRemote(err error) (warnings []error, rest error) {
	var errs []error
	for _, e := range problem.All(err) {
		var remote remoteSchemaError
		if errors.As(e, &remote) {
			warnings = append(warnings,
				fmt.Errorf("values.schema.json of chart %s refers to %s, which is not fetched, so the values are not checked",
					remote.chart, remote.url))
			continue
		}
		errs = append(errs, e)
	}
	return warnings, errors.Join(errs...)
}

// noLoader refuses schemas that are elsewhere, and remembers the first.
type noLoader struct{ url string }

func (l *noLoader) Load(url string) (any, error) {
	l.url = cmp.Or(l.url, url)
	return nil, fmt.Errorf("%s is not in the chart, and nothing is fetched", url)
}
