// Package secret has texts that are not printed: no verb of package fmt, no encoder and no log shows them, wherever they are in a value,
// also in fields that are not exported. It also asks requests for them.
package secret

import (
	"crypto/sha256"
	"crypto/subtle"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
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

// Is reports whether a text that somebody has sent is the secret, in a time that tells nothing about it. A secret without content is none.
func (t Text) Is(given string) bool {
	got, want := sha256.Sum256([]byte(given)), sha256.Sum256([]byte(t.Reveal()))
	return subtle.ConstantTimeCompare(got[:], want[:]) == 1 && !t.IsZero()
}

// MinLength is the minimum length in bytes of a secret that strangers can try to guess.
const MinLength = 16

// Bearer returns the token in a header Authorization, if it has one. The scheme may be in capitals or not (RFC 9110, 11.1).
func Bearer(authorization string) (token string, ok bool) {
	scheme, token, _ := strings.Cut(authorization, " ")
	token = strings.TrimSpace(token)
	return token, token != "" && strings.EqualFold(scheme, "Bearer")
}

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
