//go:build !linux || race

package hostile

import "testing"

// limit does nothing: the race detector takes more memory than there may be.
func limit(*testing.T) { _ = memory }
