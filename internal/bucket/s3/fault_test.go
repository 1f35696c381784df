package s3

import (
	"context"
	"crypto/rand"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
)

// faulty is a proxy in front of the real server, and a store that goes through it.
type faulty struct {
	*buckettest.Proxy
	store  *Store // through the proxy
	direct *Store
}

func newFaulty(t *testing.T) *faulty {
	t.Helper()
	buckettest.Environment(t)
	server := buckettest.Versity(t, "test")
	p := buckettest.NewProxy(t, server)
	return &faulty{p, open(t, p.URL), open(t, server)}
}

func (f *faulty) put(t *testing.T, key, content string) {
	t.Helper()
	if _, err := f.direct.Put(t.Context(), key, []byte(content), bucket.Condition{}); err != nil {
		t.Fatal(err)
	}
}

func (f *faulty) read(t *testing.T) (string, error) {
	t.Helper()
	limits := bucket.DefaultLimits
	limits.Backoff = time.Millisecond
	r := &bucket.Reader{Store: bucket.Coalesce(f.store), Bucket: "test", ID: f.store.ID(), Limits: limits}
	s, err := r.Read(t.Context(), bucket.Request{Path: "p"})
	if err != nil {
		return "", err
	}
	var out []string
	for _, x := range s.Files {
		out = append(out, x.Name+"="+string(x.Data))
	}
	return strings.Join(out, " "), nil
}

// TestFaults lets the real client meet the real server on a bad day.
func TestFaults(t *testing.T) {
	f := newFaulty(t)
	f.put(t, "p/a", "1")
	f.put(t, "p/b", "1")
	var once sync.Once
	change := func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/p/b") {
			once.Do(func() {
				f.put(t, "p/a", "2")
				f.put(t, "p/b", "2")
			})
		}
		return false
	}
	vanish := func(_ http.ResponseWriter, r *http.Request) bool {
		if strings.HasSuffix(r.URL.Path, "/p/b") {
			if err := f.direct.Delete(t.Context(), "p/b"); err != nil {
				t.Error(err)
			}
		}
		return false
	}
	for _, c := range []struct {
		name  string
		fault buckettest.Fault
		want  string
		lists int
	}{
		{"500, twice", buckettest.Times(2, "GET", buckettest.Answer(500, "InternalError")), "a=1 b=1", 2},
		{"503 SlowDown for listings", buckettest.Times(3, "LIST", buckettest.Answer(503, "SlowDown")), "a=1 b=1", 5},
		{"truncated", buckettest.Times(2, "GET", buckettest.Truncate), "a=1 b=1", 2},
		{"connection closed", buckettest.Times(2, "GET", func(http.ResponseWriter, *http.Request) bool {
			panic(http.ErrAbortHandler)
		}), "a=1 b=1", 2},
		{"changed between", buckettest.Times(100, "GET", change), "a=2 b=2", 4},
		{"vanished between", buckettest.Times(100, "GET", vanish), "a=2", 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.Set(c.fault)
			got, err := f.read(t)
			if err != nil || got != c.want {
				t.Errorf("%q, %v; want %q", got, err, c.want)
			}
			// Each attempt lists the path and looks for an index above it; one between the two changes is one more.
			if n := f.Count("LIST"); n != c.lists && (c.lists != 4 || n != 6) {
				t.Errorf("%d listings, want %d", n, c.lists)
			}
		})
	}
}

