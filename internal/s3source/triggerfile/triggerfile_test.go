package triggerfile

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

const full = `version: v1
region: eu-west-1
endpoint: https://minio.example.com
forcePathStyle: false
bucket: common
anonymous: true
sources:
  - path: a/${version}/
  - bucket: own
    path: charts/web-${version}.tgz
    version: v2
    region: us-east-1
    anonymous: false
    roleARN: arn:aws:iam::123456789012:role/reader
    type: helm
    include: ["*.yaml"]
    exclude: [tests/**]
    digest: sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef
    helm:
      releaseName: web
      namespace: shop
      valueFiles: [values-prod.yaml, $git/values.yaml]
      values: "a: 1"
      skipCrds: true
  - {path: /}
`

func TestParse(t *testing.T) {
	got, err := Parse("s3-source.yaml", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	no := false
	common := Access{Bucket: "common", Region: "eu-west-1", Endpoint: "https://minio.example.com", ForcePathStyle: &no, Anonymous: true}
	own := Access{
		Bucket: "own", Region: "us-east-1", Endpoint: "https://minio.example.com", ForcePathStyle: &no,
		RoleARN: "arn:aws:iam::123456789012:role/reader",
	}
	want := []Source{
		{Access: common, Path: "a/v1", Version: "v1"},
		{
			Access: own, Path: "charts/web-v2.tgz", Version: "v2", Type: "helm", Include: []string{"*.yaml"}, Exclude: []string{"tests/**"},
			Digest: "sha256:0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef",
			Helm: &Chart{
				ReleaseName: "web", Namespace: "shop", ValueFiles: []string{"values-prod.yaml", "$git/values.yaml"},
				Values: "a: 1", SkipCRDs: true,
			},
		},
		{Access: common, Path: "", Version: "v1"},
	}
	if diff := cmp.Diff(want, got, cmpopts.IgnoreUnexported(Source{})); diff != "" {
		t.Errorf("(-want +got)\n%s", diff)
	}
}

// TestPaths checks what a version in Git can make of a path: never another bucket's, never the parent's.
func TestPaths(t *testing.T) {
	for _, c := range []struct{ path, version, want string }{
		{"apps/demo", "", "apps/demo"},
		{"apps/${version}", "v1.0.0", "apps/v1.0.0"},
		{"apps/${version}", "a/b", "apps/a/b"},
		{"apps/ümlaut dir", "", "apps/ümlaut dir"},
		{"apps/${version}", "..", ""},
		{"apps/${version}", "../../other", ""},
		{"${version}", "/", ""},
		{"apps/${version}", "", ""},
		{"apps//demo", "", ""},
		{"apps/./demo", "", ""},
		{"apps/\x01", "", ""},
		{strings.Repeat("x", 1025), "", ""},
	} {
		s := Source{Path: c.path, Version: c.version}
		if cause := s.checkPath(); (cause == "") != (c.want != "" || c.path == "${version}") || cause == "" && s.Path != c.want {
			t.Errorf("%q with %q: %q, %s", c.path, c.version, s.Path, cause)
		}
	}
}

func TestPatterns(t *testing.T) {
	for text, want := range map[string]string{
		"/a": "must be relative to path, without / or ./ in front", "./a": "must be relative to path, without / or ./ in front",
		"!a": "must not be negated; use exclude, or include", "web/": `must match files, write "web/**"`,
		"a{": "has a { without its }", "a}": "has a } without its {", "[a": "has a [ without its ]", "[]": "has a [ without its ]",
		"[z-a]": "has an invalid character class",
	} {
		if _, err := parsePattern(text); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
}

func TestFilter(t *testing.T) {
	for _, c := range []struct {
		include, exclude string
		keeps, drops     string
	}{
		{"", "", "a.yaml b/c.json", ""},
		{"*.yaml", "", "a.yaml b/c.yaml", "a.json"},
		{"*.{yaml,yml}", "", "a.yaml b/c.yml", "a.json"},
		{"b/*.yaml", "", "b/c.yaml", "a.yaml b/d/c.yaml"},
		{"b/**", "", "b/c.yaml b/d/c.yaml", "a.yaml"},
		{"**", "test*", "a.yaml", "test.yaml b/tests.yaml"},
		{"", "**/tests/**", "a.yaml", "b/tests/a.yaml"},
		{"[ab].yaml", "b.yaml", "a.yaml x/a.yaml", "b.yaml c.yaml"},
		{"[!a].yaml", "", "b.yaml", "a.yaml"},
		{"**/a.yaml", "", "a.yaml b/a.yaml b/c/a.yaml", "ba.yaml"},
		{"{web*,db*}*.yaml", "", "web-1.yaml x/db.yaml", "x.yaml"},
		{"{apps/*,infra}/**", "", "apps/x/y.yaml infra/z.yaml", "apps/y.yaml"},
		{"{a,{b,c}d}.yaml", "", "a.yaml bd.yaml cd.yaml", "b.yaml d.yaml"},
		{"", "b**b.yaml", "b.yaml", "bb.yaml bxb.yaml"},
		{"ü*[é-ü].yaml", "", "übü.yaml", "ab.yaml"},
		{"a.(b)+c?", "", "a.(b)+cd", "aabcd"},
	} {
		s := Source{}
		s.Include, s.Exclude = strings.Fields(c.include), strings.Fields(c.exclude)
		s.checkFilter(func(name, format string, args ...any) { t.Errorf(name+format, args...) })
		for _, name := range strings.Fields(c.keeps) {
			if !s.patterns.keeps(name) {
				t.Errorf("%q %q drops %s", c.include, c.exclude, name)
			}
		}
		for _, name := range strings.Fields(c.drops) {
			if s.patterns.keeps(name) {
				t.Errorf("%q %q keeps %s", c.include, c.exclude, name)
			}
		}
	}
}

// TestSchema checks that the schema for editors and the decoder agree about structure.
func TestSchema(t *testing.T) {
	text, err := json.Marshal(Schema())
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("schema.json", doc); err != nil {
		t.Fatal(err)
	}
	schema, err := c.Compile("schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for in, valid := range map[string]bool{
		full:                                      true,
		"bucket: abc\npath: a\nversion: v1\n":     true,
		"bucket: abc\npath: a\nversion: 1\n":      false,
		"bucket: abc\npath: a\nbuket: x\n":        false,
		"bucket: abc\npath: a\ntype: other\n":     false,
		"bucket: abc\npath: a\nhelm: {x: 1}\n":    false,
		"bucket: abc\npath: a\ninclude: x\n":      false,
		"sources: [{bucket: abc, path: a, b: 1}]": false,
	} {
		v, err := manifest.Value([]byte(in))
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(v)
		if err != nil {
			t.Fatal(err)
		}
		instance, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(instance); (err == nil) != valid {
			t.Errorf("%s: schema: %v", in, err)
		}
		if _, err := Parse("f", []byte(in)); (err == nil) != valid {
			t.Errorf("%s: decoder: %v", in, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(full))
	f.Add([]byte("bucket: test-bucket\npath: apps/demo-app\nversion: v1.0.0\n"))
	f.Add([]byte("sources: [{bucket: abc, path: x.zip, include: ['{a,b}/**']}]"))
	f.Fuzz(func(t *testing.T, data []byte) {
		sources, err := Parse("f.yaml", data)
		if err != nil {
			for line := range strings.Lines(err.Error()) {
				if !strings.HasPrefix(line, "f.yaml:") {
					t.Errorf("no position: %q", line)
				}
			}
			return
		}
		for _, s := range sources {
			if s.Bucket == "" || s.Path != "" && !tree.Safe(s.Path) && !strings.Contains(s.Path, `\`) && s.Path[1] != ':' {
				t.Errorf("%+v", s)
			}
		}
	})
}
