package argo

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// Parameter is a parameter of a plugin: plugin.parameters of an Application.
type Parameter struct {
	Name    string
	Title   string
	Help    string
	Default string // what holds when it is not set, in words if it has no value
}

// Call is what Argo CD passes to a plugin about an application.
type Call struct {
	App          string // its name
	AppNamespace string // its own namespace; "" is Argo CD's
	Namespace    string // that of its destination
	Project      string
	Revision     string
	RepoURL      string
	Path         string // in the repository
	Target       string // revision that the application names
	KubeVersion  string
	APIVersions  []string

	parameters map[string]string
}

// NewCall reads a plugin's environment. Parameters that the plugin does not know are an error: a misspelt one would do
// nothing, silently.
func NewCall(getenv func(string) string, known []Parameter) (Call, error) {
	c := Call{
		App: getenv("ARGOCD_APP_NAME"), Namespace: getenv("ARGOCD_APP_NAMESPACE"), Project: getenv("ARGOCD_APP_PROJECT_NAME"),
		Revision: getenv("ARGOCD_APP_REVISION"), RepoURL: getenv("ARGOCD_APP_SOURCE_REPO_URL"), Path: getenv("ARGOCD_APP_SOURCE_PATH"),
		Target: getenv("ARGOCD_APP_SOURCE_TARGET_REVISION"), KubeVersion: getenv("KUBE_VERSION"),
		parameters: map[string]string{},
	}
	app := Instance(c.App, "")
	c.AppNamespace, c.App = app.Namespace, app.Name
	if v := getenv("KUBE_API_VERSIONS"); v != "" {
		c.APIVersions = strings.Split(v, ",")
	}
	for _, p := range known {
		if v := getenv(Variable(p.Name)); v != "" {
			c.parameters[p.Name] = v
		}
	}
	return c, check(getenv("ARGOCD_APP_PARAMETERS"), known)
}

// Variable is the environment variable in which Argo CD passes a parameter.
func Variable(parameter string) string {
	return "PARAM_" + strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' {
			return r - 'a' + 'A'
		}
		if r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' {
			return r
		}
		return '_'
	}, parameter)
}

// maxProblems bounds the parameters that are reported as wrong.
const maxProblems = 20

// check refuses parameters that are not known.
func check(all string, known []Parameter) error {
	if all == "" {
		return nil
	}
	var set []struct {
		Name  string             `json:"name"`
		Array *[]string          `json:"array"`
		Map   *map[string]string `json:"map"`
	}
	if err := json.Unmarshal([]byte(all), &set); err != nil {
		return errors.New("ARGOCD_APP_PARAMETERS: not a list of parameters")
	}
	list := make([]givenParameter, len(set))
	for i, p := range set {
		list[i] = givenParameter{p.Name, p.Array == nil && p.Map == nil}
	}
	return refuse(list, known)
}

// CheckParameters refuses the same parameters as NewCall, of the plugin of a source.
func CheckParameters(plugin map[string]any, known []Parameter) error {
	all, _ := plugin["parameters"].([]any)
	list := make([]givenParameter, len(all))
	for i, p := range all {
		m, _ := p.(map[string]any)
		list[i] = givenParameter{manifest.String(m, "name"), m["array"] == nil && m["map"] == nil}
	}
	return refuse(list, known)
}

// givenParameter is a parameter of an application, without its value.
type givenParameter struct {
	name string
	text bool // or nothing
}

func refuse(list []givenParameter, known []Parameter) error {
	var names []string
	for _, p := range known {
		names = append(names, p.Name)
	}
	var errs []error
	for i, p := range list {
		if len(errs) == maxProblems {
			errs = append(errs, fmt.Errorf("plugin.parameters: the other %d are not checked", len(list)-i))
			break
		}
		switch {
		case !slices.Contains(names, p.name):
			errs = append(errs, fmt.Errorf("plugin.parameters: there is no parameter %q; they are %s", words.Shorten(p.name, 100),
				strings.Join(names, ", ")))
		case !p.text:
			errs = append(errs, fmt.Errorf("plugin.parameters: %s must be a string", p.name))
		}
	}
	return errors.Join(errs...)
}

// callJSON is a Call with everything in it.
type callJSON struct {
	Call       plainCall         `json:"call"`
	Parameters map[string]string `json:"parameters,omitempty"`
}

type plainCall Call

// MarshalJSON implements json.Marshaler. It encodes all of the call.
func (c Call) MarshalJSON() ([]byte, error) {
	return json.Marshal(callJSON{plainCall(c), c.parameters})
}

// UnmarshalJSON implements json.Unmarshaler.
func (c *Call) UnmarshalJSON(data []byte) error {
	var j callJSON
	if err := json.Unmarshal(data, &j); err != nil {
		return err
	}
	*c = Call(j.Call)
	c.parameters = j.Parameters
	return nil
}

// Parameter returns the value of a parameter, "" if it is not set.
func (c Call) Parameter(name string) string { return c.parameters[name] }

// Flag reads the value of a parameter that is true or false, false if it is not set.
func Flag(parameter, value string) (bool, error) {
	switch value {
	case "true":
		return true, nil
	case "", "false":
		return false, nil
	}
	return false, fmt.Errorf("plugin.parameters: %s must be true or false, it is %q", parameter, words.Shorten(value, 100))
}

// Origin tells the sources of one application apart, in a few characters. SourceOrigin finds the same in its spec. A call for another
// revision than the application's has another one.
func (c Call) Origin() string { return origin(c.RepoURL, c.Path, c.Target) }

// SourceOrigin is the Origin of calls for a source of an Application.
func SourceOrigin(source map[string]any) string {
	return origin(manifest.String(source, "repoURL"), manifest.String(source, "path"), manifest.String(source, "targetRevision"))
}

// origin does not care how a URL is spelt: Argo CD tells plugins the URL of its Secret, which may be spelt in another way.
func origin(url, dir, target string) string {
	scheme, rest, _ := strings.Cut(giturl.Canonical(url), "://")
	sum := sha256.Sum256([]byte(scheme + "\x00" + rest + "\x00" + path.Clean(dir) + "\x00" + target))
	return hex.EncodeToString(sum[:4])
}
