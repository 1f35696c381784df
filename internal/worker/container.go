package worker

import (
	"os"
	"path"
	"strconv"
	"strings"
)

// ContainerMemory is the limit of memory of this process's container in bytes, 0 if there is none.
func ContainerMemory() int64 {
	for _, file := range append(memoryFiles("/proc/self/cgroup"), "/sys/fs/cgroup/memory.max",
		"/sys/fs/cgroup/memory/memory.limit_in_bytes") {
		data, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		// Without a limit it is "max", or more than any machine has.
		if n, err := strconv.ParseInt(strings.TrimSpace(string(data)), 10, 64); err == nil && n > 0 && n < 1<<50 {
			return n
		}
	}
	return 0
}

// memoryFiles returns the files with the memory limits of the cgroups in a file, by their paths on the host.
func memoryFiles(file string) (out []string) {
	data, err := os.ReadFile(file)
	if err != nil {
		return nil
	}
	for line := range strings.Lines(string(data)) {
		switch parts := strings.SplitN(strings.TrimSpace(line), ":", 3); {
		case len(parts) != 3:
		case parts[0] == "0":
			out = append(out, path.Join("/sys/fs/cgroup", parts[2], "memory.max"))
		case parts[1] == "memory":
			out = append(out, path.Join("/sys/fs/cgroup/memory", parts[2], "memory.limit_in_bytes"))
		}
	}
	return out
}
