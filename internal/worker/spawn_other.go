//go:build !linux

package worker

import (
	"os"
	"os/exec"
	"time"
)

// spawner starts processes.
type spawner struct{}

func newSpawner() *spawner { return &spawner{} }

func (*spawner) start(cmd *exec.Cmd) error { return cmd.Start() }

func (*spawner) close() {}

func killGroup(p *os.Process) { _ = p.Kill() }

func computed(int) time.Duration { return 0 }

func lower(int) bool { return false }

func peak(*os.ProcessState) int64 { return 0 }

func ownPeak() int64 { return 0 }
