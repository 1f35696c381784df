package workspace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/argosy-cd/argosy/internal/appset/answers"
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/hostile"
	"github.com/argosy-cd/argosy/internal/workspace"
)

// fixed answers with a repository.
type fixed struct{}

func (fixed) Ask(context.Context, generator.Question) (*generator.Answer, error) {
	return &generator.Answer{Repositories: []generator.Repository{{Organization: "acme", Repository: "web"}}}, nil
}

func ask() generator.Question {
	return generator.Question{Ask: generator.AskRepositories, Provider: "github", Spec: json.RawMessage(`{"organization": "../../acme"}`)}
}

// recording is the name and the content of the file about a question.
func recording(t *testing.T) (name string, data []byte) {
	t.Helper()
	r := &answers.Record{APIs: fixed{}}
	if _, err := r.Ask(t.Context(), ask()); err != nil {
		t.Fatal(err)
	}
	if err := r.Write(func(n string, d []byte) error { name, data = n, d; return nil }); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(name, `/\`) || strings.Contains(name, "..") {
		t.Fatalf("the name of the file is %q", name)
	}
	return name, data
}

// TestHostileAnswers: a directory of answers from somebody else's branch shows no other file, and takes neither memory nor time.
func TestHostileAnswers(t *testing.T) {
	const secret = "password: s3cret-w0rd\n"
	for name, c := range map[string]struct {
		file func(path, outside string) error
		want string // "" is an answer
	}{
		"a link in the directory": {func(path, _ string) error {
			return os.Symlink(filepath.Base(path)+".real", path)
		}, ""},
		"a link to another file": {func(path, outside string) error { return os.Symlink(outside, path) }, "path escapes from parent"},
		"a relative link": {func(path, outside string) error {
			return os.Symlink(filepath.Join("..", filepath.Base(filepath.Dir(outside)), filepath.Base(outside)), path)
		}, "path escapes from parent"},
		"a loop":      {func(path, _ string) error { return os.Symlink(filepath.Base(path), path) }, "too many"},
		"a pipe":      {func(path, _ string) error { return syscall.Mkfifo(path, 0o644) }, "it is not a regular file"},
		"a device":    {func(path, _ string) error { return os.Symlink("/dev/zero", path) }, "path escapes from parent"},
		"a directory": {func(path, _ string) error { return os.Mkdir(path, 0o755) }, "it is not a regular file"},
		"a huge file": {func(path, _ string) error {
			if err := os.WriteFile(path, []byte("question: {}\n"), 0o644); err != nil {
				return err
			}
			return os.Truncate(path, 1<<40)
		}, "over the limit of 64 MiB"},
		"aliases": {func(path, _ string) error {
			text := "a0: &a0 [x, x, x, x, x, x, x, x, x]\n"
			for i := range 12 {
				text += fmt.Sprintf("a%d: &a%d [%s]\n", i+1, i+1, strings.TrimSuffix(strings.Repeat(fmt.Sprintf("*a%d, ", i), 9), ", "))
			}
			return os.WriteFile(path, []byte(text), 0o644)
		}, "alias"},
		"depth": {func(path, _ string) error {
			return os.WriteFile(path, []byte("question: "+strings.Repeat("[", 1<<20)), 0o644)
		}, "depth"},
		"many repositories": {func(path, _ string) error {
			var b strings.Builder
			b.WriteString("question: {kind: scmProvider, spec: {}}\nrepositories:\n")
			for i := range 100_000 {
				fmt.Fprintf(&b, "- {organization: acme, repository: r%d, empty: true}\n", i)
			}
			return os.WriteFile(path, []byte(b.String()), 0o644)
		}, "many"},
	} {
		t.Run(name, func(t *testing.T) {
			hostile.Survived(t, func() {
				dir, outside := t.TempDir(), filepath.Join(t.TempDir(), "secret.yaml")
				file, data := recording(t)
				for path, text := range map[string]string{outside: secret, filepath.Join(dir, file+".real"): string(data)} {
					if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
						t.Fatal(err)
					}
				}
				if err := c.file(filepath.Join(dir, file), outside); err != nil {
					t.Fatal(err)
				}
				apis := workspace.Replay(dir)
				a, err := apis.Ask(t.Context(), ask())
				switch {
				case c.want == "" && (err != nil || len(a.Repositories) != 1):
					t.Errorf("%v, %v", a, err)
				case c.want == "many" && err == nil: // and then branches of each of them
					q := ask()
					q.Ask, q.Repositories = generator.AskBranches, a.Repositories
					if a, err := apis.Ask(t.Context(), q); err == nil && len(a.Branches) != 100_000 {
						t.Errorf("%d", len(a.Branches))
					}
				case c.want != "" && c.want != "many" && (err == nil || !strings.Contains(err.Error(), c.want)):
					t.Errorf("got %v, want %q in it", err, c.want)
				}
				if err != nil && (strings.Contains(err.Error(), "s3cret") || strings.Contains(err.Error(), "\n") || len(err.Error()) > 2000) {
					t.Errorf("%.600q", err)
				}
			})
		})
	}
}
