package worker

import "golang.org/x/sys/unix"

const auditArch = unix.AUDIT_ARCH_AARCH64

var allowedHere []uintptr
