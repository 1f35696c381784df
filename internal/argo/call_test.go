package argo_test

import (
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/argo"
)

func TestCall(t *testing.T) {
	known := []argo.Parameter{{Name: "spec"}, {Name: "max-delete"}, {Name: "allow-empty"}}
	for name, test := range map[string]struct {
		env  map[string]string
		want string // an error
		app  [2]string
	}{
		"all": {
			env: map[string]string{
				"ARGOCD_APP_NAME": "web", "PARAM_SPEC": "x", "PARAM_MAX_DELETE": "5", "PARAM_ALLOW_EMPTY": "true",
				"ARGOCD_APP_PARAMETERS": `[{"name":"spec","string":"x"},{"name":"max-delete","string":"5"}]`,
			},
			app: [2]string{"", "web"},
		},
		"another namespace": {env: map[string]string{
			"ARGOCD_APP_NAME": "team-a_web", "PARAM_SPEC": "x", "PARAM_MAX_DELETE": "5",
			"PARAM_ALLOW_EMPTY": "true",
		}, app: [2]string{"team-a", "web"}},
		"unknown": {
			env:  map[string]string{"ARGOCD_APP_PARAMETERS": `[{"name":"maxdelete","string":"5"}]`},
			want: `plugin.parameters: there is no parameter "maxdelete"; they are spec, max-delete, allow-empty`,
		},
		"a list": {
			env:  map[string]string{"ARGOCD_APP_PARAMETERS": `[{"name":"spec","array":["x"]}]`},
			want: "plugin.parameters: spec must be a string",
		},
		"many": {
			env: map[string]string{"ARGOCD_APP_PARAMETERS": "[" + strings.Repeat(`{"name":"`+strings.Repeat("x", 1000)+`"},`, 99) +
				`{"name":"y"}]`},
			want: strings.Repeat(`plugin.parameters: there is no parameter "`+strings.Repeat("x", 100)+
				` …"; they are spec, max-delete, allow-empty`+"\n", 20) + "plugin.parameters: the other 80 are not checked",
		},
		"not JSON": {env: map[string]string{"ARGOCD_APP_PARAMETERS": `{`}, want: "ARGOCD_APP_PARAMETERS: not a list of parameters"},
	} {
		t.Run(name, func(t *testing.T) {
			c, err := argo.NewCall(func(name string) string { return test.env[name] }, known)
			if err != nil || test.want != "" {
				if err == nil || err.Error() != test.want {
					t.Fatalf("%v, want %q", err, test.want)
				}
				return
			}
			if got := [2]string{c.AppNamespace, c.App}; got != test.app {
				t.Errorf("%v", got)
			}
			if c.Parameter("spec") != "x" || c.Parameter("max-delete") != "5" {
				t.Errorf("%+v", c)
			}
			if ok, err := argo.Flag("allow-empty", c.Parameter("allow-empty")); !ok || err != nil {
				t.Errorf("%v, %v", ok, err)
			}
			if _, err := argo.Flag("max-delete", c.Parameter("max-delete")); err == nil {
				t.Error("5 is neither true nor false")
			}
		})
	}
}
