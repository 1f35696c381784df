package gittree

import (
	"context"
	"errors"
	"strings"
	"testing"
)

func TestPathspecErrors(t *testing.T) {
	for _, pattern := range []string{"../x", "/etc/passwd", ":(glob)**", ":!x", ".."} {
		if _, err := parsePathspec(pattern); err == nil {
			t.Errorf("%q: no error", pattern)
		}
	}
}

// TestPathspecLimits: a pattern has a limit, and matching ends with the request.
func TestPathspecLimits(t *testing.T) {
	long := "*[" + strings.Repeat("[:", 400_000)
	if _, err := parsePathspec(long); err == nil ||
		err.Error() != `path "*[[:[:[:[:[:[:[:[:[:[:[:[:[:[:[:[:[:[:[:"… has 800002 bytes: at most 1024 are supported, which is less than Git's limit` {
		t.Error(err)
	}
	if p, err := parsePathspec(long[:maxPattern]); err != nil || p.matches("a") {
		t.Error(err)
	}
	tree := New(Config{Files: map[string]string{"a": "1", "b": "2"}})
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := tree.Files(ctx, "*nothing"); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// FuzzPathspec checks that matching ends and that a name without wildcards matches itself.
func FuzzPathspec(f *testing.F) {
	f.Add("apps/*/x", "apps/a/x")
	f.Add("[[:alpha:]-z]", "b")
	f.Add("****a****b", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaa")
	f.Add("\\", "\\")
	f.Fuzz(func(t *testing.T, pattern, name string) {
		p, err := parsePathspec(pattern)
		if err != nil {
			return
		}
		match := p.matches(name)
		if p.text == name && !match {
			t.Errorf("%q does not match itself", name)
		}
	})
}
