// Package program builds the programs that tests and benchmarks run: servers, peers, tools. Each is built once from a
// module in ../build with pinned versions, and kept in a cache.
package program

import (
	"context"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"
	"time"
)

// binary is a program that is built from a module in build/.
type binary struct {
	name, pkg string
}

// component is a module in build/ and what is taken from it.
type component struct {
	name     string
	programs []binary
	// stamped is the module whose version the programs report as Kubernetes does. "" is none: they report what their module has.
	stamped string
	// files are copied from the folders of modules: module → patterns below it.
	files map[string][]string
}

var components = []component{
	{name: "etcd", programs: []binary{{"etcd", "go.etcd.io/etcd/server/v3"}}},
	{name: "kubernetes", stamped: "k8s.io/kubernetes", programs: []binary{
		{"kube-apiserver", "k8s.io/kubernetes/cmd/kube-apiserver"},
		{"kube-controller-manager", "k8s.io/kubernetes/cmd/kube-controller-manager"},
		{"kube-scheduler", "k8s.io/kubernetes/cmd/kube-scheduler"},
	}},
	{
		name: "argocd", programs: []binary{{"argocd", "github.com/argoproj/argo-cd/v3/cmd"}},
		files: map[string][]string{"github.com/argoproj/argo-cd/v3": {"manifests/crds/*-crd.yaml", "manifests/base/config/argocd-cm.yaml"}},
	},
	{
		name: "kwok", programs: []binary{{"kwok", "sigs.k8s.io/kwok/cmd/kwok"}},
		files: map[string][]string{"sigs.k8s.io/kwok": {"kustomize/stage/*/*/*.yaml"}},
	},
	{name: "versitygw", programs: []binary{{"versitygw", "github.com/versity/versitygw/cmd/versitygw"}}},
	{name: "helm", programs: []binary{{"helm", "helm.sh/helm/v3/cmd/helm"}}},
	{name: "kustomize", programs: []binary{{"kustomize", "sigs.k8s.io/kustomize/kustomize/v5"}}},
	{name: "rclone", programs: []binary{{"rclone", "github.com/rclone/rclone"}}},
}

// Tools are the built programs and the files that came with them.
type Tools struct {
	dirs map[string]string // component → folder of its files
	bins map[string]string // program → path
}

// ArgoCDMinor is the minor version of Argo CD 3 that is run: 2 for 3.2.11. 0 is not known.
func (t *Tools) ArgoCDMinor() int {
	version := ""
	if data, err := os.ReadFile(filepath.Join(t.dirs["argocd"], "VERSION")); err == nil {
		version = strings.TrimSpace(string(data)) // a checkout
	} else if info, err := buildinfo.ReadFile(t.bins["argocd"]); err == nil {
		version = strings.TrimPrefix(info.Main.Version, "v") // its module is the main one of the program
	}
	var minor int
	_, _ = fmt.Sscanf(version, "3.%d.", &minor)
	return minor
}

// Path returns the path of a program.
func (t *Tools) Path(program string) string { return t.bins[program] }

// Files returns the files of a component that match a pattern, for example "kustomize/stage/pod/fast/*.yaml".
func (t *Tools) Files(component, pattern string) ([]string, error) {
	return filepath.Glob(filepath.Join(t.dirs[component], filepath.FromSlash(pattern)))
}

// sourceDir is the folder of the lab, where build/ is: the one around the working directory, or in a folder around it.
func sourceDir() (string, error) {
	dir, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; ; dir = filepath.Dir(dir) {
		for _, lab := range []string{dir, filepath.Join(dir, "lab")} {
			if _, err := os.Stat(filepath.Join(lab, "build", "etcd", "go.mod")); err == nil {
				return lab, nil
			}
		}
		if dir == filepath.Dir(dir) {
			return "", errors.New("the lab must run in its checkout")
		}
	}
}

// Build returns the programs of components, of which it builds those that are not in the cache. log gets a line for each.
func Build(ctx context.Context, log io.Writer, names ...string) (*Tools, error) {
	for _, name := range names {
		if !slices.ContainsFunc(components, func(c component) bool { return c.name == name }) {
			return nil, fmt.Errorf("there is no component %q", name)
		}
	}
	source, err := sourceDir()
	if err != nil {
		return nil, err
	}
	cache := os.Getenv("ARGOSY_LAB_CACHE")
	if cache == "" {
		if cache, err = os.UserCacheDir(); err != nil {
			return nil, err
		}
		cache = filepath.Join(cache, "argosy-lab")
	}
	if err := os.MkdirAll(cache, 0o755); err != nil {
		return nil, err
	}
	t := &Tools{dirs: map[string]string{}, bins: map[string]string{}}
	for i, name := range names {
		c := components[slices.IndexFunc(components, func(c component) bool { return c.name == name })]
		dir, err := c.build(ctx, log, source, cache, fmt.Sprintf("[%d/%d]", i+1, len(names)))
		if err != nil {
			return nil, fmt.Errorf("building %s: %w", c.name, err)
		}
		t.dirs[c.name] = filepath.Join(dir, "files")
		for _, p := range c.programs {
			t.bins[p.name] = filepath.Join(dir, "bin", p.name)
		}
	}
	// Another version of Argo CD: a checkout of it, with the program in dist/.
	if checkout := os.Getenv("LAB_ARGOCD"); checkout != "" && t.bins["argocd"] != "" {
		t.bins["argocd"], t.dirs["argocd"] = filepath.Join(checkout, "dist", "argocd"), checkout
		if _, err := os.Stat(t.bins["argocd"]); err != nil {
			return nil, fmt.Errorf("LAB_ARGOCD: %w; go build -o dist/argocd ./cmd makes it", err)
		}
	}
	return t, nil
}

