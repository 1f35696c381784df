package events_test

import (
	"bufio"
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" // what SNS signs with
	"crypto/sha256"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/events"
	"github.com/argosy-cd/argosy/internal/secret"
)

func TestParse(t *testing.T) {
	files, err := filepath.Glob("testdata/*.json")
	if err != nil || len(files) < 8 {
		t.Fatal(files, err)
	}
	want := map[string]string{
		"s3.json": `s3://manifests/apps/demo+app/a%3Db.yaml s3://manifests/apps/demo app/a=b.yaml`, "s3-test.json": "",
		"minio.json":      "s3://images/apps%2Fdemo%2Fcm.yaml s3://images/apps/demo/cm.yaml",
		"minio-read.json": "", "versitygw.json": "s3://list/apps/demo/cm.yaml", "eventbridge.json": "s3://manifests/apps/demo app/cm.yaml",
		"eventbridge-other.json": "",
		"sns-in-sqs.json":        "s3://manifests/apps/cm.yaml",
	}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		notices, err := events.Parse(data)
		var got []string
		for _, n := range notices {
			got = append(got, "s3://"+n.Bucket+"/"+n.Key)
		}
		if text := strings.Join(got, " "); err != nil || text != want[filepath.Base(file)] {
			t.Errorf("%s: %s, %v", file, text, err)
		}
	}
	for text, want := range map[string]string{
		"":               "it is not a JSON object",
		"[]":             "it is not a JSON object",
		`{"Records": 1}`: "Records must be slice",
		`{}`:             "it has no Records, is not from aws.s3, and is no Notification of SNS",
		`{"Records": [{"eventName": "ObjectCreated:Put", "s3": {"bucket": {"name": "b"}}}]}`:       "Records[0].s3.bucket.name and Records[0].s3.object.key must be set",
		`{"source": "aws.s3", "detail-type": "Object Created", "detail": {"bucket": {"name": 1}}}`: "detail.bucket.Name must be string",
		`{"Type": "Notification", "Message": "{\"Type\": \"Notification\", \"Message\": \"{}\"}"}`: "it has no Records",
		`{"Records": [` + strings.Repeat("{},", 10_000) +
			`{}]}`: "10001 records are over the limit of 10000",
		`{"Records": [{"eventName": "ObjectRemoved:Delete", "s3": {"bucket": {"name": "b"}, "object": {"key": "` +
			strings.Repeat("k", 4000) + `"}}}]}`: "has a name that S3 does not allow",
	} {
		if _, err := events.Parse([]byte(text)); !errors.Is(err, events.ErrMalformed) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.80s: %v", text, err)
		}
	}
}

func FuzzParse(f *testing.F) {
	files, _ := filepath.Glob("testdata/*.json")
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(data)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		notices, err := events.Parse(data)
		if err != nil && (!errors.Is(err, events.ErrMalformed) || len(notices) > 0 || strings.Contains(err.Error(), "\n")) {
			t.Errorf("%v, %v", notices, err)
		}
		for _, n := range notices {
			if n.Bucket == "" || n.Key == "" {
				t.Errorf("%+v", n)
			}
		}
	})
}

const topic = "arn:aws:sns:eu-central-1:123456789012:manifests"

// aws is SNS as a client sees it: it signs, and serves certificates and confirmations.
type aws struct {
	t     *testing.T
	key   *rsa.PrivateKey
	pem   []byte
	asked []string
	down  bool
}

