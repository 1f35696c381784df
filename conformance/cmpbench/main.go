// Command cmpbench asks our plugins the same things with the client of Argo CD's repo-server: by the sockets of "argosy cmp",
// by the same with --workers 0, and by Argo CD's own plugin server with our plugin.yaml, and prints what each took.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/argoproj/argo-cd/v3/cmpserver/apiclient"
	"github.com/argoproj/argo-cd/v3/util/cmp"
	"github.com/sirupsen/logrus"
	"google.golang.org/protobuf/types/known/emptypb"
)

func main() {
	logrus.SetOutput(io.Discard)
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if err := run(ctx, os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		stop()
		os.Exit(1)
	}
}

// scenario is a request.
type scenario struct {
	name, plugin string
	repo, app    string // directories
	env          []string
	objects      int
}

// server is one way to run a plugin.
type server struct {
	name    string
	sockets map[string]string
	pids    map[string]int
}

func run(ctx context.Context, w io.Writer) (err error) {
	dir, err := os.MkdirTemp("", "cmpbench")
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancel(ctx)
	var started []*exec.Cmd
	defer func() {
		cancel()
		for _, c := range started {
			_ = c.Wait()
		}
		err = errors.Join(err, os.RemoveAll(dir))
	}()
	b := &bench{ctx: ctx, dir: dir, start: func(c *exec.Cmd) error {
		log, err := os.Create(filepath.Join(dir, strconv.Itoa(len(started))+".log"))
		if err != nil {
			return err
		}
		c.Stdout, c.Stderr = log, log
		started = append(started, c)
		return c.Start()
	}}
	if err := b.programs(); err != nil {
		return err
	}
	if err := b.s3(); err != nil {
		return err
	}
	scenarios, err := b.scenarios()
	if err != nil {
		return err
	}
	native, err := b.native("n")
	if err != nil {
		return err
	}
	inside, err := b.native("i", "--workers", "0")
	if err != nil {
		return err
	}
	if err := b.workers(w, scenarios, native, inside); err != nil {
		return err
	}
	stock, err := b.stock()
	if err != nil {
		return err
	}
	fmt.Fprintf(w, "\n| one plugin call | argocd-cmp-server and plugin.yaml | argosy cmp | ratio |\n|---|---|---|---|\n")
	for _, s := range scenarios {
		theirs, err := measure(ctx, stock, s, 15)
		if err != nil {
			return fmt.Errorf("%s, stock: %w", s.name, err)
		}
		ours, err := measure(ctx, native, s, 100)
		if err != nil {
			return fmt.Errorf("%s, native: %w", s.name, err)
		}
		fmt.Fprintf(w, "| %s: median | %s | %s | %.0f× |\n", s.name, round(theirs.median), round(ours.median),
			float64(theirs.median)/float64(ours.median))
		fmt.Fprintf(w, "| %s: calls per second, 8 at a time | %.1f | %.1f | %.0f× |\n", s.name, theirs.rate, ours.rate,
			ours.rate/theirs.rate)
		fmt.Fprintf(w, "| %s: CPU per call | %s | %s | %.0f× |\n", s.name, round(theirs.cpu), round(ours.cpu),
			float64(theirs.cpu)/float64(max(ours.cpu, 1)))
	}
	return nil
}

type bench struct {
	ctx      context.Context
	dir      string
	start    func(*exec.Cmd) error
	argosy   string
	argocd   string
	versity  string
	endpoint string
}

// programs builds ours, and finds those of the lab.
func (b *bench) programs() error {
	build := exec.CommandContext(b.ctx, "go", "build", "-trimpath", "-ldflags=-s -w", "-o", filepath.Join(b.dir, "argosy"), "./cmd/argosy")
	build.Dir, build.Env = "..", append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		return fmt.Errorf("building argosy: %w\n%s", err, out)
	}
	b.argosy = filepath.Join(b.dir, "argosy")
	tools := exec.CommandContext(b.ctx, "go", "run", "./cmd/program", "argocd", "versitygw")
	tools.Dir, tools.Stderr = "../lab", os.Stderr
	out, err := tools.Output()
	if err != nil {
		return err
	}
	paths := strings.Fields(string(out))
	b.argocd, b.versity = paths[0], paths[1]
	return nil
}