// build builds one component into a folder that is named after everything it depends on, and appears only when it is
// complete.
func (c component) build(ctx context.Context, log io.Writer, source, cache, progress string) (string, error) {
	module := filepath.Join(source, "build", c.name)
	sum := sha256.New()
	fmt.Fprintln(sum, runtime.Version(), runtime.GOARCH)
	if c.stamped != "" {
		fmt.Fprintln(sum, stampVariables)
	}
	if len(c.files) > 0 {
		fmt.Fprintln(sum, c.files)
	}
	for _, name := range []string{"go.mod", "go.sum"} {
		data, err := os.ReadFile(filepath.Join(module, name))
		if err != nil {
			return "", err
		}
		sum.Write(data)
	}
	dir := filepath.Join(cache, c.name+"-"+hex.EncodeToString(sum.Sum(nil))[:12])
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	unlock, err := lockFile(filepath.Join(cache, "lock-"+c.name))
	if err != nil {
		return "", err
	}
	defer unlock()
	if _, err := os.Stat(dir); err == nil {
		return dir, nil // built while we waited
	}
	temp, err := os.MkdirTemp(cache, "building-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(temp)
	flags, err := c.linkerFlags(ctx, module)
	if err != nil {
		return "", err
	}
	for _, p := range c.programs {
		start := time.Now()
		fmt.Fprintf(log, "%s building %s, once\n", progress, p.name)
		if _, err := goCommand(ctx, module, "build", "-trimpath", "-ldflags="+flags, "-o", filepath.Join(temp, "bin", p.name),
			p.pkg); err != nil {
			return "", err
		}
		fmt.Fprintf(log, "%s built %s in %s\n", progress, p.name, time.Since(start).Round(time.Second))
	}
	for mod, patterns := range c.files {
		for _, pattern := range patterns {
			if err := copyModuleFiles(ctx, module, mod, pattern, filepath.Join(temp, "files")); err != nil {
				return "", err
			}
		}
	}
	return dir, os.Rename(temp, dir)
}

// stampVariables are what Kubernetes' own build sets: without them its version is a placeholder that clients cannot parse.
const stampVariables = "k8s.io/component-base/version.gitVersion k8s.io/component-base/version.gitMajor " +
	"k8s.io/component-base/version.gitMinor"

func (c component) linkerFlags(ctx context.Context, module string) (string, error) {
	flags := "-s -w"
	if c.stamped == "" {
		return flags, nil
	}
	out, err := goCommand(ctx, module, "list", "-m", "-f", "{{.Version}}", c.stamped)
	if err != nil {
		return "", err
	}
	version := strings.TrimSpace(out)
	numbers := strings.Split(strings.TrimPrefix(version, "v"), ".")
	if len(numbers) < 3 {
		return "", fmt.Errorf("version %q of %s", version, c.stamped)
	}
	for i, value := range []string{version, numbers[0], numbers[1]} {
		flags += " -X " + strings.Fields(stampVariables)[i] + "=" + value
	}
	return flags, nil
}

func copyModuleFiles(ctx context.Context, module, mod, pattern, to string) error {
	out, err := goCommand(ctx, module, "list", "-m", "-f", "{{.Dir}}", mod)
	if err != nil {
		return err
	}
	root := strings.TrimSpace(out)
	files, err := filepath.Glob(filepath.Join(root, filepath.FromSlash(pattern)))
	if err != nil || len(files) == 0 {
		return fmt.Errorf("no files %s in %s: %w", pattern, mod, err)
	}
	for _, file := range files {
		rel, err := filepath.Rel(root, file)
		if err != nil {
			return err
		}
		data, err := os.ReadFile(file)
		if err != nil {
			return err
		}
		target := filepath.Join(to, rel)
		if err := os.MkdirAll(filepath.Dir(target), 0o755); err != nil {
			return err
		}
		if err := os.WriteFile(target, data, 0o644); err != nil {
			return err
		}
	}
	return nil
}

func goCommand(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "go", args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "CGO_ENABLED=0", "GOFLAGS=-buildvcs=false", "GOWORK=off")
	var stderr strings.Builder
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("go %s: %w\n%s", args[0], err, tail(stderr.String()))
	}
	return string(out), nil
}

// tail returns the last lines of what a command had to say.
func tail(s string) string {
	lines := strings.Split(strings.TrimRight(s, "\n"), "\n")
	return strings.Join(lines[max(0, len(lines)-10):], "\n")
}

// lockFile lets one process build a component at a time.
func lockFile(path string) (unlock func(), err error) {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_RDWR, 0o644)
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX); err != nil {
		f.Close()
		return nil, fmt.Errorf("locking %s: %w", path, err)
	}
	return func() { f.Close() }, nil
}
