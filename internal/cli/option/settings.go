// Package option has the flags that several commands share, in groups: each knows its flags, its help and what they configure. Some of them
// are settings, which a container has as variables. A flag that one command has alone is with that command, in cmd/argosy.
package option

import (
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/cli"
)

// S3Settings are the settings of the plugin's hooks, which have no other arguments.
func S3Settings() cli.Settings {
	return cli.Table([][3]string{
		{
			"policy", "ARGOSY_POLICY",
			"`FILE` that says what projects may do; without one they may read any bucket and generate Applications for " +
				"themselves, but choose no endpoint and no role",
		},
		{
			"admin-projects", "ARGOSY_ADMIN_PROJECTS",
			"`PROJECTS` whose applications may generate Applications for any project, while the policy has no rules about Applications",
		},
		{"argocd-namespace", "ARGOSY_ARGOCD_NAMESPACE", "Argo CD's `NAMESPACE`; default: that of the pod, or argocd"},
		{"cache-dir", "ARGOSY_CACHE_DIR", "`DIR` for the cache, or none; default: argosy in the user's cache directory"},
		{"cache-size", "ARGOSY_CACHE_SIZE", "maximum size of the cache, in `MIB`"},
		{"timeout", "ARGOSY_TIMEOUT", "give up after this time; Argo CD gives up after 60s"},
	})
}

// AppSetSettings are those of the appset plugin.
func AppSetSettings() cli.Settings {
	return cli.Table([][3]string{
		{"policy", "ARGOSY_POLICY"},
		{"admin-projects", "ARGOSY_ADMIN_PROJECTS"},
		{"engine", "ARGOSY_ENGINE", "engine that renders ApplicationSets: embedded, or argocd, which asks the Argo CD API server"},
		{
			"argocd-version", "ARGOSY_ARGOCD_VERSION",
			"`VERSION` of Argo CD whose ApplicationSets the engine embedded renders, " + versions.Range() + "; default: the newest; " +
				"in a plugin, the version that --argocd-server reports wins",
		},
		{
			"argocd-server", "ARGOCD_SERVER",
			"`ADDRESS` of the Argo CD API server, for the engine argocd; in a plugin, the engine embedded asks it for its version",
		},
		{
			"argocd-token-file", "ARGOSY_ARGOCD_TOKEN_FILE",
			"`FILE` with the token for --argocd-server; default: the token in $ARGOCD_AUTH_TOKEN",
		},
		{"argocd-ca", "ARGOSY_ARGOCD_CA", "`FILE` with CA certificates for --argocd-server; default: the system's"},
		{"argocd-plaintext", "ARGOSY_ARGOCD_PLAINTEXT", "connect to --argocd-server without TLS"},
		{"argocd-insecure", "ARGOSY_ARGOCD_INSECURE", "accept any certificate of --argocd-server (insecure)"},
		{"argocd-namespace", "ARGOSY_ARGOCD_NAMESPACE"},
		{
			"argocd-secrets", "ARGOSY_ARGOCD_SECRETS",
			"`NAMES` of Argo CD's Secrets of repositories and clusters to read (needs the right to get them). Default: all Secrets " +
				"with Argo CD's labels (needs the right to list)",
		},
		{
			"kubeconfig", "ARGOSY_KUBECONFIG",
			"kubeconfig `FILE` of Argo CD's cluster; default: the cluster that the process runs in, if any",
		},
		{"timeout", "ARGOSY_TIMEOUT"},
		{
			"generator-apis", "ARGOSY_GENERATOR_APIS",
			"let generators call the APIs of Git hosts, plugins and the cluster, with the Secrets that sets name, as far as the policy " +
				"allows",
		},
		{
			"allowed-scm-providers", "ARGOCD_APPLICATIONSET_CONTROLLER_ALLOWED_SCM_PROVIDERS",
			"`URLS` of APIs that sets may name in api, as Argo CD has them; default: any",
		},
		{
			"token-ref-strict-mode", "ARGOCD_APPLICATIONSET_CONTROLLER_TOKENREF_STRICT_MODE",
			"use only Secrets with the label argocd.argoproj.io/secret-type=scm-creds as tokens",
		},
	})
}

// RefreshSettings are the settings of processes that refresh applications.
func RefreshSettings() cli.Settings {
	return cli.Table([][3]string{
		{"interval", IntervalVariable, "interval of /appset.git, and of every trigger without its own schedule"},
		{"spread", "ARGOSY_SPREAD", "spread the refreshes of one tick over this time; 0 is a quarter of the interval, at most a minute"},
		{
			"trigger-hosts", "ARGOSY_TRIGGER_HOSTS",
			"`HOSTS` that serve trigger repositories (argosy repo), with or without a port; * stands for any characters. Default: the " +
				"Service appset-repo in Argo CD's namespace",
		},
		{
			"application-namespaces", "ARGOCD_APPLICATION_NAMESPACES",
			"`NAMESPACES` besides Argo CD's own whose Applications it serves; * stands for any characters",
		},
	})
}

// IntervalVariable is how often appset.git ticks, by default every DefaultInterval.
const (
	IntervalVariable = "APPSET_REFRESH_INTERVAL"
	DefaultInterval  = 3 * time.Minute
)

func settings() cli.Settings { return slices.Concat(S3Settings(), AppSetSettings(), RefreshSettings()) }

// Usage is the help of a flag that has a setting.
func Usage(flag string) string { return settings().Usage(flag) }

// PreRun fills in flags that were not given.
func PreRun(std cli.Std) func(*cobra.Command, []string) error { return settings().PreRun(std.Getenv) }

// Fill fills in flags that were not given.
func Fill(std cli.Std, flags *pflag.FlagSet) error {
	return settings().Fill(flags, std.Getenv)
}
