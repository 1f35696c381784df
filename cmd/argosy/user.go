package main

import (
	"path/filepath"
	"slices"

	"github.com/argosy-cd/argosy/internal/bucket/s3/awsjson"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/scm"
	"github.com/argosy-cd/argosy/internal/serve"
	"github.com/argosy-cd/argosy/internal/words"
	"github.com/argosy-cd/argosy/internal/worker/job"
	"github.com/argosy-cd/argosy/internal/workspace"
)

// userRepositories are read as the user does, those of --repo from directories.
func userRepositories(std stdio, flags []string) (workspace.Config, error) {
	cfg := workspace.Config{Cache: workspace.CacheDir(std.getenv), Env: std.env, Note: std.note, Foreign: newForeign(std)}
	var err error
	cfg.Local, err = workspace.ParseRepos(flags)
	return cfg, err
}

// newForeign renders what was fetched in processes of its own.
func newForeign(std stdio) *job.Foreign {
	return job.NewForeign([]string{"argosy", workerCommand}, func(line string) { std.note(words.Printable(line)) })
}

// readPolicy reads the policy of a file; "" is the default policy.
func readPolicy(file string) (*policy.Policy, error) {
	return serve.Watch(file, "the policy", policy.Parse).Current()
}

// kubeconfigs are the files of $KUBECONFIG.
func kubeconfigs(std stdio) []string {
	return slices.DeleteFunc(filepath.SplitList(std.getenv("KUBECONFIG")), func(file string) bool { return file == "" })
}

// apiClient asks APIs of generators.
func apiClient(std stdio) *scm.Client {
	return &scm.Client{Now: std.now, Env: std.env, AWS: &awsjson.Caller{Now: std.now}}
}