func TestErrors(t *testing.T) {
	f := newFaulty(t)
	f.put(t, "p/a", "1")
	region := func(status int, code, region string) buckettest.Fault {
		return func(w http.ResponseWriter, r *http.Request) bool {
			w.Header().Set("X-Amz-Bucket-Region", region)
			return buckettest.Answer(status, code)(w, r)
		}
	}
	at := " at " + f.URL
	host := strings.TrimPrefix(f.URL, "http://")
	const list, get = "listing s3://test/p/: ", "reading s3://test/p/a: "
	for _, c := range []struct {
		name, kind string
		fault      buckettest.Fault
		want       string
	}{
		{
			"denied listing", "LIST", buckettest.Answer(403, "AccessDenied"),
			list + "access denied" + at + "; check that the caller's identity may s3:ListBucket on the bucket",
		},
		{
			"denied object", "GET", buckettest.Answer(403, "AccessDenied"),
			get + "access denied" + at + "; check that the caller's identity may s3:GetObject on it",
		},
		{
			"no bucket", "LIST", buckettest.Answer(404, "NoSuchBucket"),
			list + "there is no such bucket" + at + "; check bucket, region and endpoint",
		},
		{
			"wrong region", "LIST", region(301, "PermanentRedirect", "eu-west-1"),
			list + "wrong region: the bucket is in eu-west-1, but us-east-1 was used; set region",
		},
		{
			"wrong region, not told", "LIST", buckettest.Answer(400, "AuthorizationHeaderMalformed"),
			list + "wrong region: us-east-1 was used and the bucket is in another; set region",
		},
		{"expired", "LIST", buckettest.Answer(400, "ExpiredToken"), list +
			"the credentials have expired; renew the session token or the profile"},
		{
			"clock", "LIST", buckettest.Answer(403, "RequestTimeTooSkewed"),
			list + "the clocks of this machine and of the server differ too much; check the time on both",
		},
		{"slow down", "LIST", buckettest.Answer(503, "SlowDown"), list + "the server" + at +
			" answered 503 SlowDown, 5 times; it is overloaded or down"},
		{"down", "GET", buckettest.Answer(500, "InternalError"), get + "the server" + at +
			" answered 500 InternalError, 5 times; it is overloaded or down"},
		{"truncated", "GET", buckettest.Truncate, get + "the answer of the server" + at +
			" ended early, 5 times; check the network and proxies between"},
		{"closed", "LIST", func(http.ResponseWriter, *http.Request) bool {
			panic(http.ErrAbortHandler)
		}, list + host + " closed the connection, 5 times; check endpoint and proxies"},
		{
			"something else", "LIST", buckettest.Answer(418, "Teapot"),
			list + "the server" + at + " answered 418 Teapot: a message with secret words",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			f.Set(buckettest.Times(1000, c.kind, c.fault))
			got, err := f.read(t)
			if err == nil || err.Error() != c.want {
				t.Errorf("%q\ngot  %v\nwant %s", got, err, c.want)
			}
		})
	}
}

func TestWrongCredentials(t *testing.T) {
	f := newFaulty(t)
	const secret = "a-wrong-secret-key"
	for name, c := range map[string]struct{ key, code string }{
		"key":    {"unknown", "XAdminUserNotFound"},
		"secret": {buckettest.AccessKey, "SignatureDoesNotMatch"},
	} {
		t.Setenv("AWS_ACCESS_KEY_ID", c.key)
		t.Setenv("AWS_SECRET_ACCESS_KEY", secret)
		_, err := open(t, f.URL).List(t.Context(), "p/", 10)
		want := "listing s3://test/p/: the server at " + f.URL + " does not know the credentials or their secret (" + c.code +
			"); check where they come from"
		if err == nil || err.Error() != want {
			t.Errorf("%s\ngot  %v\nwant %s", name, err, want)
		}
	}
}

