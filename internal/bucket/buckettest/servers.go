package buckettest

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket/s3/local"
)

// Keys of the servers.
const (
	AccessKey = "argosy-access"
	SecretKey = "argosy-secret-key"
)

// Environment sets the variables of the AWS SDK to the keys, and keeps everything else of the machine away from it.
func Environment(t testing.TB) {
	for k, v := range map[string]string{
		"AWS_ACCESS_KEY_ID": AccessKey, "AWS_SECRET_ACCESS_KEY": SecretKey, "AWS_REGION": "us-east-1",
		"AWS_SESSION_TOKEN": "", "AWS_PROFILE": "", "AWS_ENDPOINT_URL": "", "AWS_ENDPOINT_URL_S3": "", "AWS_ROLE_ARN": "",
		"AWS_WEB_IDENTITY_TOKEN_FILE":        "",
		"AWS_CONTAINER_CREDENTIALS_FULL_URI": "", "AWS_CA_BUNDLE": "",
		"AWS_CONFIG_FILE": os.DevNull, "AWS_SHARED_CREDENTIALS_FILE": os.DevNull, "AWS_EC2_METADATA_DISABLED": "true",
	} {
		t.Setenv(k, v)
	}
}

// InProcess starts an S3 server in this process, with buckets, and returns its URL. It does not check credentials.
func InProcess(t testing.TB, buckets ...string) string {
	t.Helper()
	return startLocal(t, local.Config{Buckets: buckets})
}

// Versions starts an S3 server in this process whose bucket keeps versions. It returns its URL and lets time pass there.
func Versions(t testing.TB, name string) (url string, pass func(time.Duration)) {
	t.Helper()
	var passed atomic.Int64
	start := time.Now().Truncate(time.Second)
	now := func() time.Time { return start.Add(time.Duration(passed.Load())) }
	return startLocal(t, local.Config{Buckets: []string{name}, Versions: true, Now: now}), func(d time.Duration) { passed.Add(int64(d)) }
}

func startLocal(t testing.TB, c local.Config) string {
	t.Helper()
	server, err := local.Start(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = server.Close() })
	return server.URL
}

// Versity starts a real S3 server, with buckets, and returns its URL. The program is built if need be.
func Versity(t testing.TB, buckets ...string) string {
	t.Helper()
	path, err := versity(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	for _, b := range buckets {
		if err := os.Mkdir(filepath.Join(dir, b), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	address := freeAddress(t)
	// Not the test's context, which ends before the clean-up.
	ctx, cancel := context.WithCancel(context.Background())
	cmd := exec.CommandContext(ctx, path, "--quiet", "--port", address, "posix", dir)
	cmd.Env = append(os.Environ(), "ROOT_ACCESS_KEY="+AccessKey, "ROOT_SECRET_KEY="+SecretKey)
	var output strings.Builder
	cmd.Stdout, cmd.Stderr = &output, &output
	if err := cmd.Start(); err != nil {
		cancel()
		t.Fatal(err)
	}
	exited := make(chan error, 1)
	go func() { exited <- cmd.Wait() }()
	t.Cleanup(func() { cancel(); <-exited })
	awaitServer(t, "http://"+address, exited, &output)
	return "http://" + address
}

// versity returns the path of the server's program.
func versity(ctx context.Context) (string, error) {
	root, err := exec.CommandContext(ctx, "go", "list", "-m", "-f", "{{.Dir}}", "github.com/argosy-cd/argosy").Output()
	if err != nil {
		return "", fmt.Errorf("finding the repository: %w", err)
	}
	cmd := exec.CommandContext(ctx, "go", "run", "./cmd/program", "versitygw")
	cmd.Dir = filepath.Join(strings.TrimSpace(string(root)), "lab")
	cmd.Stderr = os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return "", fmt.Errorf("building the S3 server: %w", err)
	}
	return strings.TrimSpace(string(out)), nil
}

func awaitServer(t testing.TB, url string, exited chan error, output fmt.Stringer) {
	t.Helper()
	for range 300 {
		response, err := http.Get(url + "/health-of-test")
		if err == nil {
			response.Body.Close()
			return
		}
		select {
		case err := <-exited:
			exited <- err
			t.Fatalf("the S3 server ended: %v\n%s", err, output)
		case <-time.After(50 * time.Millisecond):
		}
	}
	t.Fatalf("the S3 server does not answer")
}

func freeAddress(t testing.TB) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}
