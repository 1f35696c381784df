package main

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/validate"
)

var platforms = []string{"linux/amd64", "linux/arm64"}

// binaries builds the program for each platform, once.
var binaries = sync.OnceValues(func() (map[string]string, error) {
	dir, err := filepath.Abs(filepath.Join("..", "bin", "image"))
	if err != nil {
		return nil, err
	}
	all := map[string]string{}
	for _, platform := range platforms {
		goos, arch, _ := strings.Cut(platform, "/")
		all[platform] = filepath.Join(dir, "argosy-"+arch)
		build := exec.Command("go", "build", "-trimpath", "-ldflags=-s -w -X main.stamped=v0.0.1-test", "-o", all[platform], "./cmd/argosy")
		build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0", "GOOS="+goos, "GOARCH="+arch)
		if out, err := build.CombinedOutput(); err != nil {
			return nil, fmt.Errorf("%s: %w\n%s", platform, err, out)
		}
	}
	return all, nil
})

// write makes a layout and returns its directory and digest.
func write(t *testing.T) (dir, digest string) {
	t.Helper()
	files, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(t.TempDir(), "layout")
	args := []string{"-layout", dir, "-version", "v0.0.1-test", "-revision", "0123abcd", "-created", "1700000000"}
	for _, platform := range platforms {
		args = append(args, platform+"="+files[platform])
	}
	var out bytes.Buffer
	if err := run(t.Context(), &out, args); err != nil {
		t.Fatal(err)
	}
	return dir, strings.TrimSpace(out.String())
}

