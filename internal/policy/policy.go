// Package policy decides, by a file of the administrator, what applications may do with Argosy's credentials, which their
// authors do not have. One file maps Argo CD projects to what they may use:
//
//	projects:
//	  - name: team-*
//	    s3:
//	      - buckets: [artifacts]
//	        prefixes: [apps/team]
//	    applications:
//	      - projects: [team-a]
//	        destinations: [{namespace: team-a-*}]
//
// and what a Git server may serve from buckets to everybody. With a policy, everything is refused that no rule allows. Without one,
// applications read with the identity and from the endpoint of the process, and may not choose others. Applications that are generated for
// a parent have defaults of their own, which hold as long as no entry has rules about them. A refusal names the rule that came nearest.
package policy

import (
	"cmp"
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/argosy-cd/argosy/internal/strict"
)

// File is the policy file.
type File struct {
	Projects     []Project    `field:"projects" doc:"what each Argo CD project may use; rules of several entries that match a project add up"`
	Repositories Repositories `field:"repositories" doc:"what the Git server may serve from S3, to the users of --users, or to every client with --anonymous-buckets"`
}

// Repositories are the rules for reads from the Git server, by everybody who can reach it.
type Repositories struct {
	S3 []S3Rule `field:"s3" doc:"directories in buckets that are served as Git repositories; endpoints and roles do not apply"`
}

// Project has the rules for the applications of a project.
type Project struct {
	Name string   `field:"name,required" doc:"name of an Argo CD project; * stands for any characters"`
	S3   []S3Rule `field:"s3" doc:"what its applications may read from S3"`
	// Applications are rules about what is generated.
	Applications []ApplicationRule `field:"applications" doc:"which Applications its applications may generate. While no entry of the file has such rules, an application may generate for its own project only; one in an administrators' project (--admin-projects), for any project"`
}

// S3Rule allows reads from S3.
type S3Rule struct {
	Buckets   []string `field:"buckets,required" doc:"names of buckets; * stands for any characters"`
	Prefixes  []string `field:"prefixes" doc:"directories in these buckets; * stands for any characters but /. Default: everything in them"`
	Endpoints []string `field:"endpoints" doc:"endpoints that a trigger file may name, such as https://minio.example.com; * stands for any characters but /. Default: only the endpoint that the process uses anyway"`
	Roles     []string `field:"roles" doc:"ARNs of roles that a trigger file may name; * stands for any characters but /. Default: none"`
}

// Policy decides by the rules of a file. A nil Policy applies the defaults without a file.
type Policy struct {
	file string
	File
}

