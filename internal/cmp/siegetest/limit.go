package siegetest

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync/atomic"
)

// memoryLimit bounds the memory of a process and its workers together, as a container does, by a group of processes where this machine lets
// us have one. Else each of them is bounded alone.
type memoryLimit struct {
	bytes int64
	group string // a directory; "" is none
	v2    bool
}

var groups atomic.Int64

func newMemoryLimit(bytes int64) (*memoryLimit, error) {
	for _, v2 := range []bool{false, true} {
		parent, ok := ownGroup(v2)
		if !ok {
			continue
		}
		l := &memoryLimit{bytes: bytes, v2: v2, group: filepath.Join(parent, fmt.Sprintf("argosy-siege-%d-%d", os.Getpid(), groups.Add(1)))}
		if os.Mkdir(l.group, 0o755) != nil {
			continue
		}
		if os.WriteFile(filepath.Join(l.group, l.file("memory.limit_in_bytes", "memory.max")), []byte(strconv.FormatInt(bytes, 10)),
			0) == nil {
			return l, nil
		}
		if err := l.remove(); err != nil {
			return nil, err
		}
	}
	return &memoryLimit{bytes: bytes}, nil
}

// ownGroup is the directory of the group that bounds the memory of this process.
func ownGroup(v2 bool) (string, bool) {
	data, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", false
	}
	for line := range strings.Lines(string(data)) {
		parts := strings.SplitN(strings.TrimSpace(line), ":", 3)
		switch {
		case len(parts) != 3:
		case v2 && parts[0] == "0":
			return filepath.Join("/sys/fs/cgroup", parts[2]), true
		case !v2 && parts[1] == "memory":
			return filepath.Join("/sys/fs/cgroup/memory", parts[2]), true
		}
	}
	return "", false
}

func (l *memoryLimit) file(v1, v2 string) string {
	if l.v2 {
		return v2
	}
	return v1
}

// script puts a shell under the limit.
func (l *memoryLimit) script() string {
	if l.group == "" {
		return fmt.Sprintf("ulimit -d %d", l.bytes>>10)
	}
	return fmt.Sprintf("echo $$ > '%s/cgroup.procs'", l.group)
}

func (l *memoryLimit) String() string {
	if l.group == "" {
		return "ulimit"
	}
	return "cgroup"
}

// number reads a number of a file of the group. In a file with several lines, it is behind a name.
func (l *memoryLimit) number(file, name string) int64 {
	if l.group == "" {
		return 0
	}
	data, err := os.ReadFile(filepath.Join(l.group, file))
	if err != nil {
		return 0
	}
	for line := range strings.Lines(string(data)) {
		if text, ok := strings.CutPrefix(strings.TrimSpace(line), name); ok {
			n, _ := strconv.ParseInt(strings.TrimSpace(text), 10, 64)
			return n
		}
	}
	return 0
}

func (l *memoryLimit) peak() int64 {
	return l.number(l.file("memory.max_usage_in_bytes", "memory.peak"), "")
}

func (l *memoryLimit) killed() int64 {
	return l.number(l.file("memory.oom_control", "memory.events"), "oom_kill ")
}

// remove removes the group, when all its processes have ended.
func (l *memoryLimit) remove() error {
	if l.group == "" {
		return nil
	}
	err := os.Remove(l.group)
	for range 1000 {
		// Workers end a moment after their host.
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		pause()
		err = os.Remove(l.group)
	}
	return err
}