// images reads a layout: platform to image.
func images(t *testing.T, dir string) map[string]v1.Image {
	t.Helper()
	outer, err := layout.ImageIndexFromPath(dir)
	if err != nil {
		t.Fatal(err)
	}
	if err := validate.Index(outer); err != nil {
		t.Error(err)
	}
	top, err := outer.IndexManifest()
	if err != nil || len(top.Manifests) != 1 {
		t.Fatalf("%v, %v", top, err)
	}
	index, err := outer.ImageIndex(top.Manifests[0].Digest)
	if err != nil {
		t.Fatal(err)
	}
	manifest, err := index.IndexManifest()
	if err != nil {
		t.Fatal(err)
	}
	all := map[string]v1.Image{}
	for _, d := range manifest.Manifests {
		if all[d.Platform.String()], err = index.Image(d.Digest); err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// TestImage: the image has two files, in the right platform, and the same bytes each time.
func TestImage(t *testing.T) {
	dir, digest := write(t)
	if _, again := write(t); digest != again {
		t.Errorf("%s, and then %s", digest, again)
	}
	all := images(t, dir)
	if got := slices.Sorted(maps.Keys(all)); !slices.Equal(got, platforms) {
		t.Fatalf("images for %v", got)
	}
	for platform, image := range all {
		config, err := image.ConfigFile()
		if err != nil {
			t.Fatal(err)
		}
		if config.OS+"/"+config.Architecture != platform {
			t.Errorf("%s: the configuration says %s/%s", platform, config.OS, config.Architecture)
		}
		var names []string
		each(t, image, func(h *tar.Header, r io.Reader) {
			if h.Uid != 0 || h.Gid != 0 || h.Mode&0o022 != 0 {
				t.Errorf("%s: %s is of %d:%d, mode %o", platform, h.Name, h.Uid, h.Gid, h.Mode)
			}
			if h.Typeflag != tar.TypeReg {
				return
			}
			names = append(names, h.Name)
			if data, err := io.ReadAll(r); err != nil {
				t.Error(err)
			} else if h.Name == program {
				parsed, err := v1.ParsePlatform(platform)
				if err = errors.Join(err, suits(data, *parsed)); err != nil {
					t.Error(err)
				}
			} else if n := bytes.Count(data, []byte("BEGIN CERTIFICATE")); n < 80 {
				t.Errorf("only %d certificates", n)
			}
		})
		slices.Sort(names)
		if want := []string{certificates, program}; !slices.Equal(names, want) {
			t.Errorf("%s has %v, want %v", platform, names, want)
		}
	}
}

// each reads the files of an image as a container has them.
func each(t *testing.T, image v1.Image, do func(*tar.Header, io.Reader)) {
	t.Helper()
	flat := mutate.Extract(image)
	defer flat.Close()
	r := tar.NewReader(flat)
	for {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		do(h, r)
	}
}

// TestRun runs the image of this machine as a cluster does: with its own user, or one that OpenShift chooses, on a root that cannot be
// written to. There is no container runtime in it: a mount namespace and a chroot do the same to files.
func TestRun(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("only root may mount: sudo make image")
	}
	dir, _ := write(t)
	image := images(t, dir)["linux/amd64"]
	root := filepath.Join(t.TempDir(), "root")
	each(t, image, func(h *tar.Header, r io.Reader) {
		name := filepath.Join(root, h.Name)
		if h.Typeflag == tar.TypeDir {
			if err := os.MkdirAll(name, 0o755); err != nil {
				t.Fatal(err)
			}
			return
		}
		data, err := io.ReadAll(r)
		if err = errors.Join(err, os.WriteFile(name, data, h.FileInfo().Mode())); err != nil {
			t.Fatal(err)
		}
	})
	for _, mount := range []string{"proc", "dev", "tmp"} { // as a runtime makes them
		if err := os.Mkdir(filepath.Join(root, mount), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	config, err := image.ConfigFile()
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range []string{config.Config.User, "1000680000:0"} {
		out, err := contained(t.Context(), config.Config, root, user, "", "version", "-o", "json")
		var answer struct{ Version, Platform string }
		if err = errors.Join(err, json.Unmarshal([]byte(out), &answer)); err != nil || answer.Version != "v0.0.1-test" || answer.Platform != "linux/amd64" {
			t.Errorf("as %s: %v\n%s", user, err, out)
		}
		out, err = contained(t.Context(), config.Config, root, user, "tmpfs", "demo", "--speed", "1000")
		if err != nil || !strings.Contains(out, "Healthy") {
			t.Errorf("as %s: demo: %v\n%s", user, err, out)
		}
	}
	if out, err := contained(t.Context(), config.Config, root, config.Config.User, "", "install"); err == nil || !strings.Contains(out, "is no release") {
		t.Errorf("install: %v\n%s", err, out)
	}
	// A demo without a directory that it can write to says so.
	out, err := contained(t.Context(), config.Config, root, config.Config.User, "", "demo")
	if err == nil || !strings.Contains(out, "read-only file system") || strings.Contains(out, "panic") {
		t.Errorf("demo without /tmp: %v\n%s", err, out)
	}
}

// contained runs the entry point of an image in a read-only root. tmp is what is mounted there: "" is nothing.
func contained(ctx context.Context, config v1.Config, root, user, tmp string, args ...string) (string, error) {
	script := `mount --bind "$1" "$1" && mount -o remount,bind,ro "$1" && mount -t proc proc "$1/proc" && mount --bind /dev "$1/dev"
[ -z "$3" ] || mount -t "$3" -o mode=1777 "$3" "$1/tmp"
root=$1 user=$2 path=$4
shift 4
exec env -i "$path" "$(command -v chroot)" --userspec="$user" "$root" "$@"`
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	all := append([]string{"--mount", "--pid", "--fork", "--kill-child", "bash", "-euc", script, "bash", root, user, tmp, config.Env[0]}, config.Entrypoint...)
	cmd := exec.CommandContext(ctx, "unshare", append(all, args...)...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestDockerfile: the Dockerfile's image has the same files and the same configuration.
func TestDockerfile(t *testing.T) {
	text, err := os.ReadFile("../Dockerfile")
	if err != nil {
		t.Fatal(err)
	}
	_, last, _ := strings.Cut(string(text), "\nFROM scratch\n")
	config := v1.Config{Labels: map[string]string{}}
	var files []string
	for _, m := range regexp.MustCompile(`(?m)^([A-Z]+) (.+)$`).FindAllStringSubmatch(last, -1) {
		switch m[1] {
		case "COPY":
			files = append(files, strings.TrimPrefix(m[2][strings.LastIndex(m[2], " ")+1:], "/"))
		case "ENV":
			config.Env = append(config.Env, m[2])
		case "USER":
			config.User = m[2]
		case "ENTRYPOINT":
			if err := json.Unmarshal([]byte(m[2]), &config.Entrypoint); err != nil {
				t.Error(err)
			}
		case "LABEL":
			key, value, _ := strings.Cut(m[2], "=")
			config.Labels[key] = strings.Trim(value, `"`)
		case "ARG":
		default:
			t.Errorf("%s is not known here", m[1])
		}
	}
	want := build{version: "$VERSION", revision: "$REVISION"}.configuration()
	if got, want := fmt.Sprintf("%+v", config), fmt.Sprintf("%+v", want); got != want {
		t.Errorf("the Dockerfile has\n%s\nwant\n%s", got, want)
	}
	if want := []string{certificates, program}; !slices.Equal(files, want) {
		t.Errorf("files %v, want %v", files, want)
	}
}

// TestRefused: a binary of another platform, or one that is not static, is no image.
func TestRefused(t *testing.T) {
	files, err := binaries()
	if err != nil {
		t.Fatal(err)
	}
	dir := filepath.Join(t.TempDir(), "layout")
	for want, args := range map[string][]string{
		"it is a program for EM_AARCH64, not for linux/amd64": {"-layout", dir, "linux/amd64=" + files["linux/arm64"]},
		"not for windows/amd64":                               {"-layout", dir, "windows/amd64=" + files["linux/amd64"]},
		"it is not static":                                    {"-layout", dir, "linux/amd64=/bin/sh"},
		`"x" is not PLATFORM=FILE`:                            {"-layout", dir, "x"},
		"needed: binaries":                                    {"-layout", dir},
		"is not empty":                                        {"-layout", ".", "linux/amd64=" + files["linux/amd64"]},
	} {
		if err := run(t.Context(), io.Discard, args); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %s", args, err, want)
		}
	}
}