// s3 starts an S3 server with ten manifests in it.
func (b *bench) s3() error {
	l, err := (&net.ListenConfig{}).Listen(b.ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	address := l.Addr().String()
	if err := l.Close(); err != nil {
		return err
	}
	data := filepath.Join(b.dir, "s3")
	if err := os.MkdirAll(filepath.Join(data, "bench"), 0o755); err != nil {
		return err
	}
	c := exec.CommandContext(b.ctx, b.versity, "--port", address, "posix", data)
	c.Env = append(os.Environ(), "ROOT_ACCESS_KEY=bench-access", "ROOT_SECRET_KEY=bench-secret-key")
	if err := b.start(c); err != nil {
		return err
	}
	b.endpoint = "http://" + address
	files := map[string]string{}
	for i := range 10 {
		files[fmt.Sprintf("%d.yaml", i)] = fmt.Sprintf("apiVersion: v1\nkind: ConfigMap\nmetadata: {name: cm-%d}\ndata: {text: %q}\n", i,
			strings.Repeat("x", 2000))
	}
	source, err := b.write("manifests", files)
	if err != nil {
		return err
	}
	for range 100 {
		push := exec.CommandContext(b.ctx, b.argosy, "s3", "push", source, "s3://bench/app")
		push.Env = b.environment()
		if err = push.Run(); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("pushing to the S3 server: %w", err)
}

func (b *bench) environment() []string {
	return append(os.Environ(), "AWS_ENDPOINT_URL_S3="+b.endpoint, "AWS_ACCESS_KEY_ID=bench-access",
		"AWS_SECRET_ACCESS_KEY=bench-secret-key", "AWS_REGION=us-east-1",
		"AWS_CONFIG_FILE="+os.DevNull, "AWS_SHARED_CREDENTIALS_FILE="+os.DevNull, "ARGOSY_CACHE_DIR="+filepath.Join(b.dir, "cache"),
		"KUBERNETES_SERVICE_HOST=",
		"PATH="+b.dir+":"+os.Getenv("PATH"))
}

func (b *bench) write(name string, files map[string]string) (string, error) {
	dir := filepath.Join(b.dir, name)
	for name, content := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
			return "", err
		}
		if err := os.WriteFile(file, []byte(content), 0o644); err != nil {
			return "", err
		}
	}
	return dir, nil
}

func spec(n int) string {
	var elements []string
	for i := range n {
		elements = append(elements, fmt.Sprintf("{name: app-%d, team: team-%d}", i, i%10))
	}
	return "goTemplate: true\ngenerators: [{list: {elements: [" + strings.Join(elements, ", ") + `]}}]
template:
  metadata: {name: '{{ .name }}', labels: {team: '{{ .team }}'}}
  spec:
    project: default
    source: {repoURL: https://git.example.com/x, path: 'apps/{{ .name }}', targetRevision: main}
    destination: {server: https://kubernetes.default.svc, namespace: '{{ .name }}'}
    syncPolicy: {automated: {prune: true}}
`
}

func (b *bench) scenarios() ([]scenario, error) {
	small, err := b.write("small", map[string]string{"app/readme": "x\n"})
	if err != nil {
		return nil, err
	}
	set := "apiVersion: argoproj.io/v1alpha1\nkind: ApplicationSet\nmetadata: {name: x}\nspec:\n  " +
		strings.ReplaceAll(strings.TrimSpace(spec(10)), "\n", "\n  ") + "\n"
	files := map[string]string{"apps/set.yaml": set}
	noise := make([]byte, 1<<20)
	for i := range 20 {
		for j := range noise {
			noise[j] = byte(rand.Uint32())
		}
		files[fmt.Sprintf("assets/%d", i)] = string(noise)
	}
	large, err := b.write("large", files)
	if err != nil {
		return nil, err
	}
	trigger, err := b.write("trigger", map[string]string{"app/s3-source.yaml": "bucket: bench\npath: app\n"})
	if err != nil {
		return nil, err
	}
	chart, err := b.write("chart", map[string]string{
		"app/Chart.yaml":  "apiVersion: v2\nname: bench\nversion: 1.0.0\n",
		"app/values.yaml": "names: [" + strings.Repeat("x, ", 10) + "]\n",
		"app/templates/cm.yaml": `{{ define "labels" }}{app: {{ .Release.Name | quote }}, chart: {{ printf "%s-%s" .Chart.Name .Chart.Version }}}{{ end }}` +
			"{{ range $i, $name := .Values.names }}\n---\napiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: {{ $name }}-{{ $i }}\n  " +
			"labels: {{ include \"labels\" $ }}\ndata: {text: {{ repeat 100 $name | quote }}}\n{{ end }}",
	})
	if err != nil {
		return nil, err
	}
	return []scenario{
		{"appset, spec of 10 Applications", "appset", small, filepath.Join(small, "app"), []string{"PARAM_SPEC=" + spec(10)}, 10},
		{"appset, spec of 1,000 Applications", "appset", small, filepath.Join(small, "app"), []string{"PARAM_SPEC=" + spec(1000)}, 1000},
		{"appset, folder in a repository of 20 MB", "appset", large, filepath.Join(large, "apps"), nil, 10},
		{"appset, folder with a chart", "appset", chart, filepath.Join(chart, "app"), nil, 10},
		{"s3, 10 manifests, unchanged", "s3", trigger, filepath.Join(trigger, "app"), nil, 10},
	}, nil
}

