package manifest

import (
	"errors"
	"strings"

	"sigs.k8s.io/yaml"

	"github.com/argosy-cd/argosy/internal/words"
)

// Unmarshal decodes YAML into a Go value as Argo CD does where it reads data rather than manifests: by way of JSON, so
// numbers are float64, and with the last of two equal keys winning.
func Unmarshal(data []byte, v any) error {
	if err := UnmarshalPlain(data, v); err != nil {
		return plainError(err)
	}
	return nil
}

// UnmarshalPlain is Unmarshal with the errors of the library as they are.
func UnmarshalPlain(data []byte, v any) error {
	if err := Check(data); err != nil {
		return err
	}
	return yaml.Unmarshal(data, v)
}

// LooseValue is Value with the last of two equal keys winning.
func LooseValue(data []byte) (any, error) {
	if err := Check(data); err != nil {
		return nil, err
	}
	return decodeLooseYAML(data)
}

// plainError returns the YAML library's message, on one line.
func plainError(err error) error {
	s := words.OneLine(err.Error(), maxMessage)
	for _, prefix := range []string{
		"error converting YAML to JSON: ", "error unmarshaling JSON: while decoding JSON: ", "json: ", "yaml: ", "unmarshal errors: ",
	} {
		s = strings.TrimPrefix(s, prefix)
	}
	return errors.New(s)
}

// Marshal encodes a Go value as YAML in the layout of Argo CD's toYaml. Manifests are written by WriteYAML.
func Marshal(v any) ([]byte, error) { return yaml.Marshal(v) }
