package giturl

import (
	"strings"
	"testing"
)

func TestKey(t *testing.T) {
	want := "git.example.com/team/repo"
	for _, url := range []string{
		"https://git.example.com/team/repo", "https://git.example.com/team/repo.git", "https://git.example.com/team/repo/",
		"git@git.example.com:team/repo.git",
		"ssh://git@git.example.com/team/repo.git", "ssh://git@git.example.com:22/team/repo",
		"https://user:token@Git.Example.com:443/Team/Repo.git", "git.example.com:team/repo",
	} {
		if got := Key(url); got != want {
			t.Errorf("%s: got %s", url, got)
		}
	}
	for _, url := range []string{
		"https://git.example.com:8443/team/repo", "https://git.example.com/team/repo2", "file:///team/repo",
		"/team/repo",
	} {
		if got := Key(url); got == want {
			t.Errorf("%s: got %s", url, got)
		}
	}
}

func TestParse(t *testing.T) {
	for url, want := range map[string]string{
		"https://git.example.com/x": "https://git.example.com/x", "git@git.example.com:team/x.git": "ssh://git@git.example.com/team/x.git",
		"/srv/x": "", "file:///srv/x": "", "https://git.example.com:port/x": "", "": "",
	} {
		got := ""
		if u := Parse(url); u != nil {
			got = u.String()
		}
		if got != want {
			t.Errorf("%q: got %q, want %q", url, got, want)
		}
	}
}

func TestIsPath(t *testing.T) {
	for url, want := range map[string]bool{
		"/srv/x": true, "../x": true, "File:///srv/x": true, "x": true,
		"https://git.example.com/x": false, "git@git.example.com:x": false, "host:x": false,
	} {
		if got := IsPath(url); got != want {
			t.Errorf("%s: got %v", url, got)
		}
	}
}

func TestRedact(t *testing.T) {
	digest := "@sha256:" + strings.Repeat("0a", 32)
	for url, want := range map[string]string{
		"https://user:pass@host/x.git":       "https://host/x.git",
		"https://token@host/x.git?private=1": "https://host/x.git",
		"https://a@b@host/x":                 "https://host/x",
		"https://u:s3cr/et@host/x":           "https://host/x",
		"https://u:12/et@host/x":             "https://host/x",
		"https://u:/@host/x":                 "https://host/x",
		"https://tok/en@host/x":              "https://host/x",
		"https://u:p?s#w@host/x":             "https://host/x",
		"https://u:p%2Fw%40@host/x":          "https://host/x",
		"https://u:p w@host/x":               "https://host/x",
		"https://me.name:1/x@host/x":         "https://host/x",
		"HTTPS://u:p@host/x":                 "HTTPS://host/x",
		"ssh://git:pw@host:22/x":             "ssh://host:22/x",
		"https://host:8443/a@b":              "https://b/", // or a password
		"https://git.example.com/a@b":        "https://git.example.com/a@b",
		"oci://host:5000/x" + digest:         "oci://host:5000/x" + digest,
		"oci://u:p/w@host/x" + digest:        "oci://host/x" + digest,
		"git@host:x.git":                     "git@host:x.git",
		"git:pw@host:x.git":                  "host:x.git",
		"https://host/x":                     "https://host/x",
		"https://[::1]:80/x":                 "https://[::1]:80/x",
		"https://host/x//y?ref=v1&token=s":   "https://host/x//y?ref=v1",
		"https://host/x?token=s&ref=v1":      "https://host/x",
		"https://u:p?ref=s@host/x":           "https://host/x",
	} {
		if got := Redact(url); got != want {
			t.Errorf("%s: got %s, want %s", url, got, want)
		}
	}
	for text, want := range map[string]string{
		"unable to access 'https://u:p@host/x.git/': refused":                "unable to access 'https://host/x.git/': refused",
		`Get "https://u:s3/cret@host/x": dial tcp`:                           `Get "https://host/x": dial tcp`,
		"fetching https://u:12/cret@host/x: no":                              "fetching https://host/x: no",
		"fetching https://u:se cret@host/x: no":                              "fetching https://host/x: no",
		"fetching https://u:12 cret@host/x: no":                              "fetching https://host/x: no",
		"fetching https://u:se'cr\"et@host/x: no":                            "fetching https://host/x: no",
		"from https://u:p@a/x to https://v:q/r@b/y, and https://c/z?token=s": "from https://a/x to https://b/y, and https://c/z",
		"https://git.example.com/x failed, write to help@example.com":        "https://git.example.com/x failed, write to help@example.com",
		"https://localhost:8080/x: no route; write to help@example.com":      "https://localhost:8080/x: no route; write to help@example.com",
		"dial tcp 127.0.0.1:80: refused, me@example.com":                     "dial tcp 127.0.0.1:80: refused, me@example.com",
	} {
		if got := RedactText(text); got != want {
			t.Errorf("%s: got %s, want %s", text, got, want)
		}
	}
	// A URL that is known is found whatever is in it.
	if got := RedactText("x https://u:a: b@host/x y", "https://u:a: b@host/x"); got != "x https://host/x y" {
		t.Error(got)
	}
}

func TestMessage(t *testing.T) {
	token := "S3CRET" + strings.Repeat("x", 90)
	twice := "from https://" + token + "@host/a to https://" + token + "@host/b"
	for _, got := range []string{Message(twice, 80), Line(twice, 80), Message("https://"+token+"@host/a", 20), Line(twice+"\n\x1b[2J", 300)} {
		if strings.Contains(got, "S3CRET") || strings.ContainsAny(got, "\n\x1b") {
			t.Error(got)
		}
	}
	if got, want := Message(twice, 80), "from https://host/a to  …"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := Line("a\n b "+strings.Repeat("x", 90), 6), "a b xx …"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// FuzzRedact checks that no password is left of a URL, wherever it is in a text.
func FuzzRedact(f *testing.F) {
	for _, password := range []string{"s3cret", "12/34", "a@b", "%2f", "a b", "x?y#z", ":", "/", "'\""} {
		f.Add(password)
	}
	f.Fuzz(func(t *testing.T, password string) {
		if strings.Contains(password, "://") || strings.ContainsAny(password, "\r\n") {
			return
		}
		secret := "S3CRET" + password + "S3CRET"
		url := "https://user:" + secret + "@host/x.git"
		texts := []string{Redact(url), RedactText("fetching "+url+": refused", url)}
		if !strings.ContainsAny(password, " \t'\"<>`") { // in a text of which nothing is known, these may end a URL
			texts = append(texts, RedactText("fetching '"+url+"'"))
		}
		for _, text := range texts {
			if strings.Contains(text, "S3CRET") {
				t.Errorf("%q: %s", url, text)
			}
		}
	})
}
