// Package examples holds the example cluster, so that a demo needs nothing but the program.
package examples

import "embed"

// Files are the directories cluster, a repository as it is in Git, and demo and later, what is laid over it at the beginning and at the
// end.
//
//go:embed all:cluster all:demo all:later
var Files embed.FS
