//go:build !linux

package hostile

import "testing"

// limit does nothing: other systems cannot bound what a process writes to.
func limit(*testing.T) { _ = memory }
