package queue_test

import (
	"crypto/md5" // SQS sums bodies with it
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
	"github.com/argosy-cd/argosy/internal/bucket/s3/queue"
)

// TestQueue receives and deletes, by SQS's JSON protocol; lab/e2e has a server with long polling and messages that come again.
func TestQueue(t *testing.T) {
	buckettest.Environment(t)
	var asked []string
	fail := false
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			t.Error(err)
		}
		asked = append(asked, r.Header.Get("X-Amz-Target")+" "+string(body))
		w.Header().Set("Content-Type", "application/x-amz-json-1.0")
		switch {
		case fail:
			w.Header().Set("X-Amzn-Query-Error", "AWS.SimpleQueueService.NonExistentQueue;Sender")
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"__type": "com.amazonaws.sqs#QueueDoesNotExist", "message": "The specified queue does not exist."}`)
		case strings.HasSuffix(r.Header.Get("X-Amz-Target"), ".ReceiveMessage"):
			sum := md5.Sum([]byte("hello")) // see the import
			_ = json.NewEncoder(w).Encode(map[string]any{"Messages": []any{map[string]string{
				"MessageId": "m", "ReceiptHandle": "r",
				"Body": "hello", "MD5OfBody": hex.EncodeToString(sum[:]),
			}}})
		default:
			fmt.Fprint(w, `{"Successful": [{"Id": "0"}], "Failed": []}`)
		}
	}))
	defer server.Close()
	t.Setenv("AWS_ENDPOINT_URL_SQS", server.URL)
	const address = "https://sqs.eu-central-1.amazonaws.com/123456789012/manifests"
	q, err := queue.Open(t.Context(), address)
	if err != nil {
		t.Fatal(err)
	}
	messages, err := q.Receive(t.Context())
	if err != nil || len(messages) != 1 || messages[0].ID != "m" || messages[0].Body != "hello" {
		t.Fatalf("%v, %v", messages, err)
	}
	if err := q.Delete(t.Context(), messages); err != nil {
		t.Error(err)
	}
	if err := q.Delete(t.Context(), nil); err != nil || len(asked) != 2 {
		t.Errorf("%v, %v", asked, err)
	}
	for i, want := range []string{`"WaitTimeSeconds":20`, `"ReceiptHandle":"r"`} {
		if !strings.Contains(asked[i], want) || !strings.Contains(asked[i], address) {
			t.Errorf("%s has no %s", asked[i], want)
		}
	}
	fail = true
	if _, err := q.Receive(t.Context()); err == nil || err.Error() != "receiving from "+address+
		": AWS.SimpleQueueService.NonExistentQueue: The specified queue does not exist." &&
		err.Error() != "receiving from "+address+": QueueDoesNotExist: The specified queue does not exist." {
		t.Error(err)
	}
	for _, bad := range []string{
		"", "manifests", "ftp://x/y/z", "https://sqs.eu-central-1.amazonaws.com",
		"https://user:s3cret@sqs.eu-central-1.amazonaws.com/1/x",
	} {
		if _, err := queue.Open(t.Context(), bad); err == nil || strings.Contains(err.Error(), "s3cret") {
			t.Errorf("%q: %v", bad, err)
		}
	}
	t.Setenv("AWS_REGION", "")
	if _, err := queue.Open(t.Context(), "http://queue.example.com/1/x"); err == nil || !strings.Contains(err.Error(), "set AWS_REGION") {
		t.Error(err)
	}
}
