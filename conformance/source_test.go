package conformance

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/reposerver/apiclient"
	"github.com/argoproj/argo-cd/v3/reposerver/repository"
	"github.com/argoproj/argo-cd/v3/util/argo"
	"github.com/google/go-cmp/cmp"
	"github.com/sirupsen/logrus"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/source/sourcetest"
)

const sourceCases = "../internal/source/testdata/conformance"

// TestSources compares the answers on file with those of Argo CD's repo-server, which runs the real helm and kustomize. UPDATE=1 writes the
// files.
func TestSources(t *testing.T) {
	logrus.SetOutput(io.Discard)
	service := newService(t, 0)
	isolate(t)
	for _, c := range sourcetest.Cases(t, sourceCases) {
		t.Run(c.Name, func(t *testing.T) {
			t.Parallel()
			s := &sources{service: service, urls: map[string]string{}}
			for url, dir := range c.Repos {
				s.urls[url] = "file://" + commit(t, dir)
			}
			objects, err := s.generate(t.Context(), c)
			if err != nil {
				s.onFile(t, c, "upstream.err", "upstream.yaml", []byte(err.Error()+"\n"))
				return
			}
			var buf bytes.Buffer
			if err := manifest.WriteYAML(&buf, objects...); err != nil {
				t.Fatal(err)
			}
			s.onFile(t, c, "upstream.yaml", "upstream.err", buf.Bytes())
		})
	}
}

// isolate sets an environment that has helm and kustomize, and neither plugins nor a network.
func isolate(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "go", "run", "./cmd/program", "helm", "kustomize")
	cmd.Dir, cmd.Stderr = "../lab", os.Stderr
	out, err := cmd.Output()
	paths := strings.Fields(string(out))
	if err != nil || len(paths) != 2 {
		t.Fatalf("building helm and kustomize: %v: %q", err, out)
	}
	t.Setenv("PATH", filepath.Dir(paths[0])+":"+filepath.Dir(paths[1])+":"+os.Getenv("PATH"))
	t.Setenv("ARGOCD_PLUGINSOCKFILEPATH", t.TempDir())
	t.Setenv("TMPDIR", t.TempDir())
	t.Setenv("GIT_CONFIG_GLOBAL", os.DevNull)
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy"} {
		t.Setenv(name, "http://127.0.0.1:1")
	}
	t.Setenv("NO_PROXY", "")
	t.Setenv("no_proxy", "")
}

// commit makes a Git repository of a directory, with the one commit that sourcetest knows the hash of.
func commit(t *testing.T, dir string) string {
	t.Helper()
	repo := filepath.Join(t.TempDir(), filepath.Base(dir))
	if err := os.CopyFS(repo, os.DirFS(dir)); err != nil {
		t.Fatal(err)
	}
	var out []byte
	for _, args := range [][]string{
		{"init", "--quiet", "--initial-branch=main"},
		{"add", "--all", "--force"},
		{"commit", "--quiet", "--message=all"},
		{"rev-parse", "HEAD"},
	} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir, cmd.Env = repo, append(os.Environ(), sourcetest.CommitEnv()...)
		var err error
		if out, err = cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	if got, want := strings.TrimSpace(string(out)), sourcetest.Commit(t, dir); got != want {
		t.Fatalf("the commit of %s is %s, sourcetest says %s", dir, got, want)
	}
	return repo
}

// sources are the repositories of a case and Argo CD's repo-server.
type sources struct {
	service *repository.Service
	urls    map[string]string // URL in the case → URL of a real repository
}

func (s *sources) repository(_ context.Context, url, _ string) (*v1alpha1.Repository, error) {
	real, ok := s.urls[url]
	if !ok {
		real = "file:///nonexistent/" + filepath.Base(url)
		s.urls[url] = real
	}
	return &v1alpha1.Repository{Repo: real, Type: "git"}, nil
}

