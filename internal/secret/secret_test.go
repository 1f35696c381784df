package secret_test

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/secret"
)

const password = "s3cret-pässword"

// shows reports whether a text shows the secret, as it is or in one of the forms that verbs make of it.
func shows(text string) bool {
	for _, form := range []string{
		password, "s3cret", hex.EncodeToString([]byte("s3cret")),
		strings.ToUpper(hex.EncodeToString([]byte("s3cret"))), "115 51 99",
	} {
		if strings.Contains(text, form) {
			return true
		}
	}
	return false
}

func TestNeverPrinted(t *testing.T) {
	s := secret.New(password)
	type login struct {
		User     string
		Password secret.Text
		hidden   secret.Text
		more     []secret.Text
		deep     *struct{ inner secret.Text }
		Env      environ.Environ
		env      environ.Environ
	}
	env := environ.New("HOME=/", "AWS_SECRET_ACCESS_KEY="+password)
	l := login{"me", s, s, []secret.Text{s}, &struct{ inner secret.Text }{s}, env, env}
	for _, value := range []any{
		s, &s, l, &l, []login{l}, map[secret.Text]login{s: l}, fmt.Errorf("with %v", s), env, &env, []environ.Environ{env},
	} {
		for _, verb := range strings.Fields("v +v #v s q x X d o b c U t e g p T w +q #x") {
			if text := fmt.Sprintf("%"+verb, value); shows(text) {
				t.Errorf("%%%s of %T: %s", verb, value, text)
			}
		}
		if data, err := json.Marshal(value); err == nil && shows(string(data)) {
			t.Errorf("JSON of %T: %s", value, data)
		}
		var out strings.Builder
		slog.New(slog.NewTextHandler(&out, nil)).Info("x", "value", value)
		slog.New(slog.NewJSONHandler(&out, nil)).Info("x", "value", value)
		if shows(out.String()) {
			t.Errorf("log of %T: %s", value, out.String())
		}
	}
	if got := fmt.Sprintf("%s %v %v", s, l.Password, l.Env); got != "redacted redacted redacted" {
		t.Error(got)
	}
	if !shows(fmt.Sprint(password)) || !shows(fmt.Sprintf("%x", password)) || !shows(fmt.Sprintf("%d", []byte(password))) {
		t.Error("this test does not see what it looks for")
	}
}

func TestText(t *testing.T) {
	a, b := secret.New(password), secret.New(strings.Clone(password))
	if a.Reveal() != password || a != b || a == secret.New("another") || a.IsZero() {
		t.Error(a.Reveal())
	}
	for data, want := range map[string]string{
		`"s3cret"`: "s3cret", `"a\u0020b"`: "a b", `1234`: "1234", `true`: "true", `null`: "",
		`""`: "",
	} {
		var answer struct{ Token secret.Text }
		if err := json.Unmarshal([]byte(`{"token": `+data+`}`), &answer); err != nil || answer.Token != secret.New(want) {
			t.Errorf("%s: %v, %q", data, err, answer.Token.Reveal())
		}
	}
	for _, data := range []string{`{"a": "s3cret"}`, `["s3cret"]`} {
		var answer secret.Text
		if err := json.Unmarshal([]byte(data), &answer); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%s: %v", data, err)
		}
	}
	for _, none := range []secret.Text{{}, secret.New("")} {
		if none.Reveal() != "" || !none.IsZero() || none != (secret.Text{}) {
			t.Error(none.Reveal())
		}
	}
}

func TestIs(t *testing.T) {
	for _, c := range []struct {
		secret, given string
		want          bool
	}{
		{password, password, true},
		{password, password + "x", false},
		{password, password[1:], false},
		{password, "", false},
		{password, "redacted", false},
		{"", "", false},
		{"", "x", false},
	} {
		if got := secret.New(c.secret).Is(c.given); got != c.want {
			t.Errorf("%q and %q: %t", c.secret, c.given, got)
		}
	}
}

func TestBearer(t *testing.T) {
	for header, want := range map[string]string{
		"Bearer x": "x", "bearer x": "x", "BEARER  x ": "x", "Bearer a b": "a b", "Bearer": "", "Bearer ": "", "Bearerx": "", "Basic x": "",
		"x": "", "": "", " Bearer x": "",
	} {
		if got, ok := secret.Bearer(header); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q, %t", header, got, ok)
		}
	}
}
