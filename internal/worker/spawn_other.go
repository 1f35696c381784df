//go:build !linux

package worker

import (
	"os"
	"os/exec"
)

// spawner starts processes.
type spawner struct{}

func newSpawner() *spawner { return &spawner{} }

func (*spawner) start(cmd *exec.Cmd) error { return cmd.Start() }

func (*spawner) close() {}

func killGroup(p *os.Process) { _ = p.Kill() }

func peak(*os.ProcessState) int64 { return 0 }
