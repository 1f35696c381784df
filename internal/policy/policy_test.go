package policy

import "testing"

const file = `projects:
  - name: team-*
    s3:
      - buckets: [artifacts, "*-public"]
        prefixes: [apps/team/, "charts/*/stable"]
      - buckets: [minio]
        endpoints: ["https://*.example.com", "https://minio:9000/", "http://[::1]:9000"]
        prefixes: ["/"]
        roles: ["arn:aws:iam::1:role/team-*"]
  - name: empty
`

func TestS3(t *testing.T) {
	p, err := Parse("policy.yaml", []byte(file))
	if err != nil {
		t.Fatal(err)
	}
	const refused = "refused by policy.yaml for project "
	for name, c := range map[string]struct {
		access S3Access
		want   string
	}{
		"directory":       {S3Access{"team-a", "artifacts", "apps/team", "", ""}, ""},
		"below":           {S3Access{"team-a", "artifacts", "apps/team/x/y", "", ""}, ""},
		"wildcard bucket": {S3Access{"team-a", "x-public", "charts/a/stable/b.tgz", "", ""}, ""},
		"endpoint, role":  {S3Access{"team-a", "minio", "any/thing", "https://s3.example.com", "arn:aws:iam::1:role/team-a"}, ""},

		"endpoint with a slash": {S3Access{"team-a", "minio", "a", "https://minio:9000", ""}, ""},
		"IPv6":                  {S3Access{"team-a", "minio", "a", "http://[::1]:9000/", ""}, ""},
		"neighbour": {
			S3Access{"team-a", "artifacts", "apps/team-2", "", ""},
			refused + `"team-a": projects[0].s3[0].prefixes does not include "apps/team-2"`,
		},
		"parent": {
			S3Access{"team-a", "artifacts", "apps", "", ""},
			refused + `"team-a": projects[0].s3[0].prefixes does not include "apps"`,
		},
		"whole bucket": {
			S3Access{"team-a", "artifacts", "", "", ""},
			refused + `"team-a": projects[0].s3[0].prefixes does not include "/"`,
		},
		"wildcard, slash": {
			S3Access{"team-a", "x-public", "charts/a/b/stable", "", ""},
			refused + `"team-a": projects[0].s3[0].prefixes does not include "charts/a/b/stable"`,
		},
		"bucket": {
			S3Access{"team-a", "other", "apps/team", "", ""},
			refused + `"team-a": projects[0].s3[1].buckets does not include "other"`,
		},
		"endpoint": {
			S3Access{"team-a", "minio", "a", "https://evil.test/.example.com", ""},
			refused + `"team-a": projects[0].s3[1].endpoints does not include "https://evil.test/.example.com"`,
		},
		"no endpoints": {
			S3Access{"team-a", "artifacts", "apps/team", "https://s3.example.com", ""},
			refused + `"team-a": projects[0].s3[0].endpoints does not include "https://s3.example.com"`,
		},
		"role": {
			S3Access{"team-a", "minio", "a", "", "arn:aws:iam::2:role/team-a"},
			refused + `"team-a": projects[0].s3[1].roles does not include "arn:aws:iam::2:role/team-a"`,
		},
		"empty": {
			S3Access{"empty", "artifacts", "apps/team", "", ""},
			refused + `"empty": projects[1] (empty) allows nothing in S3`,
		},
		"unknown project": {
			S3Access{"other", "artifacts", "apps/team", "", ""},
			`refused by policy.yaml: no entry of projects is for project "other"`,
		},
		"no project": {
			S3Access{"", "artifacts", "apps/team", "", ""},
			"refused by policy.yaml: the application's project is not known, ARGOCD_APP_PROJECT_NAME is not set",
		},
	} {
		t.Run(name, func(t *testing.T) {
			got := ""
			if err := p.S3(c.access); err != nil {
				got = err.Error()
			}
			if got != c.want {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func TestNoPolicy(t *testing.T) {
	var p *Policy
	if err := p.S3(S3Access{"", "any", "a", "", ""}); err != nil {
		t.Error(err)
	}
	for _, a := range []S3Access{{Bucket: "b", Endpoint: "https://x"}, {Bucket: "b", Role: "arn"}} {
		if p.S3(a) == nil {
			t.Errorf("%+v is allowed", a)
		}
	}
}

// TestRepository: without a rule, nothing is served, and a policy for repositories alone gives projects nothing.
func TestRepository(t *testing.T) {
	var none *Policy
	if none.Repository("a", "apps") == nil {
		t.Error("served without a policy")
	}
	p, err := Parse("p.yaml", []byte("repositories: {s3: [{buckets: [a], prefixes: [apps]}]}\n"))
	if err != nil {
		t.Fatal(err)
	}
	for path, ok := range map[string]bool{"apps": true, "apps/x": true, "apps-2": false, "": false} {
		if err := p.Repository("a", path); (err == nil) != ok {
			t.Errorf("%q: %v", path, err)
		}
	}
	if p.Repository("b", "apps") == nil || p.S3(S3Access{Project: "x", Bucket: "a", Path: "apps"}) == nil {
		t.Error("allowed")
	}
}

func TestParse(t *testing.T) {
	_, err := Parse("p.yaml", []byte("projects:\n- name: '[a'\n  s3:\n  - buckets: []\n    prefixes: ['']\n"))
	want := `p.yaml:2:9: projects[0].name: "[a" is not a pattern
p.yaml:5:15: projects[0].s3[0].prefixes: "" is not a pattern
p.yaml:4:14: projects[0].s3[0].buckets must name a bucket`
	if err == nil || err.Error() != want {
		t.Errorf("got\n%v\nwant\n%s", err, want)
	}
}
