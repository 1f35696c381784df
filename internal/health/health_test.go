package health

import (
	"strings"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/manifest"
)

func object(t *testing.T, text string) manifest.Object {
	t.Helper()
	v, err := manifest.Value([]byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return v.(map[string]any)
}

func TestLua(t *testing.T) {
	o := object(t, "{apiVersion: x/v1, kind: X, metadata: {name: a}, status: {count: 3, list: [a, b], ok: true, f: 1.5}}")
	for name, c := range map[string]struct {
		script string
		open   bool
		want   string // status: message, or an error
	}{
		"table":          {script: `return {status = "Healthy", message = obj.metadata.name}`, want: "Healthy: a"},
		"values":         {script: `if obj.status.count == 3 and obj.status.list[2] == "b" and obj.status.ok and obj.status.f == 1.5 and obj.spec == nil then return {status = "Degraded"} end`, want: "Degraded: "},
		"a global":       {script: `hs = {}; hs.status = "Progressing"; hs.message = ""; return hs`, want: "Progressing: "},
		"nothing":        {script: `local x = 1`, want: ": "},
		"an empty table": {script: `return {}`, want: ": "},
		"a list":         {script: `return {"Healthy"}`, want: ": "},
		"no word": {
			script: `return {status = "Great"}`,
			want:   `Unknown: the script returns the status "Great", which Argo CD does not know`,
		},
		"no status": {script: `return {message = "x"}`, want: `Unknown: the script returns the status ""`},
		"a number":  {script: `return {status = 5}`, want: ": "},
		"a string":  {script: `return "Healthy"`, want: "error: it must return a table, it returns a string"},
		"mixed":     {script: `return {"x", status = "Healthy"}`, want: "error: the table that it returns has keys of several types"},
		"a function": {
			script: `return {status = "Healthy", f = function() end}`,
			want:   "error: the table that it returns has a function in it",
		},
		"syntax": {script: `return {`, want: "error: <string> at EOF: syntax error"},
		"nil": {
			script: `return {status = obj.spec.x}`,
			want:   "error: <string>:1: attempt to index a non-table object(nil) with key 'x'",
		},
		"no string": {
			script: `return {status = string.upper("x")}`,
			want:   "error: <string>:1: attempt to index a non-table object(nil) with key 'upper'",
		},
		"string": {script: `return {status = "Healthy", message = string.upper("x")}`, open: true, want: "Healthy: X"},
		"gsub":   {script: `return {status = "Healthy", message = string.gsub("a-b-c", "(%w)", function(x) return x .. x end) .. string.gsub("ab", "a", "%0%0") .. string.gsub("ab", "%w", {a = "1"}) .. string.format("%5.2f|%s", 1.5, "x") .. table.concat({"p", "q"}, "+")}`, open: true, want: "Healthy: aa-bb-ccaab1b 1.50|xp+q"},
		"no os": {
			script: `return {status = os.time()}`,
			want:   "error: <string>:1: attempt to index a non-table object(nil) with key 'time'",
		},
		"os by require": {script: `local os = require("os"); return {status = "Healthy", message = "" .. os.time() .. os.date("!%Y-%m-%dT%H:%M:%S%%", 86400)}`, want: "Healthy: 10000000001970-01-02T00:00:00%"},
		"no exit":       {script: `os.exit(1)`, open: true, want: "error: <string>:1: attempt to call a non-function object"},
		"no files":      {script: `dofile("/etc/passwd")`, want: "error: <string>:1: attempt to call a non-function object"},
		"no io":         {script: `io.open("x")`, open: true, want: "error: <string>:1: attempt to index a non-table object(nil)"},
		"no modules":    {script: `require("x")`, want: "error: <string>:1: module x not found"},
		"print":         {script: `print("x"); return {status = "Healthy"}`, want: "Healthy: "},
		"for ever":      {script: `while true do end`, want: "error: it ran for 50ms, which is the limit"},
		"recursion":     {script: `local function f() return 1 + f() end; f()`, want: "error: "},
		"memory":        {script: `local s = "0123456789"; while true do s = s .. s end`, want: "error: it "},
		"one step": {
			script: `return {message = string.rep("x", 1e12)}`, open: true,
			want: "error: <string>:1: string.rep: the result is too large",
		},
	} {
		t.Run(name, func(t *testing.T) {
			limits := Limits{Time: time.Minute, Memory: 64 << 20, Now: func() time.Time { return time.Unix(1_000_000_000, 0) }}
			if strings.Contains(c.want, "it ran for") {
				limits.Time = 50 * time.Millisecond
			}
			h, err := Lua(Script{c.script, c.open}, o, limits)
			got := string(h.Status) + ": " + h.Message
			if err != nil {
				got = "error: " + err.Error()
			}
			if !strings.HasPrefix(got, c.want) || strings.Contains(got, "stack traceback") ||
				(strings.HasSuffix(c.want, ": ") && !strings.HasPrefix(c.want, "error") && got != c.want) {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestCustomizations(t *testing.T) {
	const settings = `apiVersion: v1
kind: ConfigMap
data:
  timeout.reconciliation: 180s
  resource.customizations.health.argoproj.io_Application: a
  resource.customizations.health.Service: b
  resource.customizations.health.*.example.com_*: c
  resource.customizations.useOpenLibs.argoproj.io_Application: "true"
  resource.customizations.actions.argoproj.io_Application: x
  resource.customizations: |
    apps/Deployment:
      health.lua: d
      health.lua.useOpenLibs: true
    argoproj.io/Application: {health.lua: old}
    batch/*: {health.lua: e}
`
	c, err := FromData(manifest.Map(data(t, settings), "data"))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ version, kind, want string }{
		{"argoproj.io/v1alpha1", "Application", "a true"},
		{"v1", "Service", "b false"},
		{"x.example.com/v1", "Any", "c false"},
		{"apps/v1", "Deployment", "d true"},
		{"batch/v1", "Job", "e false"},
		{"v1", "Pod", " false"},
		{"example.com/v1", "Any", " false"},
	} {
		_, s, err := c.find(manifest.Object{"apiVersion": test.version, "kind": test.kind})
		if got := s.Health + map[bool]string{true: " true", false: " false"}[s.OpenLibs]; got != test.want || err != nil {
			t.Errorf("%s %s: %q, %v", test.version, test.kind, got, err)
		}
	}
	c["batch/J*"] = Script{Health: "f"}
	if _, _, err := c.find(manifest.Object{"apiVersion": "batch/v1", "kind": "Job"}); err == nil ||
		!strings.Contains(err.Error(), "batch/*, batch/J*") {
		t.Error(err)
	}
	all, err := FromData(data(t, "resource.customizations.health.all: z\n"))
	if _, s, _ := all.find(manifest.Object{"apiVersion": "a/v1", "kind": "B"}); err != nil || s.Health != "z" {
		t.Errorf("%v, %v", s, err)
	}
	for text, want := range map[string]string{
		"resource.customizations.health.a_b_c: x":        `resource.customizations.health.a_b_c: "a_b_c" must be GROUP_KIND or KIND`,
		"resource.customizations.health.a_b: 1":          "resource.customizations.health.a_b: must be a string, it is a number",
		"resource.customizations.actions.a_b_c: x":       `resource.customizations.actions.a_b_c: "a_b_c" must be GROUP_KIND or KIND`,
		"resource.customizations.useOpenLibs.a_b: maybe": "resource.customizations.useOpenLibs.a_b: must be true or false",
		"resource.customizations: '[]'":                  "resource.customizations: must be an object as YAML, it is a list",
		"resource.customizations: 'a/B: 1'":              "resource.customizations: a/B must be an object, it is a number",
	} {
		if _, err := FromData(data(t, text)); err == nil || err.Error() != want {
			t.Errorf("%s: %v", text, err)
		}
	}
}

func TestBundledByVersion(t *testing.T) {
	// These are the numbers of health.lua in resource_customizations of 3.2.11, 3.3.18, 3.4.12 and 3.5.6.
	for version, want := range map[versions.Version]int{2: 233, 3: 226, 4: 227, 5: 238, 0: 238} {
		if got := len(BundledKinds(version)); got != want {
			t.Errorf("%s: %d, not %d", version, got, want)
		}
	}
	for _, c := range []struct{ apiVersion, kind, want string }{
		{"gateway.networking.k8s.io/v1", "GatewayClass", "3.5"},
		{"iam.cnrm.cloud.google.com/v1beta1", "IAMPolicy", "3.2 3.3 3.4 3.5"},
		{"x.cnrm.cloud.google.com/v1beta1", "Any", "3.3 3.4 3.5"},
		{"nmstate.io/v1", "NodeNetworkConfigurationPolicy", "3.4 3.5"},
		{"cert-manager.io/v1", "Certificate", "3.2 3.3 3.4 3.5"},
		{"v1", "ConfigMap", ""},
	} {
		var got []string
		for _, v := range versions.All() {
			if Bundled(manifest.Object{"apiVersion": c.apiVersion, "kind": c.kind}, v) {
				got = append(got, v.String())
			}
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s %s: %s", c.apiVersion, c.kind, got)
		}
	}
}

// TestAutoscalerByVersion has the rules of health_hpa.go in Argo CD's gitops-engine, 3.4 and 3.5.
func TestAutoscalerByVersion(t *testing.T) {
	condition := func(kind, status, reason string) any {
		return map[string]any{"type": kind, "status": status, "reason": reason, "message": reason}
	}
	able, limited := condition("AbleToScale", "True", "Ready"), condition("ScalingLimited", "True", "TooMany")
	for name, c := range map[string]struct {
		conditions   []any
		older, newer string
	}{
		"healthy": {[]any{able, limited}, "Healthy Ready", "Healthy Ready"},
		"failure first": {
			[]any{condition("ScalingActive", "False", "InvalidSelector"), able},
			"Degraded InvalidSelector",
			"Degraded InvalidSelector",
		},
		"failure second": {
			[]any{able, condition("ScalingActive", "False", "InvalidSelector")},
			"Healthy Ready",
			"Degraded InvalidSelector",
		},
		"same type": {[]any{able, condition("AbleToScale", "False", "FailedGetScale")}, "Healthy Ready", "Degraded FailedGetScale"},
		"object metric": {
			[]any{condition("ScalingActive", "False", "FailedGetObjectMetric"), able},
			"Healthy Ready",
			"Degraded FailedGetObjectMetric",
		},
		"nothing": {[]any{}, "Progressing it has not scaled yet", "Progressing it has not scaled yet"},
		"an unknown cause": {
			[]any{condition("ScalingActive", "False", "Other")},
			"Progressing it has not scaled yet",
			"Progressing it has not scaled yet",
		},
	} {
		o := manifest.Object{
			"apiVersion": "autoscaling/v2", "kind": "HorizontalPodAutoscaler",
			"status": map[string]any{"conditions": c.conditions},
		}
		for version, want := range map[versions.Version]string{2: c.older, 4: c.older, 5: c.newer, 0: c.newer} {
			h, ok, err := Evaluate(o, nil, Limits{Version: version})
			if got := string(h.Status) + " " + h.Message; got != want || !ok || err != nil {
				t.Errorf("%s, %s: %s, %v", name, version, got, err)
			}
		}
	}
}

// TestBrokenCustomizations keeps the checks that are right.
func TestBrokenCustomizations(t *testing.T) {
	c, err := FromData(map[string]any{
		"resource.customizations":                   "a/B: 1\nc/D: {health.lua: return nil}\ne/F: []\n",
		"resource.customizations.health.g_H":        "return {",
		"resource.customizations.health.i_J":        true,
		"resource.customizations.health.k_L":        "return {}",
		"resource.customizations.useOpenLibs.k_L":   "perhaps",
		"resource.customizations.knownTypeFields.x": "not read",
	})
	const want = `resource.customizations: a/B must be an object, it is a number
resource.customizations: e/F must be an object, it is a list
resource.customizations.health.i_J: must be a string, it is a boolean
resource.customizations.useOpenLibs.k_L: must be true or false`
	if err == nil || err.Error() != want {
		t.Errorf("%v", err)
	}
	if got := strings.Join(manifest.Keys(c), " "); got != "c/D g/H k/L x" {
		t.Errorf("got %s", got)
	}
	if err := c.Check(); err == nil || !strings.HasPrefix(err.Error(), "health check g/H: <string> at EOF: syntax error") ||
		strings.Contains(err.Error(), "\n") {
		t.Errorf("%v", err)
	}
}

func data(t *testing.T, text string) map[string]any {
	t.Helper()
	v, err := manifest.Value([]byte(text))
	m, ok := v.(map[string]any)
	if err != nil || !ok {
		t.Fatal(v, err)
	}
	return m
}