func newAWS(t *testing.T, name string) *aws {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	x := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: name}, NotBefore: start.Add(-time.Hour),
		NotAfter: start.Add(30 * 24 * time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, x, x, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	return &aws{t: t, key: key, pem: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// RoundTrip implements http.RoundTripper.
func (a *aws) RoundTrip(r *http.Request) (*http.Response, error) {
	if a.down {
		return nil, errors.New("connection refused")
	}
	a.asked = append(a.asked, r.URL.String())
	w := httptest.NewRecorder()
	switch {
	case strings.HasSuffix(r.URL.Path, ".pem"):
		_, _ = w.Write(a.pem)
	case r.URL.Query().Get("Token") == "t0ken":
		_, _ = io.WriteString(w, "<ConfirmSubscriptionResponse/>")
	default:
		w.WriteHeader(http.StatusForbidden)
	}
	return w.Result(), nil
}

// sign makes a message of SNS.
func (a *aws) sign(version string, m map[string]string) string {
	a.t.Helper()
	for name, value := range map[string]string{
		"Type": "Notification", "MessageId": "m-1", "TopicArn": topic, "Timestamp": start.Format("2006-01-02T15:04:05.000Z"),
		"SignatureVersion": version,
		"SigningCertURL":   "https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-0123abcd.pem",
	} {
		if _, ok := m[name]; !ok {
			m[name] = value
		}
	}
	var text string
	names := []string{"Message", "MessageId", "Subject", "Timestamp", "TopicArn", "Type"}
	if m["Type"] != "Notification" {
		names = []string{"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"}
	}
	for _, name := range names {
		if value, ok := m[name]; ok {
			text += name + "\n" + value + "\n"
		}
	}
	hash, sum := crypto.SHA1, sha1.Sum([]byte(text)) // as SNS does
	digest := sum[:]
	if version == "2" {
		long := sha256.Sum256([]byte(text))
		hash, digest = crypto.SHA256, long[:]
	}
	signature, err := rsa.SignPKCS1v15(rand.Reader, a.key, hash, digest)
	if err != nil {
		a.t.Fatal(err)
	}
	m["Signature"] = base64.StdEncoding.EncodeToString(signature)
	data, err := json.Marshal(m)
	if err != nil {
		a.t.Fatal(err)
	}
	return string(data)
}

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// world is a receiver and what it does.
type world struct {
	*testing.T
	now      time.Time
	ready    bool
	handler  http.Handler
	receiver *events.Receiver
	hints    []string
	seen     []string
}

func newWorld(t *testing.T, sns http.RoundTripper) *world {
	w := &world{T: t, now: start, ready: true}
	w.receiver = &events.Receiver{
		Secrets: func() ([]secret.Text, error) { return []secret.Text{secret.New("old"), secret.New("s3cret")}, nil },
		SNS:     &events.SNS{Topics: []string{topic}, Client: &http.Client{Transport: sns}, Now: w.time}, Now: w.time,
		Hint: func(n events.Notice) bool {
			if w.ready {
				w.hints = append(w.hints, n.Bucket+"/"+n.Key)
			}
			return w.ready
		},
		Observe: w.observe,
	}
	w.handler = w.receiver.Handler()
	return w
}

func (w *world) time() time.Time { return w.now }

func (w *world) observe(e events.Event) {
	text := string(e.Sender) + " " + string(e.Result)
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	w.seen = append(w.seen, text)
}

// post sends a body and compares the status, what was seen and what was hinted at.
func (w *world) post(path, body string, header http.Header, status int, seen, hints string) {
	w.Helper()
	w.seen, w.hints = nil, nil
	req := httptest.NewRequestWithContext(w.Context(), http.MethodPost, path, strings.NewReader(body))
	if header != nil {
		req.Header = header
	}
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, req)
	got := fmt.Sprintf("%d %s [%s]", rec.Code, strings.Join(w.seen, ", "), strings.Join(w.hints, ", "))
	if want := fmt.Sprintf("%d %s [%s]", status, seen, hints); got != want {
		w.Errorf("%s %.60s:\n%s\nwant\n%s", path, body, got, want)
	}
	if rec.Body.Len() > 0 && rec.Code != http.StatusNotFound {
		w.Errorf("the answer has a body: %s", rec.Body)
	}
}

const record = `{"Records": [{"eventName": "ObjectCreated:Put", "s3": {"bucket": {"name": "b"}, "object": {"key": "k"}}}]}`

func TestSecrets(t *testing.T) {
	w := newWorld(t, nil)
	basic := httptest.NewRequest(http.MethodPost, "/", nil)
	basic.SetBasicAuth("anybody", "s3cret")
	for _, header := range []http.Header{
		{"Authorization": {"Bearer s3cret"}},
		{"Authorization": {"s3cret"}},
		{"Authorization": {"bearer old"}},
		{"X-Api-Key": {"s3cret"}},
		basic.Header,
	} {
		w.post("/webhook", record, header, 204, "webhook accepted", "b/k")
	}
	for _, header := range []http.Header{
		nil,
		{"Authorization": {"Bearer s3cre"}},
		{"Authorization": {"Bearer "}},
		{"Authorization": {"Basic s3cret"}},
		{"X-Api-Key": {""}},
	} {
		w.post("/webhook", record, header, 401, "webhook unknown sender: unknown sender: it does not have the secret", "")
		w.post("/eventbridge", record, header, 401, "eventbridge unknown sender: unknown sender: it does not have the secret", "")
	}
	known := http.Header{"Authorization": {"Bearer s3cret"}}
	w.post("/webhook", "", known, 204, "webhook ignored", "")
	w.post("/webhook", "x", known, 400, "webhook malformed: not a notification of S3: it is not a JSON object", "")
	w.post("/webhook", strings.Repeat(" ", events.MaxBody+1), known, 413, "webhook too large: over the limit of 1048576 bytes", "")
	w.ready = false
	w.post("/webhook", record, known, 503, "webhook failed: the Applications are still being listed; try again", "")
	w.receiver.Secrets = func() ([]secret.Text, error) { return nil, errors.New("no file") }
	w.post("/webhook", record, known, 503, "webhook failed: no file", "")

	// What is not configured is not there.
	w.handler = (&events.Receiver{}).Handler()
	for _, path := range []string{"/webhook", "/sns", "/eventbridge"} {
		w.post(path, record, known, 404, "", "")
	}
}

func TestEventBridge(t *testing.T) {
	w := newWorld(t, nil)
	known := http.Header{"X-Api-Key": {"s3cret"}}
	event := func(id string, at time.Time) string {
		return fmt.Sprintf(`{"id": %q, "source": "aws.s3", "detail-type": "Object Created", "time": %q, "detail": {"bucket": {"name": "b"}, "object": {"key": "a b"}}}`, id, at.Format(time.RFC3339))
	}
	w.ready = false
	w.post("/eventbridge", event("1", start), known, 503, "eventbridge failed: the Applications are still being listed; try again", "")
	w.ready = true
	w.post("/eventbridge", event("1", start), known, 204, "eventbridge accepted", "b/a b")
	w.post("/eventbridge", event("1", start), known, 204, "eventbridge duplicate", "")
	w.post("/eventbridge", event("2", start.Add(-24*time.Hour)), known, 204, "eventbridge accepted", "b/a b")
	w.post("/eventbridge", event("3", start.Add(-26*time.Hour)), known, 403,
		"eventbridge replay: too old, or from the future: it was sent at 2026-01-01T01:04:05Z", "")
	w.post("/eventbridge", event("4", start.Add(time.Hour)), known, 403,
		"eventbridge replay: too old, or from the future: it was sent at 2026-01-02T04:04:05Z", "")
	w.post("/eventbridge", record, known, 400,
		"eventbridge malformed: not a notification of S3: source must be aws.s3, and id and time must be set", "")
}

func TestSNS(t *testing.T) {
	a := newAWS(t, "sns.amazonaws.com")
	w := newWorld(t, a)
	for i, version := range []string{"1", "2"} {
		m := map[string]string{"Message": record, "MessageId": fmt.Sprint(i), "Subject": "Amazon S3 Notification"}
		w.post("/sns", a.sign(version, m), nil, 204, "sns accepted", "b/k")
		w.post("/sns", a.sign(version, m), nil, 204, "sns duplicate", "")
	}
	if n := len(a.asked); n != 1 {
		t.Errorf("the certificate was read %d times", n)
	}
	// Tests of S3's, and what is no notification.
	w.post("/sns", a.sign("1", map[string]string{"MessageId": "t", "Message": `{"Service": "Amazon S3", "Event": "s3:TestEvent"}`}), nil,
		204, "sns ignored", "")
	w.post("/sns", a.sign("1", map[string]string{"MessageId": "x", "Message": "hello"}), nil, 400,
		"sns malformed: not a notification of S3: it is not a JSON object", "")

	// Forged.
	forged := func(change func(m map[string]string)) string {
		m := map[string]string{"Message": record, "MessageId": "f"}
		a.sign("1", m)
		change(m)
		data, _ := json.Marshal(m)
		return string(data)
	}
	wrong := "sns wrong signature: wrong signature: "
	for name, want := range map[string]string{
		"Message": "it does not match the message", "Timestamp": "",
		"MessageId": "it does not match the message", "Subject": "it does not match the message",
	} {
		if want != "" {
			w.post("/sns", forged(func(m map[string]string) { m[name] += " " }), nil, 403, wrong+want, "")
		}
	}
	w.post("/sns", forged(func(m map[string]string) { m["Signature"] = "%" }), nil, 403, wrong+"Signature must be base64", "")
	w.post("/sns", forged(func(m map[string]string) {
		m["SignatureVersion"] = "3"
	}), nil, 403, wrong+`SignatureVersion must be 1 or 2, it is "3"`, "")
	for _, url := range []string{
		"http://sns.eu-central-1.amazonaws.com/SimpleNotificationService-1.pem",
		"https://user@sns.eu-central-1.amazonaws.com/SimpleNotificationService-1.pem", "::",
	} {
		w.post("/sns", forged(func(m map[string]string) {
			m["SigningCertURL"] = url
		}), nil, 403, wrong+fmt.Sprintf("%q is not a URL of SNS", url), "")
	}
	for _, host := range []string{
		"evil.example.com", "sns.us-east-1.amazonaws.com", "sns.eu-central-1.amazonaws.com.evil.example.com",
		"sns.eu-central-1.amazonaws.com:8443", "s3.eu-central-1.amazonaws.com",
	} {
		w.post("/sns", forged(func(m map[string]string) {
			m["SigningCertURL"] = "https://" + host + "/SimpleNotificationService-1.pem"
		}), nil, 403,
			wrong+fmt.Sprintf("%q is not the host of SNS in the region of the topic", host), "")
	}
	w.post("/sns", forged(func(m map[string]string) {
		m["SigningCertURL"] = "https://sns.eu-central-1.amazonaws.com/?Action=X&x=/SimpleNotificationService-1.pem"
	}), nil, 403, wrong+"SigningCertURL is not a certificate of SNS", "")
	w.post("/sns", forged(func(m map[string]string) {
		m["TopicArn"] = topic + "2"
	}), nil, 401, `sns unknown sender: unknown sender: topic "`+topic+`2" is not one of --sns-topic`, "")
	w.post("/sns", record, nil, 400, `sns malformed: not a notification of S3: Type must be one of SNS, it is ""`, "")

	// Old ones, and of a time to come.
	for _, d := range []time.Duration{-8 * time.Hour, time.Hour} {
		at := start.Add(d)
		w.post("/sns", a.sign("1", map[string]string{"Message": record, "MessageId": "old", "Timestamp": at.Format(time.RFC3339)}), nil,
			403, "sns replay: too old, or from the future: it was sent at "+at.Format(time.RFC3339), "")
	}

	// Subscriptions.
	subscribe := func(url string) string {
		return a.sign("1", map[string]string{
			"Type": "SubscriptionConfirmation", "MessageId": "s", "Message": "You have chosen …",
			"Token": "t0ken", "SubscribeURL": url,
		})
	}
	w.post("/sns", subscribe("https://sns.eu-central-1.amazonaws.com/?Action=ConfirmSubscription&Token=t0ken"), nil, 204, "sns confirmed",
		"")
	if last := a.asked[len(a.asked)-1]; !strings.Contains(last, "ConfirmSubscription") {
		t.Errorf("%s was asked for", last)
	}
	asked := len(a.asked)
	w.post("/sns", subscribe("https://evil.example.com/"), nil, 403,
		wrong+`"evil.example.com" is not the host of SNS in the region of the topic`, "")
	if len(a.asked) != asked {
		t.Error("a stranger was asked")
	}
	w.post("/sns", subscribe("https://sns.eu-central-1.amazonaws.com/?Token=other"), nil, 503,
		"sns failed: confirming the subscription: sns.eu-central-1.amazonaws.com answered 403 Forbidden", "")
	w.post("/sns", a.sign("1", map[string]string{"Type": "UnsubscribeConfirmation", "Message": "x", "Token": "t", "SubscribeURL": "u"}),
		nil, 204, "sns ignored: the subscription to this topic was ended", "")

	// Certificates: not reachable, of somebody else, no longer valid.
	down := newAWS(t, "sns.amazonaws.com")
	down.down = true
	newWorld(t, down).post("/sns", down.sign("1", map[string]string{"Message": record}), nil, 503,
		"sns failed: reading the certificate of SNS: connection refused", "")
	other := newAWS(t, "evil.example.com")
	newWorld(t, other).post("/sns", other.sign("1", map[string]string{"Message": record}), nil, 403,
		wrong+"the certificate is not one of SNS", "")
	garbage := newAWS(t, "sns.amazonaws.com")
	garbage.pem = []byte("x")
	newWorld(t, garbage).post("/sns", garbage.sign("1", map[string]string{"Message": record}), nil, 403,
		wrong+"there is no certificate at SigningCertURL", "")
	w.now = start.Add(31 * 24 * time.Hour)
	w.post("/sns", a.sign("2", map[string]string{"Message": record, "Timestamp": w.now.Format(time.RFC3339)}), nil, 403,
		wrong+"its certificate is not valid now", "")
}

// fakeQueue has batches of messages, then an error, then nothing.
type fakeQueue struct {
	batches [][]events.Message
	failing int
	deleted []string
	cancel  context.CancelFunc
}

func (q *fakeQueue) String() string { return "queue" }

func (q *fakeQueue) Receive(ctx context.Context) ([]events.Message, error) {
	if len(q.batches) > 0 {
		next := q.batches[0]
		q.batches = q.batches[1:]
		return next, nil
	}
	if q.failing--; q.failing >= 0 {
		return nil, errors.New("away")
	}
	q.cancel()
	return nil, ctx.Err()
}

func (q *fakeQueue) Delete(_ context.Context, messages []events.Message) error {
	for _, m := range messages {
		q.deleted = append(q.deleted, m.ID)
	}
	return nil
}

// TestQueue deletes what it has understood, leaves anything else, and has patience with a queue that is away.
func TestQueue(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	w := newWorld(t, nil)
	q := &fakeQueue{failing: 3, cancel: cancel, batches: [][]events.Message{{
		{ID: "1", Body: record},
		{ID: "2", Body: "x"},
		{ID: "3", Body: `{"Event": "s3:TestEvent"}`},
	}}}
	var waits []time.Duration
	l := &events.Listener{Queue: q, Hint: w.receiver.Hint, Observe: w.observe, After: func(d time.Duration) <-chan time.Time {
		waits = append(waits, d)
		c := make(chan time.Time, 1)
		c <- start
		return c
	}}
	l.Run(ctx)
	want := []string{
		"sqs accepted", "sqs malformed: message 2: not a notification of S3: it is not a JSON object", "sqs ignored",
		"sqs failed: away", "sqs failed: away", "sqs failed: away",
	}
	if diff := cmp.Diff(want, w.seen); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]time.Duration{time.Second, 2 * time.Second, 4 * time.Second}, waits); diff != "" {
		t.Error(diff)
	}
	if diff := cmp.Diff([]string{"1", "3"}, q.deleted); diff != "" || strings.Join(w.hints, " ") != "b/k" {
		t.Errorf("%v, %s", w.hints, diff)
	}
	// Nobody can use it yet: it is not deleted.
	ctx, cancel = context.WithCancel(t.Context())
	q = &fakeQueue{cancel: cancel, batches: [][]events.Message{{{ID: "1", Body: record}}}}
	w.ready, l.Queue = false, q
	l.Run(ctx)
	if len(q.deleted) > 0 {
		t.Errorf("deleted: %v", q.deleted)
	}
}

