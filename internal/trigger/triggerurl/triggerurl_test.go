package triggerurl

import (
	"errors"
	"testing"
	"time"
)

func TestPath(t *testing.T) {
	for path, want := range map[string]Path{
		"appset.git":             {},
		"every/10m/team-a.git":   {Every: 10 * time.Minute, Name: "team-a"},
		"every/1h30m/x.git":      {Every: 90 * time.Minute, Name: "x"},
		"every/2h/a.b_c.git":     {Every: 2 * time.Hour, Name: "a.b_c"},
		"every/1m30s/x.git.git":  {Every: 90 * time.Second, Name: "x.git"},
		"s3/bucket/apps/one.git": {Place: "bucket/apps/one"},
	} {
		got, err := Parse(path)
		if err != nil || got != want || got.String() != path {
			t.Errorf("%s: %+v, %s, %v", path, got, got, err)
		}
	}
	for _, path := range []string{
		"", ".git", "appset", "/appset.git", "appset.git/", "../appset.git", "team/appset.git", "every/10m/.git", "every/10m/x", "every/x.git",
		"every/10m/a/b.git", "every/10m/../x.git", "every/10m/%2e.git", "s3/bucket.git", "s3/bucket/.git", "s3//a.git", "s3/bucket/a",
	} {
		if _, err := Parse(path); !errors.Is(err, ErrNone) {
			t.Errorf("%q: %v", path, err)
		}
	}
	const notOne = " in its path is not a duration; it must be one such as 90s, 10m or 1h30m"
	for path, want := range map[string]string{
		"every/banana/x.git": `"banana"` + notOne, "every//x.git": `""` + notOne, "every/10/x.git": `"10"` + notOne,
		"every/0s/x.git":     "the interval must be 1s to 8784h0m0s, it is 0s",
		"every/10000h/x.git": "the interval must be 1s to 8784h0m0s, it is 10000h0m0s",
		"every/1500ms/x.git": "the interval must be whole seconds, it is 1.5s",
	} {
		if _, err := Parse(path); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", path, err, want)
		}
	}
}

func TestIs(t *testing.T) {
	for url, want := range map[string]bool{
		"http://appset-repo.argocd/anything":          true,
		"https://git.example.com/appset.git":          true,
		"https://git.example.com/appset.git/":         true,
		"https://git.example.com/every/10m/team.git":  true,
		"https://git.example.com/s3/bucket/a/b.git":   true,
		"https://git.example.com/team/appset.git":     false,
		"https://git.example.com/every/day/team.git":  false,
		"https://git.example.com/every/10m/-team.git": false,
		"https://git.example.com/every/10m/team":      false,
		"https://git.example.com/s3/bucket.git":       false,
		"git@git.example.com:appset.git":              false,
		"":                                            false,
	} {
		if got := Is(url); got != want {
			t.Errorf("%s: got %t", url, got)
		}
	}
}
