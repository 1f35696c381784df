package main

import (
	"bytes"
	"encoding/xml"
	"io"
	"net/http"
	"os"
	"path"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
)

// setupS3 gives a script an S3 server of its own, with the buckets "artifacts" and "other", behind a proxy that can fail.
func setupS3(t *testing.T, env *testscript.Env) {
	server := buckettest.InProcess(t, "artifacts", "other")
	proxy := buckettest.NewProxy(t, server)
	env.Values["server"], env.Values["proxy"] = server, proxy
	for k, v := range map[string]string{
		"S3": proxy.URL, "AWS_ENDPOINT_URL_S3": proxy.URL, "AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": buckettest.AccessKey,
		"AWS_SECRET_ACCESS_KEY": buckettest.SecretKey,
		"AWS_CONFIG_FILE":       os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
		"ARGOSY_CACHE_DIR": env.WorkDir + "/.cache",
	} {
		env.Setenv(k, v)
	}
}

// request sends a request to the server, past the proxy.
func request(ts *testscript.TestScript, method, path, body string) string {
	r, err := http.NewRequest(method, ts.Value("server").(string)+"/"+path, strings.NewReader(body))
	ts.Check(err)
	response, err := http.DefaultClient.Do(r)
	ts.Check(err)
	defer response.Body.Close()
	data, err := io.ReadAll(response.Body)
	ts.Check(err)
	if response.StatusCode >= 300 {
		ts.Fatalf("%s %s: %s", method, path, response.Status)
	}
	return string(data)
}

// s3put stores files as somebody without argosy does: s3put artifacts/apps/demo FILE... ; "-" and a key deletes.
func s3put(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: s3put BUCKET/DIR FILE... | s3put - BUCKET/KEY")
	}
	if args[0] == "-" {
		request(ts, http.MethodDelete, args[1], "")
		return
	}
	for _, file := range args[1:] {
		request(ts, http.MethodPut, args[0]+"/"+path.Base(file), ts.ReadFile(file))
	}
}

// s3keys prints the keys of a bucket.
func s3keys(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: s3keys BUCKET")
	}
	var listing struct {
		Contents []struct{ Key string }
	}
	ts.Check(xml.Unmarshal([]byte(request(ts, http.MethodGet, args[0], "")), &listing))
	for _, o := range listing.Contents {
		_, _ = io.WriteString(ts.Stdout(), o.Key+"\n")
	}
}

// s3fault lets requests fail: s3fault LIST 503 SlowDown, s3fault GET hang|truncate, s3fault none.
func s3fault(ts *testscript.TestScript, neg bool, args []string) {
	proxy := ts.Value("proxy").(*buckettest.Proxy)
	var fault buckettest.Fault
	switch {
	case neg || len(args) == 0:
		ts.Fatalf("usage: s3fault KIND STATUS CODE | s3fault KIND hang|truncate | s3fault none")
	case args[0] == "none":
	case args[1] == "hang":
		fault = buckettest.Hang
	case args[1] == "truncate":
		fault = buckettest.Truncate
	default:
		status, err := strconv.Atoi(args[1])
		ts.Check(err)
		fault = buckettest.Answer(status, args[2])
	}
	if fault != nil {
		fault = buckettest.Times(1_000_000, args[0], fault)
	}
	proxy.Set(fault)
}

// s3count compares the number of requests since the last s3fault: s3count LIST 1.
func s3count(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: s3count KIND N")
	}
	if n := ts.Value("proxy").(*buckettest.Proxy).Count(args[0]); strconv.Itoa(n) != args[1] {
		ts.Fatalf("%d requests %s, want %s", n, args[0], args[1])
	}
}

// TestExampleS3 does what examples/s3/README.md says.
func TestExampleS3(t *testing.T) {
	buckettest.Environment(t)
	t.Setenv("AWS_ENDPOINT_URL_S3", buckettest.InProcess(t, "artifacts"))
	t.Setenv("ARGOSY_CACHE_DIR", "none")
	readme, err := os.ReadFile("../../examples/s3/README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "```sh\n")
	commands, _, ok := strings.Cut(rest, "```")
	if !ok {
		t.Fatal("no commands in the README")
	}
	t.Chdir("../../examples/s3")
	var out, talk bytes.Buffer
	for line := range strings.Lines(commands) {
		out.Reset()
		std := process()
		std.Out, std.Err = &out, &talk
		if code := execute(t.Context(), std, strings.Fields(line)[1:]); code != exitDone {
			t.Fatalf("%s: %d\n%s", line, code, talk.String())
		}
	}
	if want := "deployment.apps/demo\nservice/demo\n"; out.String() != want {
		t.Errorf("got  %s\nwant %s", out.String(), want)
	}
}
