package worker

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// spawner starts processes from one thread that lives as long as it does: the kernel kills a child with the thread that has started it, and
// children have the thread's priority.
type spawner struct{ calls chan func() }

// niceness is the niceness of workers: their host has priority, because it serves all clients.
const niceness = 5

// lowest is the least priority that there is.
const lowest = 19

func newSpawner() *spawner {
	s := &spawner{calls: make(chan func())}
	go func() {
		// No unlock: the thread ends with the goroutine.
		runtime.LockOSThread()
		if own, err := unix.Getpriority(unix.PRIO_PROCESS, 0); err == nil {
			// The kernel answers with 20 minus the niceness.
			_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), min(20-own+niceness, lowest))
		}
		for call := range s.calls {
			call()
		}
	}()
	return s
}

func (s *spawner) start(cmd *exec.Cmd) error {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
	done := make(chan error, 1)
	s.calls <- func() { done <- cmd.Start() }
	return <-done
}

func (s *spawner) close() { close(s.calls) }

func killGroup(p *os.Process) {
	_ = syscall.Kill(-p.Pid, syscall.SIGKILL)
	_ = p.Kill()
}

// computed is how long a process has computed, in all its threads.
func computed(pid int) time.Duration {
	var t unix.Timespec
	// The number of a process's clock: see CPUCLOCK_SCHED in the kernel's include/linux/posix-timers_types.h.
	if unix.ClockGettime(int32(^pid<<3|2), &t) != nil {
		return 0
	}
	return time.Duration(t.Nano())
}

// lower gives the processes of a group the lowest priority, and reports whether that worked.
func lower(group int) bool { return unix.Setpriority(unix.PRIO_PGRP, group, lowest) == nil }

// peak is the most memory that a process had, or its host when it started the process: the kernel takes the one for the other.
func peak(s *os.ProcessState) int64 {
	if usage, ok := s.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss << 10
	}
	return 0
}

// ownPeak is the most memory that this process had.
func ownPeak() int64 {
	var usage syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &usage)
	return usage.Maxrss << 10
}