func TestMissingBucket(t *testing.T) {
	buckettest.Environment(t)
	for name, server := range map[string]string{"in process": buckettest.InProcess(t), "real": buckettest.Versity(t)} {
		_, err := open(t, server).List(t.Context(), "p/", 10)
		if err == nil || !strings.Contains(err.Error(), "there is no such bucket at "+server) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

func TestUnreachable(t *testing.T) {
	buckettest.Environment(t)
	closed := httptest.NewServer(nil)
	closed.Close()
	tls := httptest.NewUnstartedServer(http.NotFoundHandler())
	tls.Config.ErrorLog = log.New(io.Discard, "", 0)
	tls.StartTLS()
	defer tls.Close()
	plain := httptest.NewServer(http.NotFoundHandler())
	defer plain.Close()
	for _, c := range []struct{ endpoint, want string }{
		{closed.URL, "no connection to " + strings.TrimPrefix(closed.URL, "http://") +
			": connection refused; check endpoint, network policies and proxies"},
		{"http://no-such-host.invalid", "there is no host no-such-host.invalid; check endpoint, region and DNS"},
		{tls.URL, "the certificate of " + strings.TrimPrefix(tls.URL, "https://") + " is not trusted; set AWS_CA_BUNDLE to its authority"},
		{strings.Replace(plain.URL, "http:", "https:", 1), strings.TrimPrefix(plain.URL, "http://") +
			" does not speak TLS; check whether endpoint is https or http"},
	} {
		_, err := open(t, c.endpoint).List(t.Context(), "p/", 10)
		if want := "listing s3://test/p/: " + c.want; err == nil || err.Error() != want {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}

func TestHang(t *testing.T) {
	f := newFaulty(t)
	f.Set(buckettest.Hang)
	ctx, cancel := context.WithTimeoutCause(t.Context(), 50*time.Millisecond, errors.New("not finished after 50ms"))
	defer cancel()
	_, err := f.store.List(ctx, "p/", 10)
	if want := "listing s3://test/p/: not finished after 50ms"; err == nil || err.Error() != want {
		t.Error(err)
	}
}

func TestNoCredentials(t *testing.T) {
	f := newFaulty(t)
	f.put(t, "p/a", "1")
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	_, err := open(t, f.URL).List(t.Context(), "p/", 10)
	want := "listing s3://test/p/: there are no AWS credentials: not in the environment, in shared files, by web identity, pod identity or instance role; for a public bucket set anonymous"
	if err == nil || err.Error() != want {
		t.Errorf("got  %v\nwant %s", err, want)
	}
	s, err := Open(t.Context(), Config{Bucket: "test", Endpoint: f.URL, Anonymous: true, MaxBackoff: time.Millisecond, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if _, err = s.List(t.Context(), "p/", 10); err == nil || !strings.Contains(err.Error(), "access denied") {
		t.Errorf("a bucket that is not public: %v", err)
	}
	signed := false
	public := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signed = signed || r.Header.Get("Authorization") != ""
		_, _ = io.WriteString(w, `<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>p/a</Key><ETag>"x"</ETag><Size>1</Size></Contents></ListBucketResult>`)
	}))
	defer public.Close()
	s, err = Open(t.Context(), Config{Bucket: "test", Endpoint: public.URL, Anonymous: true, Now: time.Now})
	if err != nil {
		t.Fatal(err)
	}
	if l, err := s.List(t.Context(), "p/", 10); err != nil || len(l.Objects) != 1 || signed {
		t.Errorf("public: %+v, %v, signed %t", l, err, signed)
	}
}

// tokenService answers as AWS's token service does, and gives the credentials of the server.
func tokenService(t *testing.T, check func(form map[string][]string) (status int, code string)) string {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_ = r.ParseForm()
		w.Header().Set("Content-Type", "text/xml")
		if status, code := check(r.Form); status != 0 {
			w.WriteHeader(status)
			_, _ = io.WriteString(w, "<ErrorResponse><Error><Type>Sender</Type><Code>"+code+
				"</Code><Message>no</Message></Error></ErrorResponse>")
			return
		}
		action := r.Form.Get("Action")
		type credentials struct {
			AccessKeyID     string `xml:"AccessKeyId"`
			SecretAccessKey string
			SessionToken    string
			Expiration      string
		}
		type result struct{ Credentials credentials }
		answer := struct {
			XMLName xml.Name
			Result  result `xml:"Result"`
		}{xml.Name{Local: action + "Response"}, result{credentials{buckettest.AccessKey, buckettest.SecretKey, "", "2099-01-01T00:00:00Z"}}}
		text, _ := xml.Marshal(answer)
		out := strings.NewReplacer("<Result>", "<"+action+"Result>", "</Result>", "</"+action+"Result>", "<SessionToken></SessionToken>",
			"<SessionToken>t</SessionToken>").Replace(string(text))
		_, _ = io.WriteString(w, out)
	}))
	t.Cleanup(s.Close)
	return s.URL
}

