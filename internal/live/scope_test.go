package live_test

import (
	"bytes"
	"fmt"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/live"
)

// TestOldReason: an older recording has a missing right only in the words of the API server.
func TestOldReason(t *testing.T) {
	const said = `applications.argoproj.io is forbidden: User \"x\" cannot list resource \"applications\" in API group \"argoproj.io\" in the namespace \"a\"`
	const old = `{"at":"2026-03-01T12:00:00Z","what":"lost","source":"Applications in namespace a","reason":"` + said + `"}` + "\n"
	m := live.New("argocd")
	if err := live.Read("x", strings.NewReader(old), m.Apply); err != nil {
		t.Fatal(err)
	}
	s := m.Snapshot().Sources[0]
	if got, want := live.Brief(s.Lost), "no right to list applications.argoproj.io in namespace a"; got != want || !strings.Contains(s.Lost.Error(), `User "x"`) {
		t.Errorf("%s, want %s; all of it is %v", got, want, s.Lost)
	}
}

// TestScope: a recording has a source in words and in fields. One with words only is read, too.
func TestScope(t *testing.T) {
	for text, want := range map[string]live.Scope{
		"Applications in all namespaces":              {Kind: "Application"},
		"ApplicationSets in namespace argocd":         {Kind: "ApplicationSet", Namespace: "argocd"},
		"Application argocd/large":                    {Kind: "Application", Namespace: "argocd", Name: "large"},
		"objects":                                     {Name: "objects"},
		"Application in all namespaces of the galaxy": {Kind: "Application", Name: "in all namespaces of the galaxy"},
	} {
		if want.String() != text {
			t.Errorf("%q, want %q", want, text)
		}
		var b bytes.Buffer
		if err := live.Write(&b, live.Event{At: noon, What: live.Listed, Source: want}); err != nil {
			t.Fatal(err)
		}
		old := fmt.Sprintf(`{"at":"2026-03-01T12:00:00Z","what":"listed","source":%q}`, text) + "\n"
		if !strings.HasPrefix(b.String(), old[:len(old)-2]+`,"scope":{`) {
			t.Errorf("%s", b.String())
		}
		for _, recording := range []string{b.String(), old} {
			err := live.Read("x", strings.NewReader(recording), func(e live.Event) {
				if e.Source != want {
					t.Errorf("%+v, want %+v, in %s", e.Source, want, recording)
				}
			})
			if err != nil {
				t.Error(err)
			}
		}
	}
}
