package worker

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// maxCPU bounds the seconds that a worker computes in its life. Its host kills it much earlier; this is for a host that cannot.
const maxCPU = 1200

// confine takes from this process what it does not need. It is called before anything that is not trusted is read.
func confine(memory int64, filtered bool) Confinement {
	// If the container has no memory left, the system ends a worker and not its host.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	var errs []error
	for _, l := range []struct {
		what  int
		limit uint64
	}{{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_FSIZE, 0}, {unix.RLIMIT_NOFILE, 32}, {unix.RLIMIT_CPU, maxCPU}} {
		if err := unix.Setrlimit(l.what, &unix.Rlimit{Cur: l.limit, Max: l.limit}); err != nil {
			errs = append(errs, fmt.Errorf("limit %d: %w", l.what, err))
		}
	}
	// RLIMIT_AS would count what Go reserves and never uses, a gigabyte and more. RLIMIT_DATA counts what can be written.
	hard := uint64(memory) + overhead
	c := Confinement{Memory: true, Calls: true}
	if overhead > 1<<40 {
		c.Memory = false
		errs = append(errs, errors.New("limit of memory: not with the race detector"))
	} else if err := unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: hard, Max: hard}); err != nil {
		c.Memory = false
		errs = append(errs, fmt.Errorf("limit of memory: %w", err))
	}
	err := errors.New("no worker starts with it")
	if filtered {
		err = filterCalls()
	}
	if err != nil {
		c.Calls = false
		errs = append(errs, fmt.Errorf("filter of system calls: %w", err))
	}
	if err := errors.Join(errs...); err != nil {
		c.Missing = err.Error()
	}
	return c
}
