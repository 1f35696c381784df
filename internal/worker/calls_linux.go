//go:build amd64 || arm64

package worker

import (
	"os"
	"runtime"
	"unsafe"

	"golang.org/x/sys/unix"
)

// allowed are the system calls of the Go runtime, and reading and writing what is open. Everything else is refused with EPERM. So a worker
// opens nothing, neither file nor socket, starts no program, and touches no other process. mremap is not among them: it enlarges the stack,
// which RLIMIT_DATA does not count.
var allowed = append([]uintptr{
	unix.SYS_READ, unix.SYS_WRITE, unix.SYS_READV, unix.SYS_WRITEV, unix.SYS_CLOSE, unix.SYS_FSTAT, unix.SYS_LSEEK, unix.SYS_FCNTL,
	unix.SYS_MUNMAP, unix.SYS_MPROTECT, unix.SYS_MADVISE, unix.SYS_MINCORE, unix.SYS_BRK,
	unix.SYS_FUTEX, unix.SYS_SCHED_YIELD, unix.SYS_SCHED_GETAFFINITY, unix.SYS_NANOSLEEP, unix.SYS_CLOCK_NANOSLEEP, unix.SYS_CLOCK_GETTIME,
	unix.SYS_CLOCK_GETRES, unix.SYS_GETTIMEOFDAY,
	unix.SYS_RT_SIGACTION, unix.SYS_RT_SIGPROCMASK, unix.SYS_RT_SIGRETURN, unix.SYS_SIGALTSTACK, unix.SYS_RESTART_SYSCALL,
	unix.SYS_GETPID, unix.SYS_GETTID, unix.SYS_EXIT, unix.SYS_EXIT_GROUP, unix.SYS_SET_ROBUST_LIST, unix.SYS_RSEQ, unix.SYS_MEMBARRIER,
	unix.SYS_EPOLL_CREATE1, unix.SYS_EPOLL_CTL, unix.SYS_EPOLL_PWAIT, unix.SYS_EVENTFD2, unix.SYS_PIPE2,
	unix.SYS_TIMER_CREATE, unix.SYS_TIMER_SETTIME, unix.SYS_TIMER_DELETE, unix.SYS_SETITIMER, unix.SYS_GETRANDOM, unix.SYS_GETRUSAGE,
	unix.SYS_UNAME,
}, allowedHere...)

// Offsets in struct seccomp_data.
const (
	offsetCall = 0
	offsetArch = 4
	offsetArg0 = 16 // its lower half
	offsetArg3 = offsetArg0 + 3*8
)

// uncounted are the flags of mmap for memory that RLIMIT_DATA does not count.
const uncounted = unix.MAP_SHARED | unix.MAP_GROWSDOWN | unix.MAP_HUGETLB

// filterCalls makes the kernel refuse all calls but the allowed ones, for all threads of this process and for ever.
func filterCalls() error {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return err
	}
	program := filter(uint32(os.Getpid()))
	// With TSYNC all threads get the filter, and lose the privileges, as this one.
	_, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC,
		uintptr(unsafe.Pointer(&unix.SockFprog{Len: uint16(len(program)), Filter: &program[0]})))
	if errno != 0 {
		return errno
	}
	return nil
}

// filter returns a program for the kernel: it allows some system calls to the process pid, and refuses all others.
func filter(pid uint32) []unix.SockFilter {
	const (
		load  = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS
		equal = unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K
		set   = unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K
		ret   = unix.BPF_RET | unix.BPF_K
		allow = uint32(unix.SECCOMP_RET_ALLOW)
		deny  = uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.EPERM)
	)
	program := []unix.SockFilter{
		{Code: load, K: offsetArch},
		{Code: equal, Jt: 1, K: auditArch},
		{Code: ret, K: uint32(unix.SECCOMP_RET_KILL_PROCESS)}, // calls of another system
		{Code: load, K: offsetCall},
		// New threads, and no new processes.
		{Code: equal, Jf: 4, K: unix.SYS_CLONE},
		{Code: load, K: offsetArg0},
		{Code: set, Jf: 1, K: unix.CLONE_THREAD},
		{Code: ret, K: allow},
		{Code: ret, K: deny},
		// Its flags cannot be seen here. C libraries take clone then.
		{Code: equal, Jf: 1, K: unix.SYS_CLONE3},
		{Code: ret, K: uint32(unix.SECCOMP_RET_ERRNO) | uint32(unix.ENOSYS)},
		// Signals to its own threads, which the runtime needs to interrupt them.
		{Code: equal, Jf: 4, K: unix.SYS_TGKILL},
		{Code: load, K: offsetArg0},
		{Code: equal, Jf: 1, K: pid},
		{Code: ret, K: allow},
		{Code: ret, K: deny},
		// Memory that its limit counts.
		{Code: equal, Jf: 4, K: unix.SYS_MMAP},
		{Code: load, K: offsetArg3},
		{Code: set, Jt: 1, K: uncounted},
		{Code: ret, K: allow},
		{Code: ret, K: deny},
		// Names for mappings, which the runtime gives.
		{Code: equal, Jf: 4, K: unix.SYS_PRCTL},
		{Code: load, K: offsetArg0},
		{Code: equal, Jf: 1, K: unix.PR_SET_VMA},
		{Code: ret, K: allow},
		{Code: ret, K: deny},
	}
	for _, call := range allowed {
		program = append(program, unix.SockFilter{Code: equal, Jf: 1, K: uint32(call)}, unix.SockFilter{Code: ret, K: allow})
	}
	return append(program, unix.SockFilter{Code: ret, K: deny})
}