// generate returns the objects of an Application as Argo CD's controller gets them from the repo-server (controller/state.go GetRepoObjs),
// before it adds namespaces and removes duplicates. Of a source hydrator, it returns the objects that would be pushed
// (controller/hydrator_dependencies.go): these know neither the namespace nor the cluster.
func (s *sources) generate(ctx context.Context, c sourcetest.Case) ([]manifest.Object, error) {
	data, err := json.Marshal(c.App.Object)
	if err != nil {
		return nil, err
	}
	var app v1alpha1.Application
	if err := json.Unmarshal(data, &app); err != nil {
		return nil, err
	}
	app.Spec = *argo.NormalizeApplicationSpec(&app.Spec) // controller/appcontroller.go normalizeApplication
	list := app.Spec.GetSources()
	request := apiclient.ManifestRequest{
		AppName: app.InstanceName(sourcetest.ArgoNamespace), ProjectName: app.Spec.GetProject(), ProjectSourceRepos: []string{"*"},
		Namespace: app.Spec.Destination.Namespace, KubeVersion: c.Settings.KubeVersion, ApiVersions: c.Settings.APIVersions,
		KustomizeOptions: &v1alpha1.KustomizeOptions{BuildOptions: c.Settings.BuildOptions},
		HelmOptions:      &v1alpha1.HelmOptions{ValuesFileSchemes: []string{"https", "http"}},
		// The key of the cache has neither the repository nor the build options of kustomize, so cases with equal files would share an
		// answer.
		NoCache: true,
	}
	if app.Spec.SourceHydrator != nil {
		list = v1alpha1.ApplicationSources{app.Spec.SourceHydrator.GetDrySource()}
		request.Namespace, request.KubeVersion, request.ApiVersions = "", "", nil
	}
	request.HasMultipleSources = app.Spec.HasMultipleSources()
	if request.RefSources, err = argo.GetRefSources(ctx, list, app.Spec.Project, s.repository, nil); err != nil {
		return nil, fmt.Errorf("failed to get ref sources: %w", err)
	}
	var out []manifest.Object
	for i, source := range list {
		more, err := s.source(ctx, &request, source)
		if err != nil {
			return nil, fmt.Errorf("failed to generate manifest for source %d of %d: %w", i+1, len(list), err)
		}
		out = append(out, more...)
	}
	return out, nil
}

func (s *sources) source(ctx context.Context, request *apiclient.ManifestRequest,
	source v1alpha1.ApplicationSource,
) ([]manifest.Object, error) {
	var err error
	if request.Repo, err = s.repository(ctx, source.RepoURL, ""); err != nil {
		return nil, err
	}
	source.RepoURL = request.Repo.Repo
	request.ApplicationSource, request.Revision = &source, source.TargetRevision
	response, err := s.service.GenerateManifest(ctx, request)
	if err != nil {
		return nil, err
	}
	var out []manifest.Object
	for _, text := range response.Manifests {
		obj, err := v1alpha1.UnmarshalToUnstructured(text)
		if err != nil {
			return nil, err
		}
		if obj == nil {
			continue
		}
		v, err := manifest.JSON([]byte(text))
		if err != nil {
			return nil, err
		}
		out = append(out, v.(map[string]any))
	}
	return out, nil
}

var (
	// cachedSource is a repository that the repo-server has checked out. Argo CD replaces it in the same way.
	cachedSource = regexp.MustCompile(`/\S*?/TestSources\d+/001/[0-9a-f-]{36}`)
	// unreachable is how a program that wants the network fails. What follows depends on its version.
	unreachable = regexp.MustCompile(`(?s)proxyconnect tcp: dial tcp 127.0.0.1:1.*`)
	// pointer is an address of memory, which kustomize prints.
	pointer = regexp.MustCompile(`0x[0-9a-f]{8,}`)
	// tempFile is any other file in TMPDIR: the values of an Application, helm's configuration, kustomize's copies.
	tempFile = regexp.MustCompile(`/\S*?/TestSources\d+/\d+/[^\s'",:/` + "`" + `]+`)
)

// onFile writes Argo CD's answer to a file, or compares it with the file. The other file must not exist.
func (s *sources) onFile(t *testing.T, c sourcetest.Case, name, other string, answer []byte) {
	t.Helper()
	text := string(answer)
	for url, real := range s.urls {
		text = strings.ReplaceAll(text, real, url)
		text = strings.ReplaceAll(text, strings.TrimPrefix(real, "file://"), url)
	}
	text = pointer.ReplaceAllString(text, "<pointer>")
	text = unreachable.ReplaceAllString(text, "<no network>\n")
	text = cachedSource.ReplaceAllString(text, "<path to cached source>")
	text = tempFile.ReplaceAllString(text, "<temporary file>")
	file := filepath.Join(c.Dir, name)
	if os.Getenv("UPDATE") != "" {
		_ = os.Remove(filepath.Join(c.Dir, other))
		write(t, file, []byte(text))
		return
	}
	have, err := os.ReadFile(file)
	if err != nil {
		t.Fatalf("%v; Argo CD's answer:\n%s", err, text)
	}
	if diff := cmp.Diff(string(have), text); diff != "" {
		t.Errorf("the answer on file is not Argo CD's (-file +Argo CD):\n%s", diff)
	}
}
