package hook

import (
	"os"
	"path/filepath"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/input"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/s3source"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
)

// Validate checks a trigger file, or that of a directory, and returns how many sources it has. A policy that is not nil must allow them to
// a project.
func Validate(file string, p *policy.Policy, project string) (int, error) {
	if info, err := os.Stat(file); err == nil && info.IsDir() {
		file = filepath.Join(file, triggerfile.Name)
	}
	data, err := input.File(file)
	if err != nil {
		return 0, err
	}
	sources, err := triggerfile.Parse(file, data)
	if err != nil || p == nil {
		return len(sources), err
	}
	return len(sources), s3source.Config{Policy: p, App: argo.Call{Project: project}, File: file}.Check(sources)
}
