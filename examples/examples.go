// Package examples holds the example cluster, so that a demo needs nothing but the program.
package examples

import "embed"

// Files are the directories cluster, a repository as it is in Git, and demo, what is laid over it.
//
//go:embed all:cluster all:demo
var Files embed.FS
