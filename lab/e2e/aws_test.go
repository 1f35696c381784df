package e2e

import (
	"bufio"
	"crypto"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/md5" // SQS sums bodies with it
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

const (
	topicARN = "arn:aws:sns:eu-central-1:123456789012:manifests"
	snsHost  = "sns.eu-central-1.amazonaws.com"
)

// fakeSNS is SNS behind an HTTPS proxy: it serves the certificate that it signs with, and confirms subscriptions.
type fakeSNS struct {
	proxy     string // URL
	ca        string // file
	key       *rsa.PrivateKey
	cert      []byte
	confirmed chan string
}

func newSNS(t *testing.T) *fakeSNS {
	t.Helper()
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	issue := func(name string, parent *x509.Certificate, key, parentKey crypto.Signer) (*x509.Certificate, []byte) {
		x := &x509.Certificate{
			SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: name}, DNSNames: []string{name},
			NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
			IsCA: parent == nil, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		}
		if parent == nil {
			parent = x
		}
		der, err := x509.CreateCertificate(rand.Reader, x, parent, key.Public(), parentKey)
		must(err)
		return x, der
	}
	caKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	ca, caDER := issue("lab CA", nil, caKey, caKey)
	webKey, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(err)
	_, webDER := issue(snsHost, ca, webKey, caKey)
	s := &fakeSNS{confirmed: make(chan string, 10), ca: filepath.Join(t.TempDir(), "ca.pem")}
	s.key, err = rsa.GenerateKey(rand.Reader, 2048)
	must(err)
	_, s.cert = issue("sns.amazonaws.com", ca, s.key, caKey)
	must(os.WriteFile(s.ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caDER}), 0o600))

	web := http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, ".pem"):
			_ = pem.Encode(w, &pem.Block{Type: "CERTIFICATE", Bytes: s.cert})
		case r.URL.Query().Get("Action") == "ConfirmSubscription":
			s.confirmed <- r.URL.Query().Get("Token")
		default:
			w.WriteHeader(http.StatusNotFound)
		}
	})
	config := &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{webDER}, PrivateKey: webKey}}}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	must(err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go serveConnect(conn, config, web)
		}
	}()
	s.proxy = "http://" + listener.Addr().String()
	return s
}

// serveConnect is an HTTPS proxy that is the server itself.
func serveConnect(conn net.Conn, config *tls.Config, handler http.Handler) {
	defer conn.Close()
	req, err := http.ReadRequest(bufio.NewReader(conn))
	if err != nil || req.Method != http.MethodConnect || req.Host != snsHost+":443" {
		return
	}
	_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n\r\n")
	inner := tls.Server(conn, config)
	for {
		req, err := http.ReadRequest(bufio.NewReader(inner))
		if err != nil {
			return
		}
		rec := httptest.NewRecorder()
		handler.ServeHTTP(rec, req)
		res := rec.Result()
		res.ContentLength = int64(rec.Body.Len())
		if res.Write(inner) != nil {
			return
		}
	}
}