// TestWebIdentity is what IRSA does: a token in a file, a role in the environment.
func TestWebIdentity(t *testing.T) {
	buckettest.Environment(t)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("web-identity-token"), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_ROLE_ARN", "arn:aws:iam::1:role/pod")
	t.Setenv("AWS_WEB_IDENTITY_TOKEN_FILE", token)
	var form map[string][]string
	deny := false
	t.Setenv("AWS_ENDPOINT_URL_STS", tokenService(t, func(f map[string][]string) (int, string) {
		form = f
		if deny {
			return 400, "ExpiredTokenException"
		}
		return 0, ""
	}))
	signedWith(t, func(endpoint string) {
		if _, err := open(t, endpoint).List(t.Context(), "p/", 10); err != nil {
			t.Error(err)
		}
	})
	if form["Action"][0] != "AssumeRoleWithWebIdentity" || form["WebIdentityToken"][0] != "web-identity-token" ||
		form["RoleArn"][0] != "arn:aws:iam::1:role/pod" {
		t.Errorf("%v", form)
	}
	deny = true
	_, err := open(t, "http://127.0.0.1:1").List(t.Context(), "p/", 10)
	if want := "listing s3://test/p/: getting credentials from STS: the credentials or the web identity token have expired"; err == nil ||
		err.Error() != want {
		t.Error(err)
	}
}

func TestAssumeRole(t *testing.T) {
	buckettest.Environment(t)
	deny := false
	var form map[string][]string
	t.Setenv("AWS_ENDPOINT_URL_STS", tokenService(t, func(f map[string][]string) (int, string) {
		form = f
		if deny {
			return 403, "AccessDenied"
		}
		return 0, ""
	}))
	const role = "arn:aws:iam::1:role/reader"
	list := func(endpoint string) error {
		s, err := Open(t.Context(), Config{Bucket: "test", Endpoint: endpoint, RoleARN: role, Now: time.Now})
		if err != nil {
			return err
		}
		_, err = s.List(t.Context(), "p/", 10)
		return err
	}
	signedWith(t, func(endpoint string) {
		if err := list(endpoint); err != nil {
			t.Error(err)
		}
	})
	if form["Action"][0] != "AssumeRole" || form["RoleArn"][0] != role {
		t.Errorf("%v", form)
	}
	deny = true
	if err := list("http://127.0.0.1:1"); err == nil || err.Error() != "listing s3://test/p/: assuming role "+role+
		": access denied; check the trust policy of the role" {
		t.Error(err)
	}
}

// TestPodIdentity is what EKS Pod Identity does: an endpoint on the node and a token in a file.
func TestPodIdentity(t *testing.T) {
	buckettest.Environment(t)
	token := filepath.Join(t.TempDir(), "token")
	if err := os.WriteFile(token, []byte("pod-token"), 0o600); err != nil {
		t.Fatal(err)
	}
	asked := ""
	agent := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		asked = r.Header.Get("Authorization")
		_, _ = io.WriteString(w, `{"AccessKeyId":"`+buckettest.AccessKey+`","SecretAccessKey":"`+buckettest.SecretKey+
			`","Token":"t","Expiration":"2099-01-01T00:00:00Z"}`)
	}))
	defer agent.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_CONTAINER_CREDENTIALS_FULL_URI", agent.URL)
	t.Setenv("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE", token)
	signedWith(t, func(endpoint string) {
		if _, err := open(t, endpoint).List(t.Context(), "p/", 10); err != nil {
			t.Error(err)
		}
	})
	if asked != "pod-token" {
		t.Errorf("asked with %q", asked)
	}
}

