package worker

import (
	"os"
	"strconv"
	"strings"
)

// ContainerMemory is the limit of memory of this process's container in bytes, 0 if there is none.
func ContainerMemory() int64 {
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
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
