package manifest

import (
	"encoding/base64"
	"fmt"

	"github.com/argosy-cd/argosy/internal/secret"
)

// SecretValue returns a value of a Secret, of a live one or of its manifest: that in stringData comes before that in data, as in the API
// server. The zero Text is no value. An error names the field, and never has its content.
func SecretValue(o Object, key string) (secret.Text, error) {
	data, err := base64.StdEncoding.DecodeString(String(o, "data", key))
	if err != nil {
		return secret.Text{}, fmt.Errorf("data.%s: not base64", key)
	}
	if plain, ok := Map(o, "stringData")[key]; ok {
		text, _ := plain.(string)
		return secret.New(text), nil
	}
	return secret.New(string(data)), nil
}
