package worker

import (
	"os"
	"os/exec"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// spawner starts processes from one thread that lives as long as it does: the kernel kills a child with the thread that has started it, and
// children have the thread's priority.
type spawner struct{ calls chan func() }

// niceness puts workers behind their host, which must answer everybody.
const niceness = 5

func newSpawner() *spawner {
	s := &spawner{calls: make(chan func())}
	go func() {
		// It is not unlocked: the thread ends with the goroutine.
		runtime.LockOSThread()
		_ = unix.Setpriority(unix.PRIO_PROCESS, unix.Gettid(), niceness)
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

// peak is the most memory that a process had.
func peak(s *os.ProcessState) int64 {
	if usage, ok := s.SysUsage().(*syscall.Rusage); ok {
		return usage.Maxrss << 10
	}
	return 0
}
