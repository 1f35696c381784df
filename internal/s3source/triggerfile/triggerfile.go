// Package triggerfile is s3-source.yaml, the file in an application's directory that says which buckets its manifests are
// in: its table of fields, what they may contain, and what follows from them.
package triggerfile

import (
	"errors"
	"fmt"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/archive"
	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/strict"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Types of sources.
const (
	Manifests = "manifests"
	Archive   = "archive" // one object that holds a directory
	Helm      = "helm"
	Kustomize = "kustomize"
)

// GitPrefix marks a value file beside the trigger file, as Argo CD marks those of another source.
const GitPrefix = "$git/"

// Name is the name of the file.
const Name = "s3-source.yaml"

// Limits of one trigger file.
const (
	maxSources  = 50
	maxPatterns = 100
	maxPattern  = 256
)

// File is the file: one source, or several with common settings.
type File struct {
	Source
	Sources []Source `field:"sources" doc:"several sources, read in order; access fields, bucket and version of the file are their defaults"`
}

// Access has the location of a bucket and the identity that reads it.
type Access struct {
	Bucket         string `field:"bucket" doc:"name of the bucket"`
	Region         string `field:"region" doc:"region of the bucket; default: that of the process (AWS_REGION)"`
	Endpoint       string `field:"endpoint" doc:"URL of an S3-compatible server; must be allowed by a policy file. Default: AWS, or AWS_ENDPOINT_URL_S3 of the process"`
	ForcePathStyle *bool  `field:"forcePathStyle" doc:"put the bucket into the path of URLs and not into the host name; default: true where there is an endpoint"`
	RoleARN        string `field:"roleARN" doc:"role to assume; must be allowed by a policy file"`
	Anonymous      bool   `field:"anonymous" doc:"read a public bucket without credentials"`
}

// Source is a path in a bucket, and how to render it.
type Source struct {
	Access
	Path    string   `field:"path" doc:"directory in the bucket, or key of one archive, chart or manifest; / is the whole bucket. ${version} stands for version"`
	Version string   `field:"version" doc:"informational; a change in Git leads to a new sync. May be used as ${version} in path"`
	Type    string   `field:"type" enum:"manifests|archive|helm|kustomize" doc:"what is there; default: by content"`
	Include []string `field:"include" doc:"read only files that match one of these patterns; * any characters but /, ** any, ? one, [a-z], {a,b}. A pattern without / is for file names in every directory"`
	Exclude []string `field:"exclude" doc:"leave out files that match one of these patterns"`
	Digest  string   `field:"digest" doc:"sha256:… of the content, as printed by argosy s3 push; anything else is refused"`
	Helm    *Chart   `field:"helm" doc:"how to render a chart"`

	at         string // in the file: "" or sources[1]
	versionSet bool
	patterns   filter
}

// URL is where the source is.
func (s Source) URL() bucket.URL { return bucket.URL{Bucket: s.Bucket, Path: s.Path} }

// Field is the field of the file that the source is: "" or "sources[1]".
func (s Source) Field() string { return s.at }

// Keeps reports whether include and exclude let a file through.
func (s Source) Keeps(name string) bool { return s.patterns.keeps(name) }

// Chart has the names that Argo CD gives these settings.
type Chart struct {
	ReleaseName  string         `field:"releaseName" doc:"default: name of the application"`
	Namespace    string         `field:"namespace" doc:"default: namespace of the application's destination"`
	ValueFiles   []string       `field:"valueFiles" doc:"files in the chart or beside the trigger file; $git/… is always beside the trigger file. Later ones win"`
	Values       string         `field:"values" doc:"values as YAML text; win over valueFiles"`
	ValuesObject map[string]any `field:"valuesObject" doc:"values as an object; used instead of values"`
	SkipCRDs     bool           `field:"skipCrds" doc:"leave out the files in crds/"`
	IncludeCRDs  *bool          `field:"includeCRDs" doc:"false is the same as skipCrds: true"`
}

// Parse reads a trigger file and returns its sources, complete and checked.
func Parse(file string, data []byte) ([]Source, error) {
	var t File
	doc, err := strict.Decode(file, data, &t)
	if doc == nil {
		return nil, err
	}
	errs := []error{err}
	sources, err := t.resolve(doc)
	errs = append(errs, err)
	for i := range sources {
		sources[i].versionSet = doc.Has("version") || doc.Has(sources[i].at+".version")
		errs = append(errs, sources[i].check(doc)...)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return sources, nil
}

// resolve returns the list of sources with the defaults of the file.
func (t *File) resolve(doc *strict.Document) ([]Source, error) {
	if !doc.Has("sources") {
		return []Source{t.Source}, nil
	}
	var errs []error
	for _, name := range []string{"path", "type", "include", "exclude", "digest", "helm"} {
		if doc.Has(name) {
			errs = append(errs, doc.Errorf(name, "%s must not be set beside sources; put it into one of them", name))
		}
	}
	if n := len(t.Sources); n == 0 || n > maxSources {
		errs = append(errs, doc.Errorf("sources", "sources must have 1 to %d elements, it has %d", maxSources, n))
	}
	for i := range t.Sources {
		s := &t.Sources[i]
		s.at = fmt.Sprintf("sources[%d]", i)
		for _, d := range []struct{ own, common *string }{
			{&s.Bucket, &t.Bucket},
			{&s.Region, &t.Region},
			{&s.Endpoint, &t.Endpoint},
			{&s.RoleARN, &t.RoleARN},
			{&s.Version, &t.Version},
		} {
			if *d.own == "" {
				*d.own = *d.common
			}
		}
		if s.ForcePathStyle == nil {
			s.ForcePathStyle = t.ForcePathStyle
		}
		if !doc.Has(s.at + ".anonymous") {
			s.Anonymous = t.Anonymous
		}
	}
	return t.Sources, errors.Join(errs...)
}

var (
	bucketPattern  = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{1,253}[A-Za-z0-9]$`)
	digestPattern  = regexp.MustCompile(`^sha256:[0-9a-f]{64}$`)
	rolePattern    = regexp.MustCompile(`^arn:[a-z0-9-]+:iam::[0-9]*:role/[\x21-\x7e]+$`)
	releasePattern = regexp.MustCompile(`^[a-z0-9]([-a-z0-9.]*[a-z0-9])?$`)
	regionPattern  = regexp.MustCompile(`^[a-z0-9-]{1,40}$`)
)

// check completes a source and returns its errors.
func (s *Source) check(doc *strict.Document) []error {
	var errs []error
	bad := func(name, format string, args ...any) {
		at := name
		if s.at != "" {
			at = s.at + "." + name
		}
		if !doc.Wrong(at) {
			errs = append(errs, doc.Errorf(at, "%s %s", at, fmt.Sprintf(format, args...)))
		}
	}
	switch {
	case s.Bucket == "":
		bad("bucket", "must be set")
	case !bucketPattern.MatchString(s.Bucket) || strings.Contains(s.Bucket, ".."):
		bad("bucket", "must be the name of a bucket, it is %q", s.Bucket)
	}
	if cause := s.checkPath(); cause != "" {
		bad("path", "%s", cause)
	}
	if s.Type == Archive && archive.Suffix(s.Path) == "" {
		bad("path", "must be the key of an archive where type is archive, it is %q", s.Path)
	}
	if s.Region != "" && !regionPattern.MatchString(s.Region) {
		bad("region", "must be the name of a region, it is %q", s.Region)
	}
	if cause := CheckEndpoint(s.Endpoint); cause != "" {
		bad("endpoint", "%s", cause)
	}
	if s.ForcePathStyle != nil && s.Endpoint == "" {
		// Without path style the bucket's name is part of the host's.
		bad("forcePathStyle", "requires an endpoint in the file")
	}
	if s.RoleARN != "" && !rolePattern.MatchString(s.RoleARN) {
		bad("roleARN", "must be the ARN of a role, it is %q", s.RoleARN)
	}
	if s.Anonymous && s.RoleARN != "" {
		bad("anonymous", "must not be set together with roleARN")
	}
	if s.Digest != "" && !digestPattern.MatchString(s.Digest) {
		bad("digest", "must be sha256: and 64 hexadecimal digits, it is %q", s.Digest)
	}
	if s.Helm != nil {
		s.checkHelm(bad)
	}
	s.checkFilter(bad)
	return errs
}

func (s *Source) checkHelm(bad func(string, string, ...any)) {
	if s.Type != "" && s.Type != Helm && s.Type != Archive {
		bad("helm", "must not be set where type is %s", s.Type)
	}
	if s.Helm.SkipCRDs && s.Helm.IncludeCRDs != nil && *s.Helm.IncludeCRDs {
		bad("helm.includeCRDs", "and skipCrds contradict each other")
	}
	if n := s.Helm.ReleaseName; n != "" && (!releasePattern.MatchString(n) || len(n) > 53) {
		bad("helm.releaseName", "must be a name that Helm takes: up to 53 letters, digits, - and . in lower case, it is %q", n)
	}
	for i, name := range s.Helm.ValueFiles {
		if !tree.Safe(strings.TrimPrefix(name, GitPrefix)) {
			bad(fmt.Sprintf("helm.valueFiles[%d]", i),
				"must be a file below the chart or below the directory of the trigger file, it is %q", name)
		}
	}
}

func (s *Source) checkFilter(bad func(string, string, ...any)) {
	for _, list := range []struct {
		name     string
		patterns []string
		out      *[]pattern
	}{{"include", s.Include, &s.patterns.include}, {"exclude", s.Exclude, &s.patterns.exclude}} {
		if len(list.patterns) > maxPatterns {
			bad(list.name, "must have at most %d patterns, it has %d", maxPatterns, len(list.patterns))
			continue
		}
		for i, text := range list.patterns {
			if text == "" || len(text) > maxPattern {
				bad(fmt.Sprintf("%s[%d]", list.name, i), "must have 1 to %d characters", maxPattern)
				continue
			}
			p, err := parsePattern(text)
			if err != nil {
				bad(fmt.Sprintf("%s[%d]", list.name, i), "%s, it is %q", err, text)
				continue
			}
			*list.out = append(*list.out, p)
		}
	}
}

// checkPath expands and normalizes the path and returns its error, "" if there is none.
func (s *Source) checkPath() string {
	if s.Path == "" {
		return "must be set; / is the whole bucket"
	}
	written := s.Path
	if strings.Contains(written, "${version}") && s.Version == "" {
		if !s.versionSet {
			return "has ${version}, but version is not set"
		}
		return "" // version is wrong, which is said there
	}
	p := strings.ReplaceAll(written, "${version}", s.Version)
	if i := strings.Index(p, "${"); i >= 0 {
		return fmt.Sprintf("has a placeholder that is not ${version}: %q", p[i:])
	}
	if p == "/" {
		s.Path = ""
		return ""
	}
	if strings.HasPrefix(p, "/") {
		return fmt.Sprintf("must not start with /, write %q", strings.Trim(p, "/"))
	}
	if strings.HasPrefix(p, "s3://") {
		return "must be the path inside the bucket, without s3:// and the bucket's name"
	}
	p = strings.TrimSuffix(p, "/")
	elements := strings.Split(p, "/")
	if slices.Contains(elements, "..") || slices.Contains(elements, ".") || slices.Contains(elements, "") {
		return fmt.Sprintf("must not have empty, . or .. elements, it is %q", p)
	}
	if strings.ContainsFunc(p, func(r rune) bool { return r < ' ' || r == 0x7f }) || len(p) > 1024 {
		return "must have at most 1024 characters and no control characters"
	}
	s.Path = p
	return ""
}

// CheckEndpoint returns the error of an endpoint, "" if there is none. It must not have credentials: they would appear in messages.
func CheckEndpoint(endpoint string) string {
	if endpoint == "" {
		return ""
	}
	u, err := url.Parse(endpoint)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "https" && u.Scheme != "http":
		return "must be a URL such as https://minio.example.com"
	case u.User != nil:
		return "must not contain a user or a password"
	case u.RawQuery != "" || u.ForceQuery || strings.ContainsAny(endpoint, "#%") || u.Path != "" && u.Path != "/":
		return "must be a URL without a path"
	case u.Hostname() == "":
		return "must have a host"
	}
	return ""
}

// Schema returns the JSON Schema of the trigger file.
func Schema() map[string]any {
	return strict.Schema("https://argosy.dev/schemas/s3-source.json", "Argosy S3 source ("+Name+")", File{})
}