// native starts "argosy cmp" with a directory of its own.
func (b *bench) native(name string, flags ...string) (server, error) {
	dir := filepath.Join(b.dir, name)
	s := server{name, map[string]string{}, map[string]int{}}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return s, err
	}
	c := exec.CommandContext(b.ctx, b.argosy, append([]string{"cmp", "--socket-dir", dir, "--listen", "none"}, flags...)...)
	c.Env = b.environment()
	if err := b.start(c); err != nil {
		return s, err
	}
	for _, name := range []string{"appset", "s3"} {
		s.sockets[name], s.pids[name] = filepath.Join(dir, name+".sock"), c.Process.Pid
	}
	return s, awaitSockets(b.ctx, s)
}

func (b *bench) stock() (server, error) {
	dir := filepath.Join(b.dir, "s")
	s := server{"stock", map[string]string{}, map[string]int{}}
	if err := os.Mkdir(dir, 0o755); err != nil {
		return s, err
	}
	for _, name := range []string{"appset", "s3"} {
		config, err := filepath.Abs("../deploy/" + name + "-cmp")
		if err != nil {
			return s, err
		}
		c := exec.CommandContext(b.ctx, b.argocd, "--config-dir-path", config, "--loglevel", "error")
		c.Env = append(b.environment(), "ARGOCD_BINARY_NAME=argocd-cmp-server", "ARGOCD_PLUGINSOCKFILEPATH="+dir,
			"ARGOCD_CMP_WORKDIR="+filepath.Join(b.dir, "work-"+name))
		if err := b.start(c); err != nil {
			return s, err
		}
		s.sockets[name], s.pids[name] = filepath.Join(dir, name+".sock"), c.Process.Pid
	}
	return s, awaitSockets(b.ctx, s)
}

func awaitSockets(ctx context.Context, s server) error {
	for _, socket := range s.sockets {
		for {
			if _, err := os.Stat(socket); err == nil {
				break
			}
			if ctx.Err() != nil {
				return ctx.Err()
			}
			time.Sleep(20 * time.Millisecond)
		}
	}
	return nil
}

// workers prints what it costs to evaluate in workers. Both servers are asked in turns, so that whatever else the machine does hits both.
func (b *bench) workers(w io.Writer, scenarios []scenario, native, inside server) error {
	const n, rounds = 400, 5
	fmt.Fprintf(w, "| one plugin call | `--workers 0` | workers | difference |\n|---|---|---|---|\n")
	for _, s := range scenarios {
		if strings.Contains(s.name, "20 MB") { // that is Argo CD's time
			continue
		}
		var times [2][]time.Duration
		var rates [2][]float64
		var used [2]time.Duration
		for j, server := range []server{inside, native} {
			used[j] = -cpu(server.pids[s.plugin])
		}
		for i := range n {
			for j, server := range []server{inside, native} {
				began := time.Now()
				if err := call(b.ctx, server.sockets[s.plugin], s, 100_000+i); err != nil {
					return fmt.Errorf("%s, %s: %w", s.name, server.name, err)
				}
				times[j] = append(times[j], time.Since(began))
			}
		}
		for j, server := range []server{inside, native} {
			used[j] = (used[j] + cpu(server.pids[s.plugin])) / n
		}
		for i := range rounds {
			for j, server := range []server{inside, native} {
				rate, err := crowd(b.ctx, server, s, 200, 200_000+10_000*i)
				if err != nil {
					return fmt.Errorf("%s, %s: %w", s.name, server.name, err)
				}
				rates[j] = append(rates[j], rate)
			}
		}
		for j := range times {
			slices.Sort(times[j])
			slices.Sort(rates[j])
		}
		for _, row := range []struct {
			name string
			at   int
		}{{"median", n / 2}, {"p99", n * 99 / 100}} {
			without, with := times[0][row.at], times[1][row.at]
			fmt.Fprintf(w, "| %s: %s | %s | %s | %+.2f ms |\n", s.name, row.name, round(without), round(with),
				(with-without).Seconds()*1000)
		}
		fmt.Fprintf(w, "| %s: CPU per call | %s | %s | %+.2f ms |\n", s.name, round(used[0]), round(used[1]),
			(used[1]-used[0]).Seconds()*1000)
		without, with := rates[0][rounds/2], rates[1][rounds/2]
		fmt.Fprintf(w, "| %s: calls per second, 8 at a time | %.0f | %.0f | %.2f× |\n", s.name, without, with, with/without)
	}
	return nil
}