// sign makes a message of SNS, with the signature that topics can be set to.
func (s *fakeSNS) sign(t *testing.T, kind, id, text, token string) string {
	t.Helper()
	m := map[string]string{
		"Type": kind, "MessageId": id, "TopicArn": topicARN, "Message": text,
		"Timestamp": time.Now().UTC().Format("2006-01-02T15:04:05.000Z"), "SignatureVersion": "2",
		"SigningCertURL": "https://" + snsHost + "/SimpleNotificationService-0123456789abcdef.pem",
	}
	names := []string{"Message", "MessageId", "Timestamp", "TopicArn", "Type"}
	if kind != "Notification" {
		m["Token"], m["SubscribeURL"] = token, "https://"+snsHost+"/?Action=ConfirmSubscription&TopicArn="+topicARN+"&Token="+token
		names = []string{"Message", "MessageId", "SubscribeURL", "Timestamp", "Token", "TopicArn", "Type"}
	}
	signed := ""
	for _, name := range names {
		signed += name + "\n" + m[name] + "\n"
	}
	sum := sha256.Sum256([]byte(signed))
	signature, err := rsa.SignPKCS1v15(rand.Reader, s.key, crypto.SHA256, sum[:])
	if err != nil {
		t.Fatal(err)
	}
	m["Signature"] = base64.StdEncoding.EncodeToString(signature)
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// fakeSQS is one queue that speaks SQS's JSON protocol: long polling, receipts, and messages that come again until they are deleted.
type fakeSQS struct {
	*httptest.Server
	mu       sync.Mutex
	messages []*sqsMessage
	arrived  chan struct{}
	next     int
}

type sqsMessage struct {
	id, body string
	hidden   time.Time
	receipt  string
}

func newSQS(t *testing.T) *fakeSQS {
	q := &fakeSQS{arrived: make(chan struct{})}
	q.Server = httptest.NewServer(q)
	t.Cleanup(q.Close)
	return q
}

// send puts messages into the queue.
func (q *fakeSQS) send(bodies ...string) {
	q.mu.Lock()
	defer q.mu.Unlock()
	for _, body := range bodies {
		q.next++
		q.messages = append(q.messages, &sqsMessage{id: fmt.Sprint("message-", q.next), body: body})
	}
	close(q.arrived)
	q.arrived = make(chan struct{})
}

// left returns how many messages were not deleted.
func (q *fakeSQS) left() int {
	q.mu.Lock()
	defer q.mu.Unlock()
	return len(q.messages)
}

func (q *fakeSQS) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in struct {
		QueueURL                             string `json:"QueueUrl"`
		MaxNumberOfMessages, WaitTimeSeconds int
		Entries                              []struct{ ID, ReceiptHandle string }
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || !strings.HasPrefix(r.Header.Get("Authorization"), "AWS4-HMAC-SHA256 ") {
		w.WriteHeader(http.StatusForbidden)
		return
	}
	w.Header().Set("Content-Type", "application/x-amz-json-1.0")
	switch r.Header.Get("X-Amz-Target") {
	case "AmazonSQS.ReceiveMessage":
		_ = json.NewEncoder(w).Encode(map[string]any{"Messages": q.receive(r, min(in.MaxNumberOfMessages, 10),
			time.Duration(in.WaitTimeSeconds)*time.Second)})
	case "AmazonSQS.DeleteMessageBatch":
		var done []map[string]string
		q.mu.Lock()
		for _, e := range in.Entries {
			for i, m := range q.messages {
				if m.receipt != "" && m.receipt == e.ReceiptHandle {
					q.messages = append(q.messages[:i:i], q.messages[i+1:]...)
					done = append(done, map[string]string{"Id": e.ID})
					break
				}
			}
		}
		q.mu.Unlock()
		_ = json.NewEncoder(w).Encode(map[string]any{"Successful": done, "Failed": []any{}})
	default:
		w.WriteHeader(http.StatusBadRequest)
		_, _ = io.WriteString(w, `{"__type": "com.amazonaws.sqs#UnsupportedOperation", "message": "no"}`)
	}
}

func (q *fakeSQS) receive(r *http.Request, most int, wait time.Duration) (out []map[string]string) {
	deadline := time.After(wait)
	for {
		q.mu.Lock()
		for _, m := range q.messages {
			if len(out) == most || time.Now().Before(m.hidden) {
				continue
			}
			q.next++
			m.hidden, m.receipt = time.Now().Add(30*time.Second), fmt.Sprint("receipt-", q.next)
			sum := md5.Sum([]byte(m.body)) // see the import
			out = append(out, map[string]string{
				"MessageId": m.id, "ReceiptHandle": m.receipt, "Body": m.body,
				"MD5OfBody": hex.EncodeToString(sum[:]),
			})
		}
		arrived := q.arrived
		q.mu.Unlock()
		if len(out) > 0 {
			return out
		}
		select {
		case <-arrived:
		case <-deadline:
			return nil
		case <-r.Context().Done():
			return nil
		}
	}
}

// TestNotifications deploys what each kind of sender notifies about, through servers that speak their protocols, and refuses strangers.
func TestNotifications(t *testing.T) {
	k := newPatientKit(t, "note")
	kubeconfig := k.rights()
	k.replica(0, kubeconfig, "APPSET_REFRESH_INTERVAL=1h")
	put := k.fresh()
	k.value("note", "note-file", "1")
	k.value("note", "note-git", "1")
	sns, sqs := newSNS(t), newSQS(t)
	receiver := k.events([]string{"HTTPS_PROXY=" + sns.proxy, "SSL_CERT_FILE=" + sns.ca, "AWS_ENDPOINT_URL_SQS=" + sqs.URL}, "--sns-topic",
		topicARN, "--sqs-queue", sqs.URL+"/123456789012/manifests")

	records := func(event string) string {
		var list []string
		for _, name := range []string{"file", "git"} {
			list = append(list, fmt.Sprintf(`{"eventName": "%s", "s3": {"bucket": {"name": "note"}, "object": {"key": "%s/cm.yaml"}}}`,
				event, name))
		}
		return `{"Records": [` + strings.Join(list, ", ") + `]}`
	}
	bridge := func(id, name string) string {
		return fmt.Sprintf(`{"version": "0", "id": %q, "detail-type": "Object Created", "source": "aws.s3", "time": %q, "detail": {"bucket": {"name": "note"}, "object": {"key": "%s/cm.yaml"}}}`, id, time.Now().UTC().Format(time.RFC3339), name)
	}
	posted := func(path, body string, want int, headers ...string) {
		t.Helper()
		if got := k.post(receiver+path, body, headers...); got != want {
			t.Errorf("%s: %d, want %d", path, got, want)
		}
	}
	deployed := func(value string, notify func()) {
		t.Helper()
		// A refresh that still runs may see what is written now, and then nobody asks again.
		k.wait("note-file", func(o *unstructured.Unstructured) bool { return o.GetAnnotations()["argocd.argoproj.io/refresh"] == "" })
		time.Sleep(2 * time.Second)
		put(value)
		began := time.Now()
		asked := k.journal.Count("Application", "note-file", "refresh hard")
		notify()
		k.value("note", "note-git", value)
		t.Logf("%s: deployed after %s", value, time.Since(began).Round(10*time.Millisecond))
		// Argo CD heals less and less often, up to once in five minutes, so this one is only seen to be asked for.
		for k.journal.Count("Application", "note-file", "refresh hard") == asked {
			if k.ctx.Err() != nil {
				t.Fatal("note-file was not asked for")
			}
			time.Sleep(50 * time.Millisecond)
		}
	}
	posted("/sns", sns.sign(t, "SubscriptionConfirmation", "s", "You have chosen", "t0ken"), http.StatusNoContent)
	select {
	case token := <-sns.confirmed:
		if token != "t0ken" {
			t.Errorf("confirmed with %q", token)
		}
	case <-k.ctx.Done():
		t.Fatal("the subscription was not confirmed")
	}
	deployed("sns", func() {
		message := sns.sign(t, "Notification", "1", records("ObjectCreated:Put"), "")
		for range 3 {
			posted("/sns", message, http.StatusNoContent)
		}
		posted("/sns", strings.Replace(message, "note", "vote", 1), http.StatusForbidden)
		posted("/sns", strings.Replace(message, "manifests", "others", 1), http.StatusUnauthorized)
	})
	deployed("eventbridge", func() {
		posted("/eventbridge", bridge("1", "file"), http.StatusNoContent, "X-Api-Key", secret)
		posted("/eventbridge", bridge("2", "git"), http.StatusNoContent, "X-Api-Key", secret)
		posted("/eventbridge", bridge("3", "git"), http.StatusUnauthorized, "X-Api-Key", "wrong")
	})
	deployed("sqs", func() {
		sqs.send(`{"Service": "Amazon S3", "Event": "s3:TestEvent"}`, "not ours", records("ObjectCreated:CompleteMultipartUpload"))
	})
	deployed("sqs-sns", func() { sqs.send(sns.sign(t, "Notification", "2", records("ObjectCreated:Copy"), "")) })
	deployed("sqs-eventbridge", func() { sqs.send(bridge("4", "file"), bridge("5", "git")) })
	for sqs.left() > 1 && k.ctx.Err() == nil {
		time.Sleep(50 * time.Millisecond)
	}
	if n := sqs.left(); n != 1 {
		t.Errorf("%d messages are left, want the one that is not ours", n)
	}
	metrics := k.get(receiver + "/metrics")
	for _, want := range []string{
		`{result="accepted",sender="sns"} 1`, `{result="duplicate",sender="sns"} 2`, `{result="confirmed",sender="sns"} 1`,
		`{result="wrong signature",sender="sns"} 1`, `{result="unknown sender",sender="sns"} 1`,
		`{result="accepted",sender="eventbridge"} 2`, `{result="unknown sender",sender="eventbridge"} 1`,
		`{result="accepted",sender="sqs"} 4`,
	} {
		if !strings.Contains(metrics, "argosy_events_total"+want) {
			t.Errorf("metrics have no %s", want)
		}
	}
	log, err := os.ReadFile(filepath.Join(k.lab.Dir, "log", "argosy-events.log"))
	k.must(err)
	for _, word := range []string{secret, "t0ken"} {
		if strings.Contains(string(log), word) {
			t.Errorf("the log has %q", word)
		}
	}
	k.allowed("argosy-events*")
}
