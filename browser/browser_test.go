package browser

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"

	"github.com/argosy-cd/argosy/browser/boot"
	"github.com/argosy-cd/argosy/browser/chrome"
)

// program is argosy, and tab the browser, for all tests.
var (
	program string
	tab     context.Context
)

func TestMain(m *testing.M) {
	if _, err := chrome.Find(); err != nil {
		fmt.Println("browser tests are left out:", err)
		return
	}
	os.Exit(run(m))
}

func run(m *testing.M) int {
	dir, err := os.MkdirTemp("", "argosy-browser")
	if err != nil {
		fmt.Println(err)
		return 1
	}
	defer os.RemoveAll(dir)
	program = filepath.Join(dir, "argosy")
	build := exec.Command("go", "build", "-o", program, "./cmd/argosy")
	build.Dir = ".."
	if out, err := build.CombinedOutput(); err != nil {
		fmt.Printf("building argosy: %v\n%s", err, out)
		return 1
	}
	ctx, stop, err := chrome.Open(context.Background(), filepath.Join(dir, "profile"))
	if err != nil {
		fmt.Println("starting Chromium:", err)
		return 1
	}
	defer stop()
	tab = ctx
	return m.Run()
}

// patience is for everything that a test waits for. Nothing is as slow; a test that waits so long has failed.
const patience = 60 * time.Second

var address = regexp.MustCompile(`http://127\.0\.0\.1:\d+/`)

// start starts argosy and returns the address of its page, and how to end it.
func start(t testing.TB, args ...string) (url string, stop func()) {
	t.Helper()
	cmd := exec.Command(program, args...)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	var talk strings.Builder
	cmd.Stderr = &talk
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := false
	stop = func() {
		if !ended {
			ended = true
			_ = cmd.Process.Kill()
			_ = cmd.Wait()
		}
	}
	t.Cleanup(stop)
	found := make(chan string, 1)
	go func() {
		lines := bufio.NewScanner(out)
		for lines.Scan() {
			if url := address.FindString(lines.Text()); url != "" {
				select {
				case found <- url:
				default:
				}
			}
		}
		close(found)
	}()
	select {
	case url = <-found:
	case <-time.After(patience):
	}
	if url == "" {
		stop()
		t.Fatalf("argosy %s prints no address: %s", strings.Join(args, " "), talk.String())
	}
	return url, stop
}

// recording writes a recording.
func recording(t testing.TB, o boot.Options) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "boot.jsonl")
	f, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(boot.Write(f, o), f.Close()); err != nil {
		t.Fatal(err)
	}
	return name
}

// page is a tab of the browser. Errors of its scripts fail the test.
type page struct {
	t   testing.TB
	ctx context.Context
}

func open(t testing.TB, url string, width, height int64) *page {
	t.Helper()
	ctx, cancel := chromedp.NewContext(tab)
	t.Cleanup(cancel)
	ctx, stop := context.WithTimeout(ctx, 4*time.Minute)
	t.Cleanup(stop)
	p := &page{t, ctx}
	chromedp.ListenTarget(ctx, func(e any) {
		switch e := e.(type) {
		case *runtime.EventExceptionThrown:
			t.Errorf("a script failed: %s %s", e.ExceptionDetails.Text, e.ExceptionDetails.Exception.Description)
		case *runtime.EventConsoleAPICalled:
			if e.Type == runtime.APITypeError {
				t.Errorf("the console has an error: %s", e.Args[0].Value)
			}
		}
	})
	p.do(chromedp.EmulateViewport(width, height), chromedp.Navigate(url), chromedp.WaitVisible(".card", chromedp.ByQuery))
	return p
}

func (p *page) do(actions ...chromedp.Action) {
	p.t.Helper()
	if err := chromedp.Run(p.ctx, actions...); err != nil {
		p.t.Fatal(err)
	}
}

// eval runs a script and returns its value, as text.
func (p *page) eval(script string) string {
	p.t.Helper()
	var out string
	p.do(chromedp.Evaluate(`(async () => String(await (async () => { `+script+` })()))()`, &out,
		func(e *runtime.EvaluateParams) *runtime.EvaluateParams { return e.WithAwaitPromise(true) }))
	return out
}

// until waits until an expression has a value.
func (p *page) until(expression, want string) {
	p.t.Helper()
	got := ""
	for end := time.Now().Add(patience); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		if got = p.eval("return " + expression); got == want {
			return
		}
	}
	p.t.Fatalf("%s is %q, not %q; the headline is %q", expression, got, want, p.eval("return document.getElementById('headline').textContent"))
}

// click clicks on what a selector finds.
func (p *page) click(selector string) {
	p.t.Helper()
	p.eval(`document.querySelector('` + selector + `').click(); await new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))`)
}

// key presses a key.
func (p *page) key(keys string) {
	p.t.Helper()
	p.do(chromedp.KeyEvent(keys))
	p.eval(`await new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r)))`)
}

func (p *page) text(selector string) string {
	p.t.Helper()
	return p.eval(`return document.querySelector('` + selector + `')?.textContent`)
}

// free is an address that nobody listens on.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().String()
}

func get(t *testing.T, url string) string {
	t.Helper()
	res, err := http.Get(url)
	if err != nil {
		t.Fatal(err)
	}
	defer res.Body.Close()
	data, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}
