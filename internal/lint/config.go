package lint

import (
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/plan"
	"github.com/argosy-cd/argosy/internal/strict"
)

// ConfigName is the name of the configuration file in the top directory of a repository.
const ConfigName = ".argosy-lint.yaml"

// Config is the configuration file. The zero Config changes nothing.
type Config struct {
	FailOn string    `field:"failOn" enum:"error|warning|info|never" doc:"lowest severity that makes the exit code 3; --fail-on wins; default error"`
	Rules  []Setting `field:"rules" doc:"severities of rules; if several match a finding, the last one wins"`
}

// Setting gives a rule another severity.
type Setting struct {
	Rule     string   `field:"rule,required" doc:"name of a rule, as argosy lint --list prints it"`
	Severity string   `field:"severity,required" enum:"off|info|warning|error" doc:"severity of its findings; off leaves them out"`
	Files    []string `field:"files" doc:"only findings in these files; * matches in one directory, a pattern that ends with / everything below it"`
	Names    []string `field:"names" doc:"only findings about these Applications and sets; * matches any characters but /"`
	Reason   string   `field:"reason" doc:"why; a rule that is off needs one"`
}

// off leaves findings out.
const off = "off"

// ParseConfig reads a configuration file.
func ParseConfig(file string, data []byte) (Config, error) {
	var c Config
	doc, err := strict.Decode(file, data, &c)
	if doc == nil {
		return c, err
	}
	errs := []error{err}
	for i, s := range c.Rules {
		at := "rules" + strict.Index(i)
		if _, err := Find(s.Rule); err != nil && s.Rule != "" {
			errs = append(errs, doc.Errorf(at+".rule", "there is no rule %q; argosy lint --list prints all rules", s.Rule))
		}
		if s.Severity == off && strings.TrimSpace(s.Reason) == "" {
			errs = append(errs, doc.Errorf(at+".severity", "a rule that is off needs a reason"))
		}
		for _, list := range [][]string{s.Files, s.Names} {
			for _, pattern := range list {
				if _, err := path.Match(pattern, ""); err != nil {
					errs = append(errs, doc.Errorf(at, "%q is not a pattern", pattern))
				}
			}
		}
	}
	return c, errors.Join(errs...)
}

// ConfigSchema is the JSON Schema of the configuration file.
func ConfigSchema() map[string]any {
	return strict.Schema("https://argosy.dev/schemas/lint.json", "Argosy lint ("+ConfigName+")", Config{})
}

// severity returns the severity of a finding, and whether it is reported at all.
func (c Config) severity(f Finding) (plan.Severity, bool) {
	severity := f.Rule.Severity
	if f.Rule.Off {
		severity = off
	}
	for _, s := range c.Rules {
		if s.Rule == f.Rule.Name && matches(s.Files, f.named, true) && matchesAny(s.Names, f.Subjects) {
			severity = plan.Severity(s.Severity)
		}
	}
	return severity, severity != off
}

// uses reports whether findings of a rule can be in a report.
func (c Config) uses(r Rule) bool {
	return !r.Off || slices.ContainsFunc(c.Rules, func(s Setting) bool { return s.Rule == r.Name && s.Severity != off })
}

// matches reports whether one of the patterns matches a name; no patterns match all.
func matches(patterns []string, name string, below bool) bool {
	for _, p := range patterns {
		if ok, err := path.Match(p, name); ok && err == nil || below && strings.HasSuffix(p, "/") && strings.HasPrefix(name, p) {
			return true
		}
	}
	return len(patterns) == 0
}

func matchesAny(patterns, names []string) bool {
	for _, name := range names {
		if matches(patterns, name, false) {
			return true
		}
	}
	return len(patterns) == 0
}
