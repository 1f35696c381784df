// Package conformance asks Argo CD itself: it runs the generators and the renderer of Argo CD 3.2.11, with its own
// repo-server code over real Git repositories, for comparison with this project's.
package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	apptemplate "github.com/argoproj/argo-cd/v3/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/reposerver/apiclient"
	"github.com/argoproj/argo-cd/v3/reposerver/cache"
	"github.com/argoproj/argo-cd/v3/reposerver/metrics"
	"github.com/argoproj/argo-cd/v3/reposerver/repository"
	cacheutil "github.com/argoproj/argo-cd/v3/util/cache"
	"github.com/argoproj/argo-cd/v3/util/git"
	"github.com/sirupsen/logrus"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	kubefake "k8s.io/client-go/kubernetes/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/yaml"

	"github.com/argosy-cd/argosy/internal/appset/appsettest"
	"github.com/argosy-cd/argosy/internal/manifest"
)

const argoNamespace = "argocd"

// Upstream is an Argo CD with repositories.
type Upstream struct {
	service *repository.Service
	urls    map[string]string // URL in a case → URL of a real repository
}

// NewUpstream makes real Git repositories of testdata/repos and a repo-server to read them.
func NewUpstream(tb testing.TB, testdata string) *Upstream {
	tb.Helper()
	logrus.SetOutput(io.Discard)
	u := &Upstream{urls: map[string]string{}}
	for url, dir := range appsettest.Repositories(tb, testdata) {
		repo := filepath.Join(tb.TempDir(), "repo")
		if err := os.CopyFS(repo, os.DirFS(dir)); err != nil {
			tb.Fatal(err)
		}
		for _, args := range [][]string{
			{"init", "--quiet", "--initial-branch=main"},
			{"add", "--all"},
			{"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "--quiet", "--message=all"},
		} {
			cmd := exec.Command("git", args...)
			cmd.Dir = repo
			if out, err := cmd.CombinedOutput(); err != nil {
				tb.Fatalf("git %v: %v\n%s", args, err, out)
			}
		}
		u.urls[url] = "file://" + repo
	}
	u.service = newService(tb, 1)
	return u
}

// newService returns Argo CD's repo-server that runs as many requests at once as parallel says, 0 for any number.
func newService(tb testing.TB, parallel int64) *repository.Service {
	tb.Helper()
	inMemory := cacheutil.NewInMemoryCache(time.Hour)
	repoCache := cache.NewCache(cacheutil.NewCache(inMemory), time.Hour, time.Hour, 10*time.Second)
	service := repository.NewService(metrics.NewMetricsServer(), repoCache,
		repository.RepoServerInitConstants{ParallelismLimit: parallel}, &git.NoopCredsStore{}, tb.TempDir())
	if err := service.Init(); err != nil {
		tb.Fatal(err)
	}
	return service
}

func (u *Upstream) repo(url string) (*v1alpha1.Repository, error) {
	real, ok := u.urls[url]
	if !ok {
		return nil, fmt.Errorf("repository %s not found", url)
	}
	return &v1alpha1.Repository{Repo: real, Type: "git"}, nil
}

// GetFiles implements services.Repos.
func (u *Upstream) GetFiles(ctx context.Context, repoURL, revision, _, pattern string, _, _ bool) (map[string][]byte, error) {
	repo, err := u.repo(repoURL)
	if err != nil {
		return nil, err
	}
	res, err := u.service.GetGitFiles(ctx, &apiclient.GitFilesRequest{Repo: repo, Revision: revision, Path: pattern})
	if err != nil {
		return nil, err
	}
	return res.GetMap(), nil
}

// GetDirectories implements services.Repos.
func (u *Upstream) GetDirectories(ctx context.Context, repoURL, revision, _ string, _, _ bool) ([]string, error) {
	repo, err := u.repo(repoURL)
	if err != nil {
		return nil, err
	}
	res, err := u.service.GetGitDirectories(ctx, &apiclient.GitDirectoriesRequest{Repo: repo, Revision: revision})
	if err != nil {
		return nil, err
	}
	return res.GetPaths(), nil
}

// Generate gives Argo CD's answer to a case. A panic of Argo CD's code is an error, too.
func (u *Upstream) Generate(c appsettest.Case) (apps []v1alpha1.Application, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = fmt.Errorf("panic: %v", r)
		}
	}()
	docs, err := manifest.Decode("in.yaml", c.Input)
	if err != nil {
		return nil, err
	}
	for _, d := range docs {
		// As JSON, which is how an API server gets it; the YAML library would make strings of numbers.
		data, err := json.Marshal(d.Object)
		if err != nil {
			return nil, err
		}
		var set v1alpha1.ApplicationSet
		if err := json.Unmarshal(data, &set); err != nil {
			return nil, err
		}
		if err := utils.CheckInvalidGenerators(&set); err != nil {
			return nil, err
		}
		more, err := u.generate(set, c.Clusters)
		if err != nil {
			return nil, err
		}
		apps = append(apps, more...)
	}
	return apps, nil
}

func (u *Upstream) generate(set v1alpha1.ApplicationSet, clusters []byte) ([]v1alpha1.Application, error) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	if err := corev1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	objects, err := secrets(clusters)
	if err != nil {
		return nil, err
	}
	client := fake.NewClientBuilder().WithScheme(scheme).WithRuntimeObjects(objects...)
	if project := set.Spec.Template.Spec.Project; project != "" && !strings.Contains(project, "{{") {
		client = client.WithRuntimeObjects(&v1alpha1.AppProject{ObjectMeta: metav1.ObjectMeta{Name: project, Namespace: argoNamespace}})
	}
	built := client.Build()
	all := generators.GetGenerators(context.Background(), built, kubefake.NewClientset(objects...), argoNamespace, u, nil,
		generators.SCMConfig{})
	apps, _, err := apptemplate.GenerateApplications(logrus.NewEntry(logrus.StandardLogger()), set, all, &utils.Render{}, built)
	return apps, err
}

// secrets decodes cluster Secrets as an API server would hold them.
func secrets(data []byte) ([]runtime.Object, error) {
	docs, err := manifest.Decode("clusters.yaml", data)
	if err != nil {
		return nil, err
	}
	var out []runtime.Object
	for _, d := range docs {
		text, err := yaml.Marshal(d.Object)
		if err != nil {
			return nil, err
		}
		var s corev1.Secret
		if err := yaml.Unmarshal(text, &s); err != nil {
			return nil, err
		}
		s.Namespace = argoNamespace
		if s.Data == nil {
			s.Data = map[string][]byte{}
		}
		for k, v := range s.StringData {
			s.Data[k] = []byte(v)
		}
		s.StringData = nil
		out = append(out, &s)
	}
	return out, nil
}
