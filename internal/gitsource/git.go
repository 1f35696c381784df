package gitsource

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/giturl"
)

// maxOutput bounds what is read from one git command.
const maxOutput = 256 << 20

// git runs the git command in a directory.
type git struct {
	dir string
	env environ.Environ
	// remote allows commands that talk to a server. It is for repositories that we made: the configuration of any other may be a
	// stranger's, and names programs that a transport runs.
	remote bool
}

// inert are settings that keep the configuration of a repository from naming programs to run. The user's own configuration, such as
// credential helpers and url.insteadOf, stays: fetching needs it.
var inert = []string{"--no-pager", "--no-replace-objects", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=" + os.DevNull}

func (g git) command(ctx context.Context, args ...string) *exec.Cmd {
	cmd := exec.CommandContext(ctx, "git", slices.Concat(inert, args)...)
	cmd.Dir = g.dir
	// The children of a git that was killed may hold its output open.
	cmd.WaitDelay = 2 * time.Second
	// A GIT_DIR in the environment, as in a hook, would point every command at another repository.
	for _, kv := range g.env.List() {
		switch name, _, _ := strings.Cut(kv, "="); name {
		case "GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_PREFIX", "GIT_OBJECT_DIRECTORY", "GIT_COMMON_DIR", "GIT_NAMESPACE",
			"GIT_ALTERNATE_OBJECT_DIRECTORIES", "GIT_CONFIG", "GIT_GRAFT_FILE", "GIT_SHALLOW_FILE", "GIT_IMPLICIT_WORK_TREE":
		default:
			cmd.Env = append(cmd.Env, kv)
		}
	}
	cmd.Env = append(cmd.Env, "GIT_TERMINAL_PROMPT=0", "GIT_OPTIONAL_LOCKS=0", "LC_ALL=C")
	if g.remote {
		cmd.Env = append(cmd.Env, "GIT_ALLOW_PROTOCOL=file:git:http:https:ssh")
	} else {
		// A partial clone would fetch what it lacks, by a program that its configuration names. Versions of git that do not know the first
		// variable refuse every protocol by the second.
		cmd.Env = append(cmd.Env, "GIT_NO_LAZY_FETCH=1", "GIT_ALLOW_PROTOCOL=none")
	}
	return cmd
}

func (g git) run(ctx context.Context, args ...string) (string, error) {
	return g.runMost(ctx, maxOutput, args...)
}

// runMost fails, and ends the command, when its output has more bytes than that.
func (g git) runMost(ctx context.Context, most int, args ...string) (string, error) {
	var stdout, stderr limitedBuffer
	stdout.max, stderr.max = most, 64<<10
	cmd := g.command(ctx, args...)
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	if stdout.full {
		return "", fmt.Errorf("git %s: its output is over the limit of %d MiB", args[0], most>>20)
	}
	if err != nil {
		return "", commandError(ctx, args[0], stderr.String(), err, args...)
	}
	// git skips a directory that it cannot read, with a warning.
	if strings.Contains(stderr.String(), "could not open directory") {
		return "", commandError(ctx, args[0], stderr.String(), nil, args...)
	}
	return stdout.String(), nil
}

// commandError says in one line what went wrong: git's last words, without credentials.
func commandError(ctx context.Context, command, stderr string, err error, known ...string) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if errors.Is(err, exec.ErrNotFound) {
		return errors.New("the git command is not installed")
	}
	var lines []string
	for line := range strings.Lines(stderr) {
		line = strings.TrimSpace(line)
		for _, prefix := range []string{"fatal: ", "error: ", "warning: ", "remote: "} {
			line = strings.TrimPrefix(line, prefix)
		}
		if line != "" {
			lines = append(lines, giturl.RedactText(line, known...))
		}
	}
	if len(lines) == 0 {
		return fmt.Errorf("git %s: %w", command, err)
	}
	return fmt.Errorf("git %s: %s", command, strings.Join(lines[:min(3, len(lines))], "; "))
}

// limitedBuffer is not a bytes.Buffer, whose ReadFrom would go past the limit.
type limitedBuffer struct {
	data bytes.Buffer
	max  int
	full bool
}

