//go:build unix

package demo

import "syscall"

// ownSession keeps signals of the terminal, and those to our process group, away from a process.
func ownSession() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
