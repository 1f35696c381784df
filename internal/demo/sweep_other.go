//go:build !unix

package demo

import "syscall"

func ownSession() *syscall.SysProcAttr { return nil }