type result struct {
	median, cpu time.Duration
	rate        float64
}

func measure(ctx context.Context, s server, c scenario, n int) (result, error) {
	var r result
	if err := call(ctx, s.sockets[c.plugin], c, 0); err != nil { // caches
		return r, err
	}
	before := cpu(s.pids[c.plugin])
	times := make([]time.Duration, n)
	for i := range times {
		began := time.Now()
		if err := call(ctx, s.sockets[c.plugin], c, i+1); err != nil {
			return r, err
		}
		times[i] = time.Since(began)
	}
	r.cpu = (cpu(s.pids[c.plugin]) - before) / time.Duration(n)
	slices.Sort(times)
	r.median = times[n/2]

	var err error
	r.rate, err = crowd(ctx, s, c, n, 0)
	return r, err
}

// crowd asks n times, 8 at a time, and returns how many are answered in a second. Revisions are above first.
func crowd(ctx context.Context, s server, c scenario, n, first int) (float64, error) {
	began := time.Now()
	var wg sync.WaitGroup
	errs := make([]error, 8)
	for i := range errs {
		wg.Go(func() {
			for j := range (n + 7) / 8 {
				errs[i] = errors.Join(errs[i], call(ctx, s.sockets[c.plugin], c, first+1000*(i+1)+j))
			}
		})
	}
	wg.Wait()
	return float64((n+7)/8*8) / time.Since(began).Seconds(), errors.Join(errs...)
}

// call does what the repo-server does for an application that names its plugin. Each call is for another revision, so
// that none is answered by the work of another.
func call(ctx context.Context, socket string, s scenario, i int) error {
	conn, client, err := apiclient.NewConfigManagementPluginClientSet(socket).NewConfigManagementPluginClient()
	if err != nil {
		return err
	}
	defer conn.Close()
	env := append([]string{
		"ARGOCD_APP_NAME=web", "ARGOCD_APP_PROJECT_NAME=default", "ARGOCD_APP_NAMESPACE=argocd",
		"ARGOCD_APP_REVISION=" + strconv.Itoa(i), "KUBE_VERSION=1.34.0",
	}, s.env...)
	rel, err := filepath.Rel(s.repo, s.app)
	if err != nil {
		return err
	}
	env = append(env, "ARGOCD_APP_SOURCE_PATH="+rel)
	config, err := client.CheckPluginConfiguration(ctx, &emptypb.Empty{})
	if err != nil {
		return err
	}
	if config.IsDiscoveryConfigured {
		match, err := client.MatchRepository(ctx)
		if err != nil {
			return err
		}
		if err := cmp.SendRepoStream(ctx, s.app, s.repo, match, env, nil); err != nil {
			return err
		}
		if answer, err := match.CloseAndRecv(); err != nil || !answer.IsSupported {
			return fmt.Errorf("not supported: %w", err)
		}
	}
	stream, err := client.GenerateManifest(ctx)
	if err != nil {
		return err
	}
	if err := cmp.SendRepoStream(ctx, s.app, s.repo, stream, env, nil); err != nil {
		return err
	}
	answer, err := stream.CloseAndRecv()
	if err == nil && len(answer.Manifests) != s.objects {
		err = fmt.Errorf("%d objects, want %d", len(answer.Manifests), s.objects)
	}
	return err
}

// cpu is the time that a process and those that it has started have used.
func cpu(pid int) time.Duration {
	files, _ := filepath.Glob("/proc/[0-9]*/stat")
	total := 0
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // it has ended
		}
		fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
		if own := strconv.Itoa(pid); filepath.Dir(file) != "/proc/"+own && fields[1] != own {
			continue
		}
		for _, i := range []int{11, 12, 13, 14} { // utime, stime, cutime, cstime, in hundredths of a second
			n, _ := strconv.Atoi(fields[i])
			total += n
		}
	}
	return time.Duration(total) * 10 * time.Millisecond
}

func round(d time.Duration) time.Duration {
	switch {
	case d > time.Second:
		return d.Round(10 * time.Millisecond)
	case d > 10*time.Millisecond:
		return d.Round(100 * time.Microsecond)
	default:
		return d.Round(10 * time.Microsecond)
	}
}
