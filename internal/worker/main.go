package worker

import (
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"strconv"
)

// Confinement has the restrictions of a worker.
type Confinement struct {
	// Memory says that the system bounds its memory. Without that, only the pool's host is there to see it.
	Memory bool `json:"memory"`
	// Calls says that the system refuses calls that a worker does not need: it can open no file and no socket, start no program, and touch
	// no other process.
	Calls bool `json:"calls"`
	// Missing is why something is not there, "" if everything is.
	Missing string `json:"missing,omitempty"`
}

// maxStack bounds a stack, so that recursion without an end is told from a lack of memory.
const maxStack = 48 << 20

// Main is the program of a worker. args are those behind Config.Args. It returns when its host has ended.
func Main(args []string, handlers map[Kind]Handler) error {
	if len(args) != 2 {
		return errors.New("a worker is started by argosy itself, not by hand")
	}
	memory, err := strconv.ParseInt(args[0], 10, 64)
	if err != nil || memory < 1<<20 {
		return fmt.Errorf("a worker cannot have %q bytes of memory", args[0])
	}
	in, out := os.NewFile(fdIn, "host"), os.NewFile(fdOut, "host")
	if _, err := in.Stat(); err != nil {
		return errors.New("a worker is started by argosy itself, not by hand")
	}
	debug.SetMaxStack(min(maxStack, int(memory/2)))
	return Serve(in, out, confine(memory, args[1] == "true"), handlers, func() bool { return tired(memory) })
}
