package e2e

import (
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/argosy-cd/argosy/lab"
)

const secret = "a-secret-of-the-webhook"

// eventsRights applies what deploy/ gives the receiver of notifications, and returns how to use it.
func (k *kit) eventsRights() (kubeconfig string) {
	k.Helper()
	out, err := exec.CommandContext(k.ctx, k.lab.Tools.Path("kustomize"), "build", "../../deploy/kustomize/events").CombinedOutput()
	if err != nil {
		k.Fatalf("%v\n%s", err, out)
	}
	k.must(k.lab.Validate(k.ctx, string(out)))
	for _, doc := range strings.Split(string(out), "\n---\n") {
		var o unstructured.Unstructured
		k.must(yaml.Unmarshal([]byte(doc), &o.Object))
		switch o.GetKind() {
		case "Deployment":
			containers, _, _ := unstructured.NestedSlice(o.Object, "spec", "template", "spec", "containers")
			args, _, _ := unstructured.NestedStringSlice(containers[0].(map[string]any), "args")
			if help := k.argosy(append(args, "--help")...); len(args) < 2 || !strings.Contains(help, "--secrets") {
				k.Errorf("argosy %v: %s", args, help)
			}
		case "Service":
		default:
			k.apply(doc)
		}
	}
	kubeconfig, err = k.lab.ServiceAccount(k.ctx, lab.Namespace, "argosy-events")
	k.must(err)
	return kubeconfig
}

// events starts the receiver of notifications and returns its URL.
func (k *kit) events(env []string, args ...string) string {
	k.Helper()
	kubeconfig := k.eventsRights()
	secrets := filepath.Join(k.TempDir(), "secrets")
	k.must(os.WriteFile(secrets, []byte(secret+"\nanother-one-for-rotation\n"), 0o600))
	address, err := lab.FreeAddress()
	k.must(err)
	env = append(append(k.s3Environment(), "ARGOSY_KUBECONFIG="+kubeconfig, "ARGOSY_ARGOCD_NAMESPACE="+lab.Namespace,
		"ARGOSY_TRIGGER_HOSTS=127.0.0.1"), env...)
	p, err := k.lab.Run(k.ctx, "argosy-events", argosy, append([]string{"events", "--listen", address, "--secrets", secrets}, args...), env,
		lab.Answers("http://"+address+"/readyz"))
	k.must(err)
	k.Cleanup(p.Kill)
	return "http://" + address
}

// gateway starts an S3 server for the same objects that notifies a webhook, and returns its URL.
func (k *kit) gateway(webhook string) string {
	k.Helper()
	address, err := lab.FreeAddress()
	k.must(err)
	env := []string{"ROOT_ACCESS_KEY=" + k.lab.S3AccessKey, "ROOT_SECRET_KEY=" + k.lab.S3SecretKey}
	p, err := k.lab.Run(k.ctx, "s3-gateway", k.lab.Tools.Path("versitygw"),
		[]string{"--port", address, "--event-webhook-url", webhook, "posix", filepath.Join(k.lab.Dir, "s3")}, env, lab.Listens(address))
	k.must(err)
	k.Cleanup(p.Kill)
	return "http://" + address
}

// fresh makes three Applications that deploy a ConfigMap from S3: by a trigger file, by one without self-healing, and by a bucket
// repository. It returns how to write a new value of it.
func (k *kit) fresh() (put func(value string)) {
	k.Helper()
	p := k.name
	k.must(k.lab.Bucket(k.ctx, p))
	policy := filepath.Join(k.TempDir(), "policy.yaml")
	k.must(os.WriteFile(policy, []byte("repositories: {s3: [{buckets: ["+p+"]}]}\n"), 0o644))
	repo, _ := k.triggerServer("1h", append(k.s3Environment(), "ARGOSY_POLICY="+policy)...)
	put = func(value string) {
		k.Helper()
		for _, name := range []string{"file", "once", "git"} {
			k.must(k.lab.Put(k.ctx, p, name+"/cm.yaml", configMap(p+"-"+name, value)))
		}
	}
	put("1")
	k.commit(map[string]string{
		"file/s3-source.yaml": "bucket: " + p + "\npath: file\n",
		"once/s3-source.yaml": "bucket: " + p + "\npath: once\n",
	})
	k.apply(
		k.app(app{name: p + "-file", path: "file", plugin: "s3"}),
		k.app(app{
			name: p + "-once", path: "once", plugin: "s3",
			policy: "{automated: {prune: true}, syncOptions: [CreateNamespace=true, Validate=false]}",
		}),
		k.app(app{
			name: p + "-git", path: ".", repo: &lab.Repo{URL: repo + "/s3/" + p + "/git.git"},
			policy: "{automated: {prune: true}, syncOptions: [CreateNamespace=true, Validate=false]}",
		}),
	)
	return put
}

