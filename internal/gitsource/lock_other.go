//go:build !unix

package gitsource

import "context"

// lockFile does not lock here. Of two processes that fetch into one repository, git's own locks let one fail.
func lockFile(context.Context, string) (unlock func(), err error) { return func() {}, nil }