// Parse reads a policy file.
func Parse(file string, data []byte) (*Policy, error) {
	p := &Policy{file: file}
	doc, err := strict.Decode(file, data, &p.File)
	if doc == nil {
		return nil, err
	}
	errs := []error{err}
	check := func(where string, patterns ...string) {
		for _, pattern := range patterns {
			if _, err := path.Match(pattern, ""); (err != nil || pattern == "") && !doc.Wrong(where) {
				errs = append(errs, doc.Errorf(where, "%s: %q is not a pattern", where, pattern))
			}
		}
	}
	rules := func(at string, list []S3Rule) {
		for j, rule := range list {
			at := fmt.Sprintf("%s.s3[%d]", at, j)
			check(at+".buckets", rule.Buckets...)
			check(at+".prefixes", rule.Prefixes...)
			check(at+".endpoints", rule.Endpoints...)
			check(at+".roles", rule.Roles...)
			if len(rule.Buckets) == 0 && doc.Has(at+".buckets") {
				errs = append(errs, doc.Errorf(at+".buckets", "%s.buckets must name a bucket", at))
			}
		}
	}
	rules("repositories", p.Repositories.S3)
	for i, project := range p.Projects {
		at := fmt.Sprintf("projects[%d]", i)
		if doc.Has(at + ".name") {
			check(at+".name", project.Name)
		}
		rules(at, project.S3)
		for j, rule := range project.Applications {
			at := fmt.Sprintf("%s.applications[%d]", at, j)
			check(at+".projects", rule.Projects...)
			check(at+".namespaces", rule.Namespaces...)
			check(at+".repositories", rule.Repositories...)
			check(at+".apis", rule.APIs...)
			for k, d := range rule.Destinations {
				for field, pattern := range map[string]string{"server": d.Server, "name": d.Name, "namespace": d.Namespace} {
					if where := fmt.Sprintf("%s.destinations[%d].%s", at, k, field); doc.Has(where) {
						check(where, pattern)
					}
				}
			}
			if len(rule.Projects) == 0 && doc.Has(at+".projects") {
				errs = append(errs, doc.Errorf(at+".projects", "%s.projects must name a project", at))
			}
		}
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return p, nil
}

// S3Access describes a read of an application from S3.
type S3Access struct {
	Project  string
	Bucket   string
	Path     string // directory or key, without slashes at its ends; "" is the whole bucket
	Endpoint string // "" if the application does not choose one
	Role     string // "" if the application does not choose one
}

// S3 returns nil if the policy allows the access.
func (p *Policy) S3(a S3Access) error {
	if p == nil {
		switch {
		case a.Endpoint != "":
			return errors.New("endpoint is refused: there is no policy file that allows applications to choose one (--policy)")
		case a.Role != "":
			return errors.New("roleARN is refused: there is no policy file that allows applications to choose one (--policy)")
		}
		return nil
	}
	if a.Project == "" {
		return fmt.Errorf("refused by %s: the application's project is not known, ARGOCD_APP_PROJECT_NAME is not set", p.file)
	}
	return p.decide(a.Project, "s3", "nothing in S3", func(project Project) (rules []attempt) {
		for _, rule := range project.S3 {
			rules = append(rules, func() (string, int) { return rule.allows(a) })
		}
		return rules
	})
}

// attempt evaluates a rule: it returns "" or the reason against it, and the number of conditions that passed.
type attempt func() (reason string, passed int)

// decide returns nil if a rule of an entry for the project allows the request, or else the reason of the nearest rule.
func (p *Policy) decide(project, field, nothing string, rules func(Project) []attempt) error {
	nearest, distance := "", -1
	for i, entry := range p.Projects {
		if !match(entry.Name, project) {
			continue
		}
		if distance < 0 {
			nearest, distance = fmt.Sprintf("projects[%d] (%s) allows %s", i, entry.Name, nothing), 0
		}
		for j, rule := range rules(entry) {
			reason, passed := rule()
			if reason == "" {
				return nil
			}
			if passed >= distance {
				nearest, distance = fmt.Sprintf("projects[%d].%s[%d].%s", i, field, j, reason), passed
			}
		}
	}
	if distance < 0 {
		return fmt.Errorf("refused by %s: no entry of projects is for project %q", p.file, project)
	}
	return fmt.Errorf("refused by %s for project %q: %s", p.file, project, nearest)
}

// Repository returns nil if a directory in a bucket may be served as a Git repository. Without a policy none may: the server
// does not know its clients.
func (p *Policy) Repository(bucket, path string) error {
	if p == nil {
		return errors.New("there is no policy file that allows buckets as repositories (--policy, repositories.s3)")
	}
	for _, rule := range p.Repositories.S3 {
		if reason, _ := rule.allows(S3Access{Bucket: bucket, Path: path}); reason == "" {
			return nil
		}
	}
	return fmt.Errorf("refused by %s: no rule of repositories.s3 is for s3://%s/%s", p.file, bucket, path)
}

// allows returns "" or the reason against an access, and the number of conditions that passed.
func (r S3Rule) allows(a S3Access) (reason string, passed int) {
	if !matchAny(r.Buckets, a.Bucket) {
		return fmt.Sprintf("buckets does not include %s", quote(a.Bucket)), 0
	}
	if len(r.Prefixes) > 0 && !below(r.Prefixes, a.Path) {
		return fmt.Sprintf("prefixes does not include %s", quote(cmp.Or(a.Path, "/"))), 1
	}
	if a.Endpoint != "" && !matchAny(trimmed(r.Endpoints), strings.TrimSuffix(a.Endpoint, "/")) {
		return fmt.Sprintf("endpoints does not include %s", quote(a.Endpoint)), 2
	}
	if a.Role != "" && !matchAny(r.Roles, a.Role) {
		return fmt.Sprintf("roles does not include %s", quote(a.Role)), 3
	}
	return "", 4
}

// below reports whether name is one of the prefixes or in one of them: apps/a is no prefix of apps/ab.
func below(prefixes []string, name string) bool {
	elements := strings.Split(name, "/")
	for _, prefix := range prefixes {
		if strings.Trim(prefix, "/") == "" {
			return true
		}
		n := strings.Count(strings.Trim(prefix, "/"), "/") + 1
		if n <= len(elements) && match(strings.Trim(prefix, "/"), strings.Join(elements[:n], "/")) {
			return true
		}
	}
	return false
}

func matchAny(patterns []string, s string) bool {
	for _, p := range patterns {
		if match(p, s) {
			return true
		}
	}
	return false
}

// match reports whether s is, or matches, a pattern that Parse has seen.
func match(pattern, s string) bool {
	ok, err := path.Match(pattern, s)
	return pattern == s || ok && err == nil
}

func trimmed(list []string) []string {
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = strings.TrimSuffix(s, "/")
	}
	return out
}

// Schema returns the JSON Schema of the policy file.
func Schema() map[string]any {
	return strict.Schema("https://argosy.dev/schemas/policy.json", "Argosy policy", File{})
}
