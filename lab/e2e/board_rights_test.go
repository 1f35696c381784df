package e2e

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/argosy-cd/argosy/lab"
)

// ask sends a request with a token, and returns the status and the body.
func (k *kit) ask(method, url, token string, body any) (int, string) {
	k.Helper()
	var data []byte
	if body != nil {
		var err error
		data, err = json.Marshal(body)
		k.must(err)
	}
	request, err := http.NewRequestWithContext(k.ctx, method, url, bytes.NewReader(data))
	k.must(err)
	request.Header.Set("Content-Type", "application/json")
	if token != "" {
		request.Header.Set("Authorization", "Bearer "+token)
	}
	answer, err := http.DefaultClient.Do(request)
	k.must(err)
	defer answer.Body.Close()
	out, err := io.ReadAll(answer.Body)
	k.must(err)
	return answer.StatusCode, string(out)
}

// token makes a token of an account of Argo CD, which may have been made a moment ago.
func (k *kit) token(account, id string, seconds int) string {
	k.Helper()
	for {
		status, body := k.ask(http.MethodPost, k.lab.ArgoCDURL+"/api/v1/account/"+account+"/token", k.lab.ArgoCDToken,
			map[string]any{"name": account, "id": id, "expiresIn": seconds})
		var made struct{ Token string }
		if status == http.StatusOK && json.Unmarshal([]byte(body), &made) == nil {
			return made.Token
		}
		k.pause(fmt.Sprintf("a token of %s: %d %s", account, status, body))
	}
}

// pause waits before something is tried again, and ends the test if it took too long.
func (k *kit) pause(last string) {
	k.Helper()
	select {
	case <-k.ctx.Done():
		k.Fatal(last)
	case <-time.After(300 * time.Millisecond):
	}
}

// listed are the names of the Applications that Argo CD lists for a token, without those of other tests.
func (k *kit) listed(token string) []string {
	k.Helper()
	_, body := k.ask(http.MethodGet, k.lab.ArgoCDURL+"/api/v1/applications", token, nil)
	var list struct {
		Items []struct{ Metadata struct{ Name string } }
	}
	k.must(json.Unmarshal([]byte(body), &list))
	var out []string
	for _, i := range list.Items {
		out = append(out, i.Metadata.Name)
	}
	slices.Sort(out)
	return out
}

// shown are the names of the Applications on a board for a token.
func (k *kit) shown(board, token string) (names []string, body string) {
	k.Helper()
	status, body := k.ask(http.MethodGet, board+"api/scene", token, nil)
	if status != http.StatusOK {
		k.Fatalf("%d %s", status, body)
	}
	var answer struct{ Scene boardScene }
	k.must(json.Unmarshal([]byte(body), &answer))
	for _, a := range answer.Scene.Apps {
		if !a.Set {
			names = append(names, a.Name)
		}
	}
	slices.Sort(names)
	return names, body
}

// stream is what a browser hears.
type stream struct {
	lines chan string // closed when the server ends it
	all   []string
}

// listen opens the events of a board.
func (k *kit) listen(board, token string) *stream {
	k.Helper()
	request, err := http.NewRequestWithContext(k.ctx, http.MethodGet, board+"api/events", nil)
	k.must(err)
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(request) //nolint:bodyclose // closed below
	k.must(err)
	s := &stream{lines: make(chan string, 1000)}
	go func() {
		defer close(s.lines)
		defer answer.Body.Close()
		in := bufio.NewScanner(answer.Body)
		in.Buffer(nil, 8<<20)
		for in.Scan() {
			s.lines <- in.Text()
		}
	}()
	return s
}

// until reads events until one has a text; "" is the end of the stream.
func (s *stream) until(ctx context.Context, text string) bool {
	for {
		select {
		case <-ctx.Done():
			return false
		case line, ok := <-s.lines:
			if !ok {
				return text == ""
			}
			s.all = append(s.all, line)
			if text != "" && strings.Contains(line, text) {
				return true
			}
		}
	}
}