// TestStrangers: who has no secret is told so before a byte of the body is read, and SNS is not asked for each certificate that somebody
// invents.
func TestStrangers(t *testing.T) {
	a := newAWS(t, "sns.amazonaws.com")
	w := newWorld(t, a)
	body := &counted{left: events.MaxBody}
	req := httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/webhook", body)
	rec := httptest.NewRecorder()
	w.handler.ServeHTTP(rec, req)
	if rec.Code != http.StatusUnauthorized || body.left != events.MaxBody {
		t.Errorf("%d after %d bytes", rec.Code, events.MaxBody-body.left)
	}
	for i := range 100 {
		m := map[string]string{
			"Message": record, "MessageId": "x",
			"SigningCertURL": fmt.Sprintf("https://sns.eu-central-1.amazonaws.com/SimpleNotificationService-%x.pem", i),
		}
		a.sign("1", m)
		m["Message"] = "forged"
		data, _ := json.Marshal(m)
		rec := httptest.NewRecorder()
		w.handler.ServeHTTP(rec, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/sns", strings.NewReader(string(data))))
		if rec.Code < 400 {
			t.Errorf("%d", rec.Code)
		}
	}
	if n := len(a.asked); n > 10 {
		t.Errorf("SNS was asked for %d certificates", n)
	}
	w.now = w.now.Add(2 * time.Minute)
	w.post("/sns", a.sign("1", map[string]string{"Message": record, "MessageId": "y"}), nil, 204, "sns accepted", "b/k")
}

// counted is a body that knows how much of it is left.
type counted struct{ left int }

func (c *counted) Read(p []byte) (int, error) {
	n := min(len(p), c.left)
	c.left -= n
	if n == 0 {
		return 0, io.EOF
	}
	return n, nil
}

// TestSlowStrangers: bodies on /sns that never end keep neither the webhook waiting, nor SNS itself from another address.
func TestSlowStrangers(t *testing.T) {
	busy := make(chan string, 1000)
	r := &events.Receiver{
		Secrets: func() ([]secret.Text, error) { return []secret.Text{secret.New("a-secret-of-senders")}, nil },
		SNS:     &events.SNS{Topics: []string{"arn:aws:sns:eu-central-1:1:t"}, Client: http.DefaultClient, Now: time.Now},
		Now:     time.Now, Hint: func(events.Notice) bool {
			return true
		}, Observe: func(e events.Event) { busy <- string(e.Sender) + " " + string(e.Result) },
	}
	server := httptest.NewServer(r.Handler())
	t.Cleanup(server.Close) // after those that hang
	begin := func(from string) net.Conn {
		t.Helper()
		dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
		conn, err := dialer.DialContext(t.Context(), "tcp", server.Listener.Addr().String())
		if err != nil {
			if runtime.GOOS == "linux" {
				t.Fatal(err)
			}
			t.Skipf("only Linux has all of 127.0.0.0/8: %v", err)
		}
		t.Cleanup(func() { conn.Close() })
		if _, err := io.WriteString(conn, "POST /sns HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\n{"); err != nil {
			t.Fatal(err)
		}
		return conn
	}
	// As many as the whole process took before, and more than one address may begin.
	for range 100 {
		begin("127.0.0.2")
	}
	if got := <-busy; got != "sns busy" {
		t.Errorf("%q", got)
	}
	post := func(path, secret string) int {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, server.URL+path,
			strings.NewReader(`{"Event": "s3:TestEvent"}`))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("X-Api-Key", secret)
		res, err := http.DefaultClient.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		res.Body.Close()
		return res.StatusCode
	}
	if code := post("/webhook", "a-secret-of-senders"); code != http.StatusNoContent {
		t.Errorf("the webhook: %d", code)
	}
	if code := post("/webhook", "wrong"); code != http.StatusUnauthorized {
		t.Errorf("the webhook, with a wrong secret: %d", code)
	}
	if code := post("/sns", ""); code != http.StatusBadRequest { // it is heard, and is no message
		t.Errorf("SNS from elsewhere: %d", code)
	}
	// All addresses together may fill /sns, and nothing else.
	for i := 3; i < 12; i++ {
		for range 8 {
			begin(fmt.Sprintf("127.0.0.%d", i))
		}
	}
	if code := post("/webhook", "a-secret-of-senders"); code != http.StatusNoContent {
		t.Errorf("the webhook: %d", code)
	}
	// Who is refused is told when to come again.
	conn := begin("127.0.0.2")
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusTooManyRequests || res.Header.Get("Retry-After") == "" {
		t.Errorf("%s", res.Status)
	}
}