// TestS3Polling deploys what CI writes to a bucket within the interval, after a restart, too, and says what will not be deployed.
func TestS3Polling(t *testing.T) {
	k := newPatientKit(t, "poll")
	kubeconfig := k.rights()
	sidecar := k.replica(0, kubeconfig, "APPSET_REFRESH_INTERVAL=10s")
	put := k.fresh()
	for _, name := range []string{"poll-file", "poll-once", "poll-git"} {
		k.value("poll", name, "1")
	}
	for i, value := range []string{"2", "3"} {
		if i == 1 {
			// What applications read is not forgotten.
			k.must(sidecar.Restart(k.ctx))
		}
		began := time.Now()
		put(value)
		k.value("poll", "poll-file", value)
		k.value("poll", "poll-git", value)
		t.Logf("deployed after %s", time.Since(began).Round(100*time.Millisecond))
	}
	// Argo CD knows, and does not deploy; its users are told why, once for each change.
	k.await("Application", "poll-once", "sync OutOfSync")
	var warnings []string
	_, err := k.lab.Wait(k.ctx, application, lab.Namespace, "poll-once", func(*unstructured.Unstructured) bool {
		warnings = nil
		names, err := k.lab.Names(k.ctx, "Event", lab.Namespace)
		k.must(err)
		for _, name := range names {
			o, err := k.lab.Get(k.ctx, "Event", lab.Namespace, name)
			k.must(err)
			if o != nil && text(o, "involvedObject", "name") == "poll-once" && text(o, "reason") == "NotDeployed" {
				warnings = append(warnings, text(o, "message"))
			}
		}
		return len(warnings) == 2
	})
	k.must(err)
	t.Log(warnings[0])
	if o, err := k.lab.Get(k.ctx, "ConfigMap", "poll", "poll-once"); err != nil || text(o, "data", "value") != "1" {
		t.Errorf("poll-once was deployed, so the warning is wrong: %v, %v", o, err)
	}
	// Nothing happens while nothing changes.
	count := func() int {
		return k.journal.Count("Application", "poll-file", "refresh hard") + k.journal.Count("Application", "poll-git", "refresh normal")
	}
	before := count()
	if before != 4 {
		t.Errorf("%d refreshes for two changes of two applications", before)
	}
	for try := 0; ; try++ {
		time.Sleep(25 * time.Second)
		after := count()
		if after == before {
			break
		}
		// On a busy machine one may be late; they must not go on.
		if before = after; try == 2 {
			t.Fatal("there are refreshes without a change")
		}
	}
	k.allowed("argosy-cmp-*")
}

// TestWebhook deploys within seconds what an S3 server notifies about, and asks once however often it does.
func TestWebhook(t *testing.T) {
	k := newPatientKit(t, "hook")
	kubeconfig := k.rights()
	k.replica(0, kubeconfig, "APPSET_REFRESH_INTERVAL=1h") // no polling to speak of
	put := k.fresh()
	for _, name := range []string{"hook-file", "hook-once", "hook-git"} {
		k.value("hook", name, "1")
	}
	receiver := k.events(nil)
	gateway := k.gateway(strings.Replace(receiver, "http://", "http://s3:"+secret+"@", 1) + "/webhook")
	endpoint := k.lab.S3Endpoint
	for _, value := range []string{"2", "3"} {
		k.lab.S3Endpoint = gateway
		began := time.Now()
		put(value)
		k.lab.S3Endpoint = endpoint
		k.value("hook", "hook-file", value)
		k.value("hook", "hook-git", value)
		t.Logf("deployed after %s", time.Since(began).Round(10*time.Millisecond))
	}

	// A flood, of an object that has changed once.
	for _, name := range []string{"hook-file", "hook-git"} {
		k.wait(name, func(o *unstructured.Unstructured) bool {
			return text(o, "status", "sync", "status") == "Synced" && o.GetAnnotations()["argocd.argoproj.io/refresh"] == ""
		})
	}
	hard, soft := k.journal.Count("Application", "hook-file", "refresh hard"), k.journal.Count("Application", "hook-git", "refresh normal")
	put("5")
	began := time.Now()
	const total = 10_000
	var accepted atomic.Int64
	var group sync.WaitGroup
	for worker := range 20 {
		group.Go(func() {
			for i := worker; i < total; i += 20 {
				name := []string{"file", "git"}[i%2]
				body := fmt.Sprintf(`{"EventName": "s3:ObjectCreated:Put", "Key": "hook/%s/cm.yaml", "Records": [{"eventName": "s3:ObjectCreated:Put", "s3": {"bucket": {"name": "hook"}, "object": {"key": "%s%%2Fcm.yaml", "sequencer": "%d"}}}]}`, name, name, i)
				if k.post(receiver+"/webhook", body, "Authorization", "Bearer "+secret) == http.StatusNoContent {
					accepted.Add(1)
				}
			}
		})
	}
	group.Wait()
	took := time.Since(began)
	k.value("hook", "hook-git", "5") // the other one waits for Argo CD's backoff of self-healing
	t.Logf("%d notifications in %s", accepted.Load(), took.Round(10*time.Millisecond))
	if accepted.Load() != total {
		t.Errorf("%d of %d were accepted", accepted.Load(), total)
	}
	time.Sleep(3 * time.Second) // for a refresh too many
	if n := k.journal.Count("Application", "hook-file", "refresh hard") - hard; n != 1 {
		t.Errorf("%d refreshes of hook-file", n)
	}
	if n := k.journal.Count("Application", "hook-git", "refresh normal") - soft; n != 1 {
		t.Errorf("%d refreshes of hook-git", n)
	}
	// Strangers.
	for what, code := range map[string]int{
		k.refused(receiver, `{"Records": []}`, "Bearer wrong"):            http.StatusUnauthorized,
		k.refused(receiver, `{}`, "Bearer "+secret):                       http.StatusBadRequest,
		k.refused(receiver, strings.Repeat(" ", 2<<20), "Bearer "+secret): http.StatusRequestEntityTooLarge,
	} {
		if !strings.HasPrefix(what, fmt.Sprint(code)) {
			t.Errorf("%s, want %d", what, code)
		}
	}
	metrics := k.get(receiver + "/metrics")
	for _, want := range []string{
		`argosy_events_total{result="unknown sender",sender="webhook"} 1`,
		`argosy_events_total{result="malformed",sender="webhook"} 1`, `argosy_events_total{result="too large",sender="webhook"} 1`,
	} {
		if !strings.Contains(metrics, want) {
			t.Errorf("metrics have no %s", want)
		}
	}
	k.allowed("argosy-events*")
}