// teams is a root with an Application of team a that is healthy, one of team b that is not, and a set with one of each.
func (k *kit) teams() (a, b string) {
	k.Helper()
	a, b = k.name+"-alpha", k.name+"-bravo"
	for _, team := range []string{a, b} {
		k.apply(fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: AppProject
metadata: {name: %s, namespace: argocd}
spec:
  sourceRepos: ['*']
  destinations: [{namespace: '*', server: '*'}]
  clusterResourceWhitelist: [{group: '*', kind: '*'}]
`, team))
	}
	of := func(team, manifest string) string {
		return strings.Replace(manifest, "project: default", "project: "+team, 1)
	}
	set := fmt.Sprintf(`apiVersion: argoproj.io/v1alpha1
kind: ApplicationSet
metadata: {name: %[1]s-set, namespace: argocd}
spec:
  generators: [{list: {elements: [{team: %[1]s-alpha}, {team: %[1]s-bravo}]}}]
  template:
    metadata: {name: "{{team}}-of-set"}
    spec:
      project: "{{team}}"
      source: {repoURL: %[2]s, targetRevision: main, path: good}
      destination: {server: "https://kubernetes.default.svc", namespace: %[1]s}
      syncPolicy: {automated: {}, syncOptions: [CreateNamespace=true]}
`, k.name, k.repo.URL)
	k.commit(map[string]string{
		"good/x.yaml": configMap("good", "1"), "bad/x.yaml": deployment("bravo-workload", false),
		"root/a.yaml": of(a, k.app(app{name: a + "-first", path: "good", wave: "0"})), "root/set.yaml": set,
		"root/b.yaml": of(b, k.app(app{name: b + "-first", path: "bad", wave: "1"})),
		"root/c.yaml": of(a, k.app(app{name: a + "-later", path: "good", wave: "2"})),
	})
	return a, b
}

// TestBoardRights shows a boot to people whose rights Argo CD's own RBAC decides: each sees the Applications that Argo CD lists for them, and
// no word about others. Tokens that are wrong, expired or revoked are refused, also while a page is open.
func TestBoardRights(t *testing.T) {
	k := newKit(t, "boardrights")
	a, b := k.teams()
	k.settings(map[string]string{"accounts.ann": "apiKey", "accounts.bob": "apiKey"})
	policy := func(lines ...string) {
		k.must(k.lab.Patch(k.ctx, "ConfigMap", lab.Namespace, "argocd-rbac-cm",
			dataPatch(map[string]string{"policy.csv": strings.Join(append(lines, "g, lab, role:admin"), "\n")})))
	}
	t.Cleanup(func() {
		k.ctx = context.Background()
		policy()
	})
	annMay, bobMay := "p, ann, applications, get, "+a+"/*, allow", "p, bob, applications, get, default/"+k.name+"-root, allow"
	policy(annMay, bobMay)
	root := k.root()
	k.wait(b+"-first", func(o *unstructured.Unstructured) bool { return text(o, "status", "health", "status") == "Progressing" })
	k.wait(a+"-of-set", func(o *unstructured.Unstructured) bool { return text(o, "status", "health", "status") == "Healthy" })
	ann, bob, short := k.token("ann", "laptop", 0), k.token("bob", "phone", 0), k.token("ann", "short", 1)
	for want := []string{a + "-first", a + "-of-set"}; !slices.Equal(k.listed(ann), want) || !slices.Equal(k.listed(bob), []string{root}); {
		k.pause("Argo CD lists " + fmt.Sprint(k.listed(ann), k.listed(bob)))
	}

	board := k.board("--kubeconfig", k.lab.Kubeconfig, "--argocd", k.lab.ArgoCDURL)
	for { // the first list takes a moment
		if names, _ := k.shown(board, k.lab.ArgoCDToken); len(names) > 3 {
			break
		}
		k.pause("the board has no Applications")
	}
	hidden := map[string][]string{ann: {b, "bravo", root, a + "-later", `"bad"`}, bob: {a, b, "alpha", "bravo"}}
	silent := func(token, what, body string) {
		t.Helper()
		for _, word := range hidden[token] {
			if i := strings.Index(body, word); i >= 0 {
				t.Errorf("%s: %q is told: …%s…", what, word, body[max(0, i-80):min(len(body), i+80)])
			}
		}
	}
	for token, apps := range map[string][]string{ann: {a + "-first", a + "-of-set"}, bob: {root}} {
		names, body := k.shown(board, token)
		if listed := k.listed(token); !slices.Equal(names, listed) || !slices.Equal(names, apps) {
			t.Errorf("the board shows %q, Argo CD lists %q", names, listed)
		}
		silent(token, "scene", body)
		for _, app := range apps {
			status, why := k.ask(http.MethodGet, board+"api/why?app="+url.QueryEscape("argocd/"+app), token, nil)
			if status != http.StatusOK {
				t.Errorf("why %s: %d %s", app, status, why)
			}
			silent(token, "why", why)
			status, detail := k.ask(http.MethodGet, board+"api/app?app="+url.QueryEscape("argocd/"+app), token, nil)
			if status != http.StatusOK {
				t.Errorf("app %s: %d %s", app, status, detail)
			}
			if app != root { // Argo CD itself shows bob which objects the root has
				// Her own Application says who deploys it, in Argo CD as well.
				silent(token, "app", strings.ReplaceAll(detail, "tracking-id: "+root, ""))
			}
		}
		for _, key := range []string{"argocd/" + b + "-first", "argocd/" + a + "-later", "set:argocd/" + k.name + "-set", ""} {
			for _, path := range []string{"api/why", "api/app"} {
				if status, body := k.ask(http.MethodGet, board+path+"?app="+url.QueryEscape(key), token, nil); status < 400 || strings.Contains(body, "bravo") {
					t.Errorf("%s of %q: %d %s", path, key, status, body)
				}
			}
		}
	}
	if names, _ := k.shown(board, k.lab.ArgoCDToken); !slices.Contains(names, b+"-first") || !slices.Contains(names, root) {
		t.Errorf("an administrator sees %q", names)
	}

	// What others do is not heard: the Application of team b is mended, and then that of team a changes.
	heard := k.listen(board, ann)
	if !heard.until(k.ctx, a+"-first") {
		t.Fatal("ann hears nothing")
	}
	k.commit(map[string]string{"bad/x.yaml": deployment("bravo-workload", true)})
	k.wait(a+"-later", func(o *unstructured.Unstructured) bool { return text(o, "status", "health", "status") == "Healthy" })
	hidden[ann] = slices.DeleteFunc(hidden[ann], func(w string) bool { return w == a+"-later" })
	if !heard.until(k.ctx, a+"-later") {
		t.Error("ann does not hear of a new Application of her team")
	}
	silent(ann, "events", strings.Join(heard.all, "\n"))

	// Tokens that are none any more.
	for name, token := range map[string]string{"none": "", "garbage": "x", "forged": ann[:len(ann)-6] + "AAAAAA", "expired": short} {
		for status := 0; status != http.StatusUnauthorized; {
			if status, _ = k.ask(http.MethodGet, board+"api/scene", token, nil); status == http.StatusOK {
				if name != "expired" {
					t.Fatalf("a token that is %s is accepted", name)
				}
				k.pause("an expired token is accepted")
			}
		}
	}
	policy(bobMay)
	if !heard.until(k.ctx, `"gone":[`) {
		t.Error("ann has lost her rights, and still sees Applications")
	}
	policy(annMay, bobMay)
	if status, body := k.ask(http.MethodDelete, k.lab.ArgoCDURL+"/api/v1/account/ann/token/laptop", k.lab.ArgoCDToken, nil); status != http.StatusOK {
		t.Fatalf("%d %s", status, body)
	}
	if !heard.until(k.ctx, "") {
		t.Error("a revoked token still has its page")
	}
	if status, body := k.ask(http.MethodGet, board+"api/scene", ann, nil); status != http.StatusUnauthorized {
		t.Errorf("a revoked token: %d %s", status, body)
	}
	if names, _ := k.shown(board, bob); !slices.Equal(names, []string{root}) {
		t.Errorf("bob sees %q", names)
	}
}
