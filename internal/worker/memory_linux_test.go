package worker

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// escapeMemory tries to get memory that the limit of a worker's memory does not count.
func escapeMemory(try func(what string, err error)) {
	call := func(what string, number uintptr, args [6]uintptr) {
		_, _, errno := syscall.Syscall6(number, args[0], args[1], args[2], args[3], args[4], args[5])
		if errno == 0 {
			try(what, nil)
		}
	}
	const size, write, nowhere = 64 << 10, unix.PROT_READ | unix.PROT_WRITE, ^uintptr(0)
	for what, flags := range map[string]uintptr{
		"shared memory": unix.MAP_SHARED | unix.MAP_ANONYMOUS,
		"another stack": unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_GROWSDOWN,
	} {
		call(what, unix.SYS_MMAP, [6]uintptr{0, size, write, flags, nowhere})
	}
	call("1 TiB that is only read", unix.SYS_MMAP, [6]uintptr{
		0, 1 << 40, unix.PROT_READ,
		unix.MAP_PRIVATE | unix.MAP_ANONYMOUS | unix.MAP_NORESERVE, nowhere,
	})
	call("a file in memory", unix.SYS_MEMFD_CREATE, [6]uintptr{})
	call("memory of System V", unix.SYS_SHMGET, [6]uintptr{unix.IPC_PRIVATE, size, unix.IPC_CREAT | 0o600})
	// What is allowed, enlarged by a call that can enlarge stacks, too.
	if at, _, errno := syscall.Syscall6(unix.SYS_MMAP, 0, size, write, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS, nowhere, 0); errno == 0 {
		call("enlarged memory", unix.SYS_MREMAP, [6]uintptr{at, size, 2 * size, unix.MREMAP_MAYMOVE})
	} else {
		try("no memory at all", nil)
	}
}
