package awsjson_test

import (
	"context"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/bucket/s3/awsjson"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/scm"
	"github.com/argosy-cd/argosy/internal/scm/scmtest"
)

// generate returns the names, URLs and identifiers of a generator's Applications.
func generate(t *testing.T, server, spec string) ([]string, error) {
	t.Helper()
	t.Setenv("AWS_ENDPOINT_URL", server)
	t.Setenv("AWS_ACCESS_KEY_ID", "AKIAEXAMPLE")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "secret-key-of-the-test")
	t.Setenv("AWS_REGION", "eu-west-1")
	docs, err := manifest.Decode("set.yaml", []byte(scmtest.Case{Generator: "scmProvider: {" + spec + "}"}.Set("", true)))
	if err != nil {
		t.Fatal(err)
	}
	set, _, err := appset.Parse(docs[0])
	if err != nil {
		t.Fatal(err)
	}
	asker := &scm.Asker{Client: &scm.Client{Now: time.Now, AWS: &awsjson.Caller{Now: time.Now}}}
	res, err := appset.Generate(context.Background(), appset.Config{APIs: asker, AllowEmpty: true}, set)
	if err != nil {
		return nil, err
	}
	var out []string
	for _, app := range res.Applications[0] {
		a := manifest.Map(app, "metadata", "annotations")
		out = append(out, manifest.String(app, "metadata", "name")+" "+a["organization"].(string)+" "+a["url"].(string)+" "+
			a["repository_id"].(string)[:4]+" "+a["sha"].(string))
	}
	return out, nil
}

// TestCodeCommit: repositories with their account; a repository without a branch is left out; commits are not told.
func TestCodeCommit(t *testing.T) {
	ssh := "ssh://git-codecommit.eu-west-1.amazonaws.com/v1/repos/"
	all := []string{
		"x-web-main 123456789012 " + ssh + "web 1111 ", "x-api-trunk 123456789012 " + ssh + "api 2222 ",
		"x-old-main 123456789012 " + ssh + "old 3333 ", "x-infra.live-main 123456789012 " + ssh + "infra.live 4444 ",
	}
	for spec, want := range map[string][]string{
		`awsCodeCommit: {}`: all,
		`awsCodeCommit: {}, filters: [{repositoryMatch: "^a"}], cloneProtocol: https`:                {"x-api-trunk 123456789012 https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/api 2222 "},
		`awsCodeCommit: {}, filters: [{repositoryMatch: "^a"}], cloneProtocol: https-fips`:           {"x-api-trunk 123456789012 https://git-codecommit-fips.eu-west-1.amazonaws.com/v1/repos/api 2222 "},
		`awsCodeCommit: {tagFilters: [{key: ops}]}`:                                                  all[3:],
		`awsCodeCommit: {}, filters: [{pathsExist: [chart/Chart.yaml], pathsDoNotExist: [chart/x]}]`: {all[0], all[3]},
		`awsCodeCommit: {}, filters: [{pathsExist: [/deploy/]}]`:                                     all[1:2],
		`awsCodeCommit: {allBranches: true}, filters: [{repositoryMatch: web}]`: {
			all[0], "x-web-dev 123456789012 " + ssh + "web 1111 ", "x-web-feature-big-thing 123456789012 " + ssh + "web 1111 ",
		},
	} {
		got, err := generate(t, scmtest.New(t, "awsCodeCommit").URL, spec)
		if err != nil {
			t.Errorf("%s: %v", spec, err)
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("%s: (-want +got):\n%s", spec, diff)
		}
	}
}

func TestErrors(t *testing.T) {
	server := scmtest.New(t, "awsCodeCommit")
	server.Before(func(w http.ResponseWriter, _ *http.Request) bool {
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"__type": "AccessDeniedException", "Message": "User is not authorized"}`))
		return true
	})
	for spec, want := range map[string]string{
		`awsCodeCommit: {}`:                      "CodeCommit_20150413.ListRepositories: AccessDeniedException: User is not authorized",
		`awsCodeCommit: {region: "evil.com/x#"}`: `"evil.com/x#" is not a region of AWS`,
	} {
		if _, err := generate(t, server.URL, spec); err == nil || !strings.Contains(err.Error(), want) ||
			strings.Contains(err.Error(), "secret-key") {
			t.Errorf("%s: %v", spec, err)
		}
	}
}