// TestInstanceRole is what a node or a virtual machine does: a metadata service that first gives a token.
func TestInstanceRole(t *testing.T) {
	buckettest.Environment(t)
	service := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPut && r.URL.Path == "/latest/api/token":
			w.Header().Set("X-Aws-Ec2-Metadata-Token-Ttl-Seconds", "600")
			_, _ = io.WriteString(w, "metadata-token")
		case r.Header.Get("X-Aws-Ec2-Metadata-Token") != "metadata-token":
			w.WriteHeader(http.StatusUnauthorized)
		case strings.HasSuffix(r.URL.Path, "/security-credentials/"):
			_, _ = io.WriteString(w, "node-role")
		case strings.HasSuffix(r.URL.Path, "/security-credentials/node-role"):
			_, _ = io.WriteString(w, `{"Code":"Success","Type":"AWS-HMAC","AccessKeyId":"`+buckettest.AccessKey+`","SecretAccessKey":"`+
				buckettest.SecretKey+`","Token":"t","LastUpdated":"2026-01-01T00:00:00Z","Expiration":"2099-01-01T00:00:00Z"}`)
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	}))
	defer service.Close()
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_EC2_METADATA_DISABLED", "")
	t.Setenv("AWS_EC2_METADATA_SERVICE_ENDPOINT", service.URL)
	signedWith(t, func(endpoint string) {
		if _, err := open(t, endpoint).List(t.Context(), "p/", 10); err != nil {
			t.Error(err)
		}
	})
}

func TestSharedFiles(t *testing.T) {
	buckettest.Environment(t)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"config": "[profile ci]\nregion = eu-central-1\n",
		"credentials": "[ci]\naws_access_key_id = " + buckettest.AccessKey + "\naws_secret_access_key = " + buckettest.SecretKey +
			"\naws_session_token = t\n",
	} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Setenv("AWS_ACCESS_KEY_ID", "")
	t.Setenv("AWS_SECRET_ACCESS_KEY", "")
	t.Setenv("AWS_REGION", "")
	t.Setenv("AWS_CONFIG_FILE", filepath.Join(dir, "config"))
	t.Setenv("AWS_SHARED_CREDENTIALS_FILE", filepath.Join(dir, "credentials"))
	t.Setenv("AWS_PROFILE", "ci")
	signedWith(t, func(endpoint string) {
		s := open(t, endpoint)
		if _, err := s.List(t.Context(), "p/", 10); err != nil || s.region != "eu-central-1" {
			t.Errorf("%v, region %s", err, s.region)
		}
	})
}

// signedWith checks that requests are signed with the keys that a service gave, and carry its session token.
func signedWith(t *testing.T, f func(endpoint string)) {
	t.Helper()
	header := http.Header{}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		header = r.Header
		_, _ = io.WriteString(w, `<ListBucketResult><IsTruncated>false</IsTruncated></ListBucketResult>`)
	}))
	defer s.Close()
	f(s.URL)
	if !strings.Contains(header.Get("Authorization"), "Credential="+buckettest.AccessKey+"/") || header.Get("X-Amz-Security-Token") != "t" {
		t.Errorf("%v", header)
	}
}

