// Command figures makes one table of what "make bench" has measured, and docs/benchmarks.md. It reads files in the format of Go's
// benchmarks: lines "BenchmarkName 1 12345 ns/op", and "key: value" for the versions of programs.
//
//	figures [-page FILE] FILES...
//
// The page is written only if everything was measured, and if each aim is met or has a reason for why it is not.
package main

import (
	"bufio"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"time"
)

func main() {
	page := flag.String("page", "", "write the page to this file")
	flag.Parse()
	if err := run(os.Stdout, *page, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}

func run(w io.Writer, page string, files []string) error {
	r := results{values: map[metric]float64{}, about: map[string]string{}}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		err = r.read(f)
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	text, missing := r.page(machine())
	if _, err := io.WriteString(w, text); err != nil {
		return err
	}
	if len(missing) > 0 {
		return fmt.Errorf("the page is not written:\n  %s", strings.Join(missing, "\n  "))
	}
	if page == "" {
		return nil
	}
	return os.WriteFile(page, []byte(text), 0o644)
}

// metric is one number of a benchmark.
type metric struct{ name, unit string }

// results are those of all files.
type results struct {
	values map[metric]float64
	about  map[string]string // versions
	order  []string          // of versions
}

var (
	setting = regexp.MustCompile(`^([a-z][a-z0-9-]*): (.+)$`)
	cores   = regexp.MustCompile(`-\d+$`)
)

// read adds the results of a file. Of a benchmark that is there twice, the last one counts.
func (r *results) read(in io.Reader) error {
	lines := bufio.NewScanner(in)
	for lines.Scan() {
		line := lines.Text()
		if m := setting.FindStringSubmatch(line); m != nil {
			switch m[1] {
			case "goos", "goarch", "pkg", "cpu":
			default:
				if r.about[m[1]] == "" {
					r.order = append(r.order, m[1])
				}
				r.about[m[1]] = m[2]
			}
			continue
		}
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "Benchmark") {
			if strings.HasPrefix(line, "--- FAIL") || strings.HasPrefix(line, "FAIL") {
				return errors.New(line)
			}
			continue
		}
		name := cores.ReplaceAllString(strings.TrimPrefix(fields[0], "Benchmark"), "")
		for i := 2; i+1 < len(fields); i += 2 {
			value, err := strconv.ParseFloat(fields[i], 64)
			if err != nil {
				return fmt.Errorf("%q: %w", line, err)
			}
			r.values[metric{name, fields[i+1]}] = value
		}
	}
	return lines.Err()
}

// machine says where this was measured.
func machine() string {
	find := func(file, pattern string) string {
		data, _ := os.ReadFile(file) // where there is none, nothing is said
		if m := regexp.MustCompile(pattern).FindSubmatch(data); m != nil {
			return string(m[1])
		}
		return ""
	}
	parts := []string{strconv.Itoa(runtime.NumCPU()) + " cores"}
	if cpu := find("/proc/cpuinfo", `(?m)^model name\s*: (.+)$`); cpu != "" {
		parts[0] += " of " + cpu
	}
	if kb, err := strconv.Atoi(find("/proc/meminfo", `(?m)^MemTotal:\s+(\d+)`)); err == nil {
		parts = append(parts, fmt.Sprintf("%.0f GB", float64(kb)*1024/1e9))
	}
	if kernel := find("/proc/sys/kernel/osrelease", `^(\d+\.\d+)`); kernel != "" {
		parts = append(parts, runtime.GOOS+" "+kernel)
	}
	return strings.Join(append(parts, runtime.Version(), time.Now().UTC().Format(time.DateOnly)), ", ")
}
