package option

import (
	"os"
	"path/filepath"
	"slices"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/bucket/s3/awsjson"
	"github.com/argosy-cd/argosy/internal/cachedir"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/policy"
	"github.com/argosy-cd/argosy/internal/scm"
	"github.com/argosy-cd/argosy/internal/serve"
	"github.com/argosy-cd/argosy/internal/words"
	"github.com/argosy-cd/argosy/internal/worker/job"
	"github.com/argosy-cd/argosy/internal/workspace"
)

// Repositories returns the configuration to read repositories as the user, those of --repo from directories.
func Repositories(std cli.Std, flags []string) (workspace.Config, error) {
	cache := cachedir.Find(std.Getenv("ARGOSY_CACHE_DIR"), std.Env)
	cfg := workspace.Config{Cache: cache, Env: std.Env, Note: std.Note, Foreign: newForeign(std)}
	var err error
	cfg.Local, err = workspace.ParseRepos(flags)
	return cfg, err
}

// newForeign returns a renderer of fetched sources in worker processes.
func newForeign(std cli.Std) *job.Foreign {
	return job.NewForeign([]string{"argosy", WorkerCommand}, func(line string) { std.Note(words.Printable(line)) })
}

// ReadPolicy reads the policy of a file; "" is the default policy.
func ReadPolicy(file string) (*policy.Policy, error) {
	return serve.Watch(file, "the policy", policy.Parse).Current()
}

// Kubeconfigs are the files of $KUBECONFIG.
func Kubeconfigs(std cli.Std) []string {
	return slices.DeleteFunc(filepath.SplitList(std.Getenv("KUBECONFIG")), func(file string) bool { return file == "" })
}

// RegisterUser adds flags that say which cluster a user means.
func RegisterUser(flags *pflag.FlagSet, cfg *kube.Config) {
	flags.StringVar(&cfg.Kubeconfig, "kubeconfig", "",
		"kubeconfig `FILE`; default: $KUBECONFIG, ~/.kube/config, or the cluster this runs in")
	flags.StringVar(&cfg.Context, "context", "", "`CONTEXT` of the kubeconfig; default: its current one")
}

// OpenUser opens the cluster that kubectl would: of --kubeconfig, $KUBECONFIG, or ~/.kube/config where it exists.
func OpenUser(std cli.Std, cfg kube.Config) (*kube.Client, error) {
	if cfg.Kubeconfig == "" {
		cfg.Merged = Kubeconfigs(std)
	}
	if home := std.Getenv("HOME"); home != "" && cfg.Kubeconfig == "" && len(cfg.Merged) == 0 {
		file := filepath.Join(home, ".kube", "config")
		if _, err := os.Stat(file); err == nil {
			cfg.Merged = []string{file}
		}
	}
	return kube.Open(cfg)
}

// APIClient asks APIs of generators.
func APIClient(std cli.Std) *scm.Client {
	return &scm.Client{Now: std.Now, Env: std.Env, AWS: &awsjson.Caller{Now: std.Now}}
}
