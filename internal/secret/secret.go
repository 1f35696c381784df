// Package secret has texts that are not printed: no verb of package fmt, no encoder and no log shows them, wherever they are in a value,
// also in fields that are not exported.
package secret

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"unique"
)

// Text is a secret. Two with the same content are equal. The zero Text is "".
type Text struct {
	// It is behind a pointer: package fmt does not call the methods of fields that are not exported, and would print a string.
	handle unique.Handle[string]
}

// New hides a text.
func New(s string) Text {
	if s == "" {
		return Text{}
	}
	return Text{unique.Make(s)}
}

// Reveal returns the content.
func (t Text) Reveal() string {
	if t.IsZero() {
		return ""
	}
	return t.handle.Value()
}

// IsZero reports whether there is no content.
func (t Text) IsZero() bool { return t == Text{} }

const redacted = "redacted"

// Format implements fmt.Formatter, for every verb.
func (t Text) Format(s fmt.State, _ rune) { _, _ = io.WriteString(s, redacted) }

// MarshalText implements encoding.TextMarshaler, for encoders and logs.
func (t Text) MarshalText() ([]byte, error) { return []byte(redacted), nil }

// UnmarshalJSON implements json.Unmarshaler: decoded secrets are hidden, too. A number is its digits, for YAML has no quotes round a
// password of digits.
func (t *Text) UnmarshalJSON(data []byte) error {
	var text string
	switch err := json.Unmarshal(data, &text); {
	case err == nil: // also null
	case len(data) > 0 && (data[0] == '{' || data[0] == '['):
		return errors.New("a secret must be a text")
	default:
		text = string(data)
	}
	*t = New(text)
	return nil
}
