package render

import (
	"testing"
)

// TestRepository has the cases of Kustomize's own test of NewRepoSpecFromURL (api 0.20.1).
func TestRepository(t *testing.T) {
	for _, tt := range []struct {
		ref  string
		want repository
	}{
		{
			"https://git-codecommit.us-east-2.amazonaws.com/someorg/somerepo/somedir",
			repository{"https://git-codecommit.us-east-2.amazonaws.com/someorg/somerepo", "somedir", ""},
		},
		{
			"https://git-codecommit.us-east-2.amazonaws.com/someorg/somerepo/somedir?ref=testbranch",
			repository{"https://git-codecommit.us-east-2.amazonaws.com/someorg/somerepo", "somedir", "testbranch"},
		},
		{
			"https://fabrikops2.visualstudio.com/someorg/somerepo?ref=master",
			repository{"https://fabrikops2.visualstudio.com/someorg/somerepo", ".", "master"},
		},
		{"http://github.com/someorg/somerepo/somedir", repository{"https://github.com/someorg/somerepo", "somedir", ""}},
		{"git@github.com:someorg/somerepo/somedir", repository{"git@github.com:someorg/somerepo", "somedir", ""}},
		{"http://github.com/someorg/somerepo.git/somedir", repository{"https://github.com/someorg/somerepo.git", "somedir", ""}},
		{"git@github.com:someorg/somerepo.git/somedir", repository{"git@github.com:someorg/somerepo.git", "somedir", ""}},
		{
			"git@gitlab2.sqtools.ru:infra/kubernetes/thanos-base.git?ref=v0.1.0",
			repository{"git@gitlab2.sqtools.ru:infra/kubernetes/thanos-base.git", ".", "v0.1.0"},
		},
		{"git@bitbucket.org:company/project.git//path?ref=branch", repository{"git@bitbucket.org:company/project.git", "path", "branch"}},
		{"git@bitbucket.org/company/project.git//path?ref=branch", repository{"git@bitbucket.org/company/project.git", "path", "branch"}},
		{
			"ssh://git@bitbucket.org/company/project.git//path?ref=branch",
			repository{"ssh://git@bitbucket.org/company/project.git", "path", "branch"},
		},
		{
			"https://itfs.mycompany.com/collection/project/_git/somerepos",
			repository{"https://itfs.mycompany.com/collection/project/_git/somerepos", ".", ""},
		},
		{
			"https://itfs.mycompany.com/collection/project/_git/somerepos?version=v1.0.0",
			repository{"https://itfs.mycompany.com/collection/project/_git/somerepos", ".", "v1.0.0"},
		},
		{
			"https://itfs.mycompany.com/collection/project/_git/somerepos/somedir?version=v1.0.0",
			repository{"https://itfs.mycompany.com/collection/project/_git/somerepos", "somedir", "v1.0.0"},
		},
		{
			"git::https://itfs.mycompany.com/collection/project/_git/somerepos",
			repository{"https://itfs.mycompany.com/collection/project/_git/somerepos", ".", ""},
		},
		{
			"https://bitbucket.example.com/scm/project/repository.git",
			repository{"https://bitbucket.example.com/scm/project/repository.git", ".", ""},
		},
		{
			"ssh://git-codecommit.us-east-2.amazonaws.com/someorg/somerepo/somepath",
			repository{"ssh://git-codecommit.us-east-2.amazonaws.com/someorg/somerepo", "somepath", ""},
		},
		{"git@github.com/someorg/somerepo/somepath", repository{"git@github.com:someorg/somerepo", "somepath", ""}},
		{
			"https://github.com/kubernetes-sigs/kustomize//examples/multibases/dev/?ref=v1.0.6",
			repository{"https://github.com/kubernetes-sigs/kustomize", "examples/multibases/dev", "v1.0.6"},
		},
		{"file://a/b/c/someRepo.git/somepath?ref=someBranch", repository{"file://a/b/c/someRepo.git", "somepath", "someBranch"}},
		{"file://a/b/c/someRepo//somepath?ref=someBranch", repository{"file://a/b/c/someRepo", "somepath", "someBranch"}},
		{"file://a/b/c/someRepo?ref=someBranch", repository{"file://a/b/c/someRepo", ".", "someBranch"}},
		{"file:///a/b/c/someRepo?ref=someBranch", repository{"file:///a/b/c/someRepo", ".", "someBranch"}},
		{
			"ssh://git@github.com/kubernetes-sigs/kustomize//examples/multibases/dev?ref=v1.0.6",
			repository{"git@github.com:kubernetes-sigs/kustomize", "examples/multibases/dev", "v1.0.6"},
		},
		{"file:///a/b/c/someRepo", repository{"file:///a/b/c/someRepo", ".", ""}},
		{"file:///", repository{"file:///", ".", ""}},
		{
			"https://example.org/path/to/repo//examples/multibases/dev",
			repository{"https://example.org/path/to/repo", "examples/multibases/dev", ""},
		},
		{
			"https://example.org/path/to/repo.git/examples/multibases/dev",
			repository{"https://example.org/path/to/repo.git", "examples/multibases/dev", ""},
		},
		{
			"ssh://alice@example.com/path/to/repo//examples/multibases/dev",
			repository{"ssh://alice@example.com/path/to/repo", "examples/multibases/dev", ""},
		},
		{"https://authority/org/repo?ref=group/version", repository{"https://authority/org/repo", ".", "group/version"}},
		{
			"https://authority/org/repo/?ref=includes_git/for_some_reason",
			repository{"https://authority/org/repo", ".", "includes_git/for_some_reason"},
		},
		{
			"https://authority/org/repo/?ref=includes.git/for_some_reason",
			repository{"https://authority/org/repo", ".", "includes.git/for_some_reason"},
		},
		{
			"https://authority/org/repo/%-invalid-uri-so-not-parsable-by-net/url.Parse",
			repository{"https://authority/org/repo", "%-invalid-uri-so-not-parsable-by-net/url.Parse", ""},
		},
		{
			"ssh://myusername@bitbucket.org/ourteamname/ourrepositoryname.git//path?ref=branch",
			repository{"ssh://myusername@bitbucket.org/ourteamname/ourrepositoryname.git", "path", "branch"},
		},
		{"file://git@home/path/to/repository.git//path?ref=branch", repository{"file://git@home/path/to/repository.git", "path", "branch"}},
		{
			"http://git@home.com/path/to/repository.git//path?ref=branch",
			repository{"http://git@home.com/path/to/repository.git", "path", "branch"},
		},
		{
			"https://git@home.com/path/to/repository.git//path?ref=branch",
			repository{"https://git@home.com/path/to/repository.git", "path", "branch"},
		},
		{
			"ssh://git@ssh.github.com:443/YOUR-USERNAME/YOUR-REPOSITORY.git",
			repository{"ssh://git@ssh.github.com:443/YOUR-USERNAME/YOUR-REPOSITORY.git", ".", ""},
		},
		{"git@gitlab.com/user:name/YOUR-REPOSITORY.git/path", repository{"git@gitlab.com/user:name/YOUR-REPOSITORY.git", "path", ""}},
		{"git@gitlab.com:gitlab-tests/sample-project.git", repository{"git@gitlab.com:gitlab-tests/sample-project.git", ".", ""}},
		{"git@gitlab.com:gitlab-tests/sample-project", repository{"git@gitlab.com:gitlab-tests/sample-project", ".", ""}},
		{
			"https://username@dev.azure.com/org/project/_git/repo//path/to/kustomization/root",
			repository{"https://username@dev.azure.com/org/project/_git/repo", "path/to/kustomization/root", ""},
		},
		{
			"https://org.visualstudio.com/project/_git/repo/path/to/kustomization/root",
			repository{"https://org.visualstudio.com/project/_git/repo", "path/to/kustomization/root", ""},
		},
		{"ssh://org-12345@github.com/kubernetes-sigs/kustomize", repository{"org-12345@github.com:kubernetes-sigs/kustomize", ".", ""}},
		{"org-12345@github.com/kubernetes-sigs/kustomize", repository{"org-12345@github.com:kubernetes-sigs/kustomize", ".", ""}},
		{
			"git@gist.github.com:bc7947cb727d7f9217e7862d961a1ffd.git",
			repository{"git@gist.github.com:bc7947cb727d7f9217e7862d961a1ffd.git", ".", ""},
		},
		{
			"https://gist.github.com/bc7947cb727d7f9217e7862d961a1ffd.git",
			repository{"https://gist.github.com/bc7947cb727d7f9217e7862d961a1ffd.git", ".", ""},
		},
		{"git::https://host/org/repo?version=a&ref=b", repository{"https://host/org/repo", ".", "b"}},
		{"GIT::GitHub.com:org/repo", repository{"https://github.com/org/repo", ".", ""}},
	} {
		got, err := parseRepository(tt.ref)
		if err != nil || got != tt.want {
			t.Errorf("%s: got %+v, %v, want %+v", tt.ref, got, err, tt.want)
		}
	}
	for _, ref := range []string{
		"/tmp",
		"../../tmp",
		"src/github.com/org/repo/path",
		"iauhsdiuashduas",
		"htxxxtp://github.com/",
		"ssh://git.example.com",
		"git::___",
		"https://host?ref=group/version/minor_version",
		"https://github.com/org/repo.git//path/../../exits/repo",
		"github.com!org/repo.git//path",
		"gh:org/repo",
		"https://github.com/thisisa404.yaml",
		"file:////tmp//path/to/whatever",
		"git@scp://github.com/org/repo.git//path",
		"git@ssh://github.com/org/repo.git//path",
	} {
		if got, err := parseRepository(ref); err == nil {
			t.Errorf("%s: got %+v", ref, got)
		}
	}
}
