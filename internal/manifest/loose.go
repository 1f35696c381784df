package manifest

import (
	"errors"
	"strings"

	"sigs.k8s.io/yaml"
)

// Unmarshal decodes YAML into a Go value as Argo CD does where it reads data rather than manifests: by way of JSON, so
// numbers are float64, and with the last of two equal keys winning.
func Unmarshal(data []byte, v any) error {
	err := yaml.Unmarshal(data, v)
	if err == nil {
		return nil
	}
	s := strings.ReplaceAll(err.Error(), "\n", " ")
	for _, prefix := range []string{"error converting YAML to JSON: ", "error unmarshaling JSON: while decoding JSON: ", "json: ", "yaml: "} {
		s = strings.TrimPrefix(s, prefix)
	}
	return errors.New(s)
}

// Marshal encodes a Go value as YAML in the layout of Argo CD's toYaml. Manifests are written by WriteYAML.
func Marshal(v any) ([]byte, error) { return yaml.Marshal(v) }
