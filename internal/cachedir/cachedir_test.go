package cachedir_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/argosy-cd/argosy/internal/cachedir"
	"github.com/argosy-cd/argosy/internal/environ"
)

func TestFind(t *testing.T) {
	for _, c := range []struct{ own, xdg, home, want string }{
		{"none", "/x", "/h", ""},
		{"/own", "/x", "/h", "/own"},
		{"", "/x", "/h", "/x/argosy"},
		{"", "relative", "/h", "/h/.cache/argosy"},
		{"", "", "relative", ""},
	} {
		if got := cachedir.Find(c.own, environ.New("XDG_CACHE_HOME="+c.xdg, "HOME="+c.home)); got != c.want {
			t.Errorf("%+v: got %q", c, got)
		}
	}
}

// TestOpen: only the user may write to a directory that is used.
func TestOpen(t *testing.T) {
	made := filepath.Join(t.TempDir(), "a", "b")
	if err := cachedir.Open(made); err != nil {
		t.Fatal(err)
	}
	if info, err := os.Stat(made); err != nil || info.Mode().Perm() != 0o700 {
		t.Errorf("%v, %v", info, err)
	}
	for mode, refused := range map[os.FileMode]bool{0o700: false, 0o755: false, 0o775: true, 0o757: true, 0o777: true} {
		if err := os.Chmod(made, mode); err != nil {
			t.Fatal(err)
		}
		if err := cachedir.Open(made); (err != nil) != refused || err != nil && !strings.Contains(err.Error(), "nobody else may write to") {
			t.Errorf("%o: %v", mode, err)
		}
	}
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := cachedir.Open(file); err == nil {
		t.Error("a file is a directory")
	}
}

// TestOwner: the directory of another user is refused, whatever its mode.
func TestOwner(t *testing.T) {
	dir := t.TempDir()
	if os.Geteuid() != 0 {
		dir = "/" // of root
	} else if err := os.Chown(dir, 65534, -1); errors.Is(err, syscall.EINVAL) || errors.Is(err, syscall.EPERM) {
		t.Skip("root of a user namespace without another user:", err)
	} else if err != nil {
		t.Fatal(err)
	}
	if err := cachedir.Open(dir); err == nil || !strings.Contains(err.Error(), "belongs to this user") {
		t.Error(err)
	}
}

func TestWrite(t *testing.T) {
	dir := t.TempDir()
	path := filepath.Join(dir, "file")
	for _, want := range []string{"old", "new"} {
		if err := cachedir.Write(path, []byte(want)); err != nil {
			t.Fatal(err)
		}
		if got, err := os.ReadFile(path); err != nil || string(got) != want {
			t.Errorf("%s, %v", got, err)
		}
	}
	if err := cachedir.Write(filepath.Join(dir, "none", "file"), nil); err == nil {
		t.Error("there is no such directory")
	}
	if err := os.Mkdir(filepath.Join(dir, "taken"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := cachedir.Write(filepath.Join(dir, "taken"), nil); err == nil {
		t.Error("it is a directory")
	}
	if list, err := filepath.Glob(filepath.Join(dir, cachedir.Unfinished+"*")); err != nil || len(list) > 0 {
		t.Errorf("left behind: %v, %v", list, err)
	}
}