func (k *kit) refused(receiver, body, authorization string) string {
	return fmt.Sprint(k.post(receiver+"/webhook", body, "Authorization", authorization), " for ", body[:min(20, len(body))], authorization)
}

// post sends a body and returns the status.
func (k *kit) post(url, body string, headers ...string) int {
	req, err := http.NewRequestWithContext(k.ctx, http.MethodPost, url, bytes.NewReader([]byte(body)))
	if err != nil {
		k.Error(err)
		return 0
	}
	for i := 0; i < len(headers); i += 2 {
		req.Header.Set(headers[i], headers[i+1])
	}
	res, err := http.DefaultClient.Do(req)
	if err != nil {
		k.Error(err)
		return 0
	}
	res.Body.Close()
	return res.StatusCode
}

func (k *kit) get(url string) string {
	k.Helper()
	req, err := http.NewRequestWithContext(k.ctx, http.MethodGet, url, nil)
	k.must(err)
	res, err := http.DefaultClient.Do(req)
	k.must(err)
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	k.must(err)
	return string(data)
}

// TestOneList: 300 applications, each with a path of its own in one bucket, cost one LIST for each tick.
func TestOneList(t *testing.T) {
	k := newPatientKit(t, "list")
	kubeconfig := k.rights()
	k.must(k.lab.Bucket(k.ctx, "list"))
	const total = 300
	files := map[string]string{}
	var apps []string
	for i := range total {
		name := fmt.Sprintf("list-%03d", i)
		k.must(k.lab.Put(k.ctx, "list", name+"/cm.yaml", configMap(name, "1")))
		files[name+"/s3-source.yaml"] = "bucket: list\npath: " + name + "\n"
		apps = append(apps, k.app(app{name: name, path: name, plugin: "s3", policy: "{}"}))
	}
	k.commit(files)
	backend, err := url.Parse(k.lab.S3Endpoint)
	k.must(err)
	var lists atomic.Int64
	proxy := httputil.NewSingleHostReverseProxy(backend)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Query().Get("list-type") == "2" {
			lists.Add(1)
		}
		proxy.ServeHTTP(w, r)
	}))
	defer server.Close()
	k.replica(0, kubeconfig, "APPSET_REFRESH_INTERVAL=10s", "AWS_ENDPOINT_URL_S3="+server.URL)
	began := time.Now()
	k.apply(apps...)
	for i := range total {
		k.await("Application", fmt.Sprintf("list-%03d", i), "sync OutOfSync")
	}
	t.Logf("%d applications were generated after %s", total, time.Since(began).Round(time.Second))
	// Two seconds before a tick, what the last one has caused is over.
	quiet := func() int64 {
		now := time.Now()
		next := now.Truncate(10 * time.Second).Add(8 * time.Second)
		if !next.After(now) {
			next = next.Add(10 * time.Second)
		}
		time.Sleep(time.Until(next))
		return lists.Load()
	}
	before := quiet()
	for range 4 {
		quiet()
	}
	n := lists.Load() - before
	t.Logf("%d listings in 4 ticks", n)
	if n < 3 || n > 5 { // on a machine that is busy one may come late
		t.Errorf("%d listings in 4 ticks", n)
	}
	// And one that has changed is found.
	k.must(k.lab.Put(k.ctx, "list", "list-123/cm.yaml", configMap("list-123", "2")))
	k.await("Application", "list-123", "refresh hard")
	for i := range total {
		name := fmt.Sprintf("list-%03d", i)
		if n := k.journal.Count("Application", name, "refresh hard"); (n != 0) != (i == 123) {
			t.Errorf("%s was asked for %d times", name, n)
		}
	}
}