func (b *limitedBuffer) Write(p []byte) (int, error) {
	if b.data.Len()+len(p) > b.max {
		b.full = true
		return 0, fmt.Errorf("output over the limit of %d bytes", b.max)
	}
	return b.data.Write(p)
}

func (b *limitedBuffer) String() string { return b.data.String() }

// repository is a local repository.
type repository struct {
	git
	bare   bool
	top    string // of the work tree
	prefix string // of git.dir below top, with a slash at the end
	objects
}

// findRepository returns the repository that dir is in, nil if it is in none.
func findRepository(ctx context.Context, env environ.Environ, dir string) (*repository, error) {
	g := git{dir: dir, env: env}
	out, err := g.run(ctx, "rev-parse", "--is-bare-repository", "--is-inside-git-dir")
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		if strings.Contains(err.Error(), "not a git repository") {
			return nil, nil
		}
		return nil, err
	}
	if strings.HasPrefix(out, "true") {
		return &repository{git: g, bare: true}, nil
	}
	if strings.Contains(out, "\ntrue") {
		return nil, fmt.Errorf("%s is inside a .git directory", dir)
	}
	out, err = g.run(ctx, "rev-parse", "--show-toplevel", "--show-prefix")
	if err != nil {
		return nil, err
	}
	top, prefix, _ := strings.Cut(out, "\n")
	r := &repository{git: g, top: filepath.FromSlash(top), prefix: strings.TrimSuffix(prefix, "\n")}
	if !sameDirectory(filepath.Join(r.top, filepath.FromSlash(r.prefix)), dir) {
		return nil, fmt.Errorf("%s is not in the work tree of its repository, which is elsewhere (core.worktree)", dir)
	}
	return r, nil
}

func sameDirectory(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

// has reports whether a reference exists.
func (r *repository) has(ctx context.Context, ref string) bool {
	_, err := r.run(ctx, "rev-parse", "--quiet", "--verify", "--end-of-options", ref)
	return err == nil
}

// isBranch reports whether a revision is a branch, here or at a remote.
func (r *repository) isBranch(ctx context.Context, revision string) bool {
	name := strings.TrimPrefix(revision, "refs/heads/")
	if r.has(ctx, "refs/heads/"+name) {
		return true
	}
	out, err := r.run(ctx, "for-each-ref", "--format=%(refname:lstrip=3)", "refs/remotes")
	return err == nil && slices.Contains(strings.Split(out, "\n"), name)
}

// branch returns the branch that is checked out, or "".
func (r *repository) branch(ctx context.Context) string {
	out, err := r.run(ctx, "symbolic-ref", "--quiet", "--short", "HEAD")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(out)
}

// at returns the tree of a revision: a commit, tag, branch, or branch of the remote "origin". With three dots behind it, it is the last
// commit that HEAD and the revision have in common.
func (r *repository) at(ctx context.Context, revision string) (*Tree, error) {
	if name, ok := strings.CutSuffix(revision, "..."); ok {
		return r.mergeBase(ctx, name)
	}
	for _, name := range []string{revision, "refs/remotes/origin/" + revision} {
		out, err := r.run(ctx, "rev-parse", "--quiet", "--verify", "--end-of-options", name+"^{commit}")
		if err == nil {
			return &Tree{repo: r, commit: strings.TrimSpace(out)}, nil
		}
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
	}
	if out, err := r.run(ctx, "rev-parse", "--is-shallow-repository"); err == nil && strings.TrimSpace(out) == "true" {
		return nil, fmt.Errorf("there is no revision %q in this clone, which is shallow: fetch its history (git fetch --unshallow; "+
			"fetch-depth: 0 in GitHub Actions)", revision)
	}
	return nil, fmt.Errorf("there is no revision %q", revision)
}

// mergeBase returns the tree of the last commit that HEAD and a revision have in common.
func (r *repository) mergeBase(ctx context.Context, revision string) (*Tree, error) {
	t, err := r.at(ctx, revision)
	if err != nil {
		return nil, err
	}
	out, err := r.run(ctx, "merge-base", t.commit, "HEAD")
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, fmt.Errorf("HEAD and %q have no commit in common in this clone; a shallow clone needs its history "+
			"(git fetch --unshallow; fetch-depth: 0 in GitHub Actions)", revision)
	}
	return &Tree{repo: r, commit: strings.TrimSpace(out)}, nil
}
