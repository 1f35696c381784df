package main

import (
	"io"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/bucket/transfer"
	"github.com/argosy-cd/argosy/internal/gitsource"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/s3source"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/workspace"
)

// The names that commands have for functions of other packages.

func readLimited(file string) ([]byte, error) { return input.File(file) }

func readDocuments(stdin io.Reader, args []string, recursive bool) ([]manifest.Document, error) {
	return input.Documents(stdin, args, recursive)
}

func pathError(err error) error { return problem.Path(err) }

func innermost(err error) error { return problem.Innermost(err) }

func ownRepository(flag string) (gitsource.Local, error) { return workspace.ParseRepo(flag) }

func namedMost(names []string, files []tree.File) string { return workspace.NamedMost(names, files) }

func readDir(std stdio, dir string) ([]tree.File, error) { return transfer.ReadDir(dir, std.note) }

func parseTrigger(call argo.Call, file string, data []byte, err error) (string, []triggerfile.Source, error) {
	return s3source.Sources(call, file, data, err)
}

func objectsOf(docs []manifest.Document) []manifest.Object { return manifest.Objects(docs) }