// TestHalfListing checks that a second page which is no listing is not the end of one: what it lacks would be deleted.
func TestHalfListing(t *testing.T) {
	buckettest.Environment(t)
	for name, second := range map[string]func(w http.ResponseWriter){
		"empty":      func(http.ResponseWriter) {},
		"no content": func(w http.ResponseWriter) { w.WriteHeader(http.StatusNoContent) },
		"error":      func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<Error><Code>InternalError</Code></Error>") },
		"page":       func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<html><body>welcome</body></html>") },
		"bare":       func(w http.ResponseWriter) { _, _ = io.WriteString(w, "<ListBucketResult/>") },
		"endless": func(w http.ResponseWriter) {
			_, _ = fmt.Fprintf(w, "<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>%s</NextContinuationToken></ListBucketResult>", rand.Text())
		},
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Query().Has("continuation-token") {
				second(w)
				return
			}
			_, _ = io.WriteString(w, `<ListBucketResult><IsTruncated>true</IsTruncated><NextContinuationToken>x</NextContinuationToken><Contents><Key>a</Key><ETag>"x"</ETag><Size>1</Size></Contents></ListBucketResult>`)
		}))
		l, err := open(t, s.URL).List(t.Context(), "", 10)
		s.Close()
		if err == nil {
			t.Errorf("%s: %+v", name, l)
		} else {
			t.Logf("%s: %v", name, err)
		}
	}
}

// TestElsewhere checks that a server cannot answer for another one, and that a proxy without ETags cannot answer with something else.
func TestElsewhere(t *testing.T) {
	buckettest.Environment(t)
	asked := false
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		asked = true
		_, _ = io.WriteString(w, "B")
	}))
	defer other.Close()
	o := bucket.Object{Key: "k", ETag: "7fc56270e7a70fa81a5935b72eacbe29", Size: 1} // of A
	for name, answer := range map[string]http.HandlerFunc{
		"redirect": func(w http.ResponseWriter, r *http.Request) {
			http.Redirect(w, r, other.URL+"/latest/meta-data/", http.StatusTemporaryRedirect)
		},
		"no ETag": func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "B") },
	} {
		s := httptest.NewServer(answer)
		data, err := open(t, s.URL).Get(t.Context(), o)
		s.Close()
		if err == nil || asked {
			t.Errorf("%s: %q, %v", name, data, err)
		}
	}
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, "A") }))
	defer s.Close()
	if data, err := open(t, s.URL).Get(t.Context(), o); err != nil || string(data) != "A" {
		t.Errorf("%q, %v", data, err)
	}
}

func TestPartition(t *testing.T) {
	buckettest.Environment(t)
	for region, ok := range map[string]bool{"eu-west-1": true, "cn-north-1": false, "us-gov-west-1": false} {
		if _, err := Open(t.Context(), Config{Bucket: "test", Region: region, Now: time.Now}); (err == nil) != ok {
			t.Errorf("%s: %v", region, err)
		}
	}
	t.Setenv("AWS_REGION", "cn-north-1")
	if _, err := Open(t.Context(), Config{Bucket: "test", Region: "cn-northwest-1", Now: time.Now}); err != nil {
		t.Error(err)
	}
	t.Setenv("AWS_ENDPOINT_URL_S3", "http://user:hunter2@127.0.0.1:1")
	s, err := Open(t.Context(), Config{Bucket: "test", Now: time.Now, MaxBackoff: time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.List(t.Context(), "p", 1); err == nil || strings.Contains(err.Error(), "hunter2") {
		t.Error(err)
	}
}

// TestOddAnswers checks that answers of a server are not believed.
func TestOddAnswers(t *testing.T) {
	buckettest.Environment(t)
	for want, answer := range map[string]string{
		"the server says that there is more, but not how to get it":              `<ListBucketResult><IsTruncated>true</IsTruncated></ListBucketResult>`,
		`the server lists "k" without an ETag, so its changes could not be seen`: `<ListBucketResult><IsTruncated>false</IsTruncated><Contents><Key>k</Key></Contents></ListBucketResult>`,
		`the server lists a key that is not encoded well: "%zz"`:                 `<ListBucketResult><IsTruncated>false</IsTruncated><EncodingType>url</EncodingType><Contents><Key>%zz</Key></Contents></ListBucketResult>`,
	} {
		s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, answer) }))
		_, err := open(t, s.URL).List(t.Context(), "", 10)
		s.Close()
		if err == nil || !strings.HasSuffix(err.Error(), want) {
			t.Errorf("got  %v\nwant %s", err, want)
		}
	}
}
