// Command bench renders the same ApplicationSet with Argo CD's code and with ours, in one process, and prints what
// each took, in the format of Go's benchmarks.
package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"runtime"
	"time"

	apptemplate "github.com/argoproj/argo-cd/v3/applicationset/controllers/template"
	"github.com/argoproj/argo-cd/v3/applicationset/generators"
	"github.com/argoproj/argo-cd/v3/applicationset/utils"
	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/sirupsen/logrus"
	"sigs.k8s.io/yaml"

	"github.com/argosy-cd/argosy/internal/appset"
	"github.com/argosy-cd/argosy/internal/appset/appsettest"
	"github.com/argosy-cd/argosy/internal/manifest"
)

func main() {
	if err := run(os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

type measure struct {
	elapsed time.Duration
	bytes   uint64
	allocs  uint64
}

func run(w io.Writer) error {
	logrus.SetOutput(io.Discard)
	fmt.Fprintln(w, "argocd: 3.2.11")
	for _, n := range []int{1_000, 10_000} {
		object, err := appsettest.BenchSet(n)
		if err != nil {
			return err
		}
		theirs, err := upstream(object, n)
		if err != nil {
			return err
		}
		ours, err := argosy(object, n, false)
		if err != nil {
			return err
		}
		encoded, err := argosy(object, n, true)
		if err != nil {
			return err
		}
		theirs.print(w, fmt.Sprintf("Render/n=%d/by=argocd", n))
		ours.print(w, fmt.Sprintf("Render/n=%d/by=argosy", n))
		encoded.print(w, fmt.Sprintf("RenderYAML/n=%d/by=argosy", n))
	}
	return nil
}

func (m measure) print(w io.Writer, name string) {
	fmt.Fprintf(w, "Benchmark%s 1 %d ns/op %d B/op %d allocs/op\n", name, m.elapsed.Nanoseconds(), m.bytes, m.allocs)
}

func upstream(object []byte, n int) (measure, error) {
	var appSet v1alpha1.ApplicationSet
	if err := yaml.Unmarshal(object, &appSet); err != nil {
		return measure{}, err
	}
	all := map[string]generators.Generator{"List": generators.NewListGenerator()}
	return best(1+2000/n, func() error {
		apps, _, err := apptemplate.GenerateApplications(logrus.NewEntry(logrus.StandardLogger()), appSet, all, &utils.Render{}, nil)
		if err == nil && len(apps) != n {
			err = fmt.Errorf("%d Applications, want %d", len(apps), n)
		}
		return err
	})
}

// argosy renders the set; with whole, it starts from YAML and ends with YAML, as the command does.
func argosy(object []byte, n int, whole bool) (measure, error) {
	docs, err := manifest.Decode("bench", object)
	if err != nil {
		return measure{}, err
	}
	text := manifest.AppendYAML(nil, docs[0].Object)
	parsed, _, err := appset.Parse(docs[0])
	if err != nil {
		return measure{}, err
	}
	return best(20, func() error {
		if whole {
			docs, err := manifest.Decode("bench", text)
			if err != nil {
				return err
			}
			if parsed, _, err = appset.Parse(docs[0]); err != nil {
				return err
			}
		}
		res, err := appset.Generate(context.Background(), appset.Config{}, parsed)
		if err != nil {
			return err
		}
		if len(res.Applications[0]) != n {
			return fmt.Errorf("%d Applications, want %d", len(res.Applications[0]), n)
		}
		if !whole {
			return nil
		}
		var buf bytes.Buffer
		return manifest.WriteYAML(&buf, res.Applications[0]...)
	})
}

// best runs f several times and returns the fastest run.
func best(runs int, f func() error) (measure, error) {
	var best measure
	for range runs {
		runtime.GC()
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		start := time.Now()
		if err := f(); err != nil {
			return best, err
		}
		elapsed := time.Since(start)
		runtime.ReadMemStats(&after)
		if best.elapsed == 0 || elapsed < best.elapsed {
			best = measure{elapsed, after.TotalAlloc - before.TotalAlloc, after.Mallocs - before.Mallocs}
		}
	}
	return best, nil
}
