package worker

import (
	"errors"
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// maxCPU bounds the seconds that a worker computes in its life. Its host kills it much earlier; this is for a host that cannot.
const maxCPU = 1200

// maxMainStack bounds the stack of the first thread, which Go hardly uses and RLIMIT_DATA does not count. It is the usual limit.
const maxMainStack = 8 << 20

// reserved is how many addresses a worker may have without memory. The Go runtime reserves about 1.5 GiB.
const reserved = 4 << 30

// confine drops the rights that this process does not need. It is called before untrusted data is read.
func confine(memory int64, filtered bool) Confinement {
	// If the container has no memory left, the system ends a worker and not its host.
	_ = os.WriteFile("/proc/self/oom_score_adj", []byte("1000"), 0)
	var errs []error
	for _, l := range []struct {
		what  int
		limit uint64
	}{
		{unix.RLIMIT_CORE, 0},
		{unix.RLIMIT_FSIZE, 0},
		{unix.RLIMIT_NOFILE, 32},
		{unix.RLIMIT_CPU, maxCPU},
		{unix.RLIMIT_STACK, maxMainStack},
	} {
		if err := unix.Setrlimit(l.what, &unix.Rlimit{Cur: l.limit, Max: l.limit}); err != nil {
			errs = append(errs, fmt.Errorf("limit %d: %w", l.what, err))
		}
	}
	// RLIMIT_DATA counts writable memory. RLIMIT_AS also counts memory that Go reserves and never uses, a gigabyte and more. It bounds the
	// rest: page tables of memory that is only read, and stacks.
	hard := uint64(memory) + overhead
	c := Confinement{Memory: true, Calls: true}
	if overhead > 1<<40 {
		c.Memory = false
		errs = append(errs, errors.New("limit of memory: not with the race detector"))
	} else if err := errors.Join(unix.Setrlimit(unix.RLIMIT_DATA, &unix.Rlimit{Cur: hard, Max: hard}),
		unix.Setrlimit(unix.RLIMIT_AS, &unix.Rlimit{Cur: hard + reserved, Max: hard + reserved})); err != nil {
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
