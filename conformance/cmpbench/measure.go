package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/argoproj/argo-cd/v3/cmpserver/apiclient"
	"github.com/argoproj/argo-cd/v3/util/cmp"
	"google.golang.org/protobuf/types/known/emptypb"
)

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
