package main

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/transfer"
	"github.com/argosy-cd/argosy/internal/s3source/buckets"
	"github.com/argosy-cd/argosy/internal/s3source/triggerfile"
)

// setting is a flag that a container sets by a variable.
type setting struct{ flag, variable, usage string }

// s3Settings are the settings of the plugin's hooks, which have no other arguments.
var s3Settings = []setting{
	{
		"policy", "ARGOSY_POLICY",
		"`FILE` that says what projects may do; without one they may read any bucket, but choose no endpoint and no role, and generate " +
			"Applications for themselves",
	},
	{
		"admin-projects", "ARGOSY_ADMIN_PROJECTS",
		"`PROJECTS` whose applications may generate Applications for any project, while the policy has no rules about Applications",
	},
	{"argocd-namespace", "ARGOSY_ARGOCD_NAMESPACE", "Argo CD's `NAMESPACE`; default: that of the pod, or argocd"},
	{"cache-dir", "ARGOSY_CACHE_DIR", "`DIR` for the cache, or none; default: argosy in the user's cache directory"},
	{"cache-size", "ARGOSY_CACHE_SIZE", "how many `MIB` the cache may have"},
	{"timeout", "ARGOSY_TIMEOUT", "give up after this time; Argo CD gives up after 60s"},
}

// appsetSettings are those of the appset plugin.
var appsetSettings = []setting{
	{"policy", "ARGOSY_POLICY", ""},
	{"admin-projects", "ARGOSY_ADMIN_PROJECTS", ""},
	{"engine", "ARGOSY_ENGINE", "who renders ApplicationSets: embedded, or argocd, which asks the Argo CD API server"},
	{
		"argocd-version", "ARGOSY_ARGOCD_VERSION",
		"`VERSION` of Argo CD whose ApplicationSets the engine embedded renders, 3.2 to 3.5; default the newest; in a plugin, the " +
			"version that --argocd-server reports wins",
	},
	{
		"argocd-server", "ARGOCD_SERVER",
		"`ADDRESS` of the Argo CD API server, for the engine argocd; in a plugin, the engine embedded asks it for its version",
	},
	{"argocd-token-file", "ARGOSY_ARGOCD_TOKEN_FILE", "`FILE` with the token for it; default: the token in $ARGOCD_AUTH_TOKEN"},
	{"argocd-ca", "ARGOSY_ARGOCD_CA", "`FILE` with certificates that it is trusted by; default: the system's"},
	{"argocd-plaintext", "ARGOSY_ARGOCD_PLAINTEXT", "it speaks no TLS"},
	{"argocd-insecure", "ARGOSY_ARGOCD_INSECURE", "take any certificate of it"},
	{"argocd-namespace", "ARGOSY_ARGOCD_NAMESPACE", ""},
	{
		"argocd-secrets", "ARGOSY_ARGOCD_SECRETS",
		"`NAMES` of Argo CD's Secrets of repositories and clusters to read, by the right to get them; default: all that have Argo CD's " +
			"labels, by the right to list Secrets",
	},
	{"kubeconfig", "ARGOSY_KUBECONFIG", "`FILE` that says which cluster Argo CD is in; default: the one that the process runs in, if any"},
	{"timeout", "ARGOSY_TIMEOUT", ""},
	{
		"generator-apis", "ARGOSY_GENERATOR_APIS",
		"let generators ask hosts of repositories, plugins and the cluster, with the Secrets that sets name, as far as the policy allows",
	},
	{
		"allowed-scm-providers", "ARGOCD_APPLICATIONSET_CONTROLLER_ALLOWED_SCM_PROVIDERS",
		"`URLS` of APIs that sets may name in api, as Argo CD has them; default: any",
	},
	{
		"token-ref-strict-mode", "ARGOCD_APPLICATIONSET_CONTROLLER_TOKENREF_STRICT_MODE",
		"use only Secrets with the label argocd.argoproj.io/secret-type=scm-creds as tokens",
	},
}

func usageOf(flag string) string {
	for _, s := range slices.Concat(s3Settings, appsetSettings, refreshSettings) {
		if s.flag == flag {
			return s.usage + " ($" + s.variable + ")"
		}
	}
	return ""
}

// preRun fills in flags that were not given.
func preRun(std stdio) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, _ []string) error { return fromEnvironment(std, cmd.Flags()) }
}

// fromEnvironment fills in flags that were not given.
func fromEnvironment(std stdio, flags *pflag.FlagSet) error {
	for _, s := range slices.Concat(s3Settings, appsetSettings, refreshSettings) {
		f := flags.Lookup(s.flag)
		value := std.getenv(s.variable)
		if f == nil || f.Changed || value == "" {
			continue
		}
		if err := f.Value.Set(value); err != nil {
			return usagef("variable %s: %q is not a %s", s.variable, value,
				map[string]string{
					"int64": "number", "duration": "duration such as 45s", "bool": "true or false",
					"VERSION": "version of Argo CD that is known, 3.2 to 3.5",
				}[f.Value.Type()])
		}
	}
	return nil
}

// cacheOptions are the flags of commands that read buckets.
type cacheOptions struct {
	dir     string
	size    int64
	timeout time.Duration
}

func (o *cacheOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.dir, "cache-dir", "", usageOf("cache-dir"))
	flags.Int64Var(&o.size, "cache-size", 1024, usageOf("cache-size"))
	flags.DurationVar(&o.timeout, "timeout", 45*time.Second, usageOf("timeout"))
}

// pool opens buckets within the deadline of a command.
func (o *cacheOptions) pool(ctx context.Context, std stdio) (context.Context, context.CancelFunc, *buckets.Pool, error) {
	cache, err := o.open(std)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel, err := deadline(ctx, o.timeout)
	return ctx, cancel, &buckets.Pool{Cache: cache, Now: std.now}, err
}

func deadline(ctx context.Context, timeout time.Duration) (context.Context, context.CancelFunc, error) {
	if timeout <= 0 {
		return nil, nil, usagef("--timeout must be more than 0")
	}
	ctx, cancel := context.WithTimeoutCause(ctx, timeout, fmt.Errorf("not finished after %s (--timeout)", timeout))
	return ctx, cancel, nil
}

// open returns the cache; nil is none.
func (o *cacheOptions) open(std stdio) (bucket.Cache, error) {
	if o.dir != "none" && (o.size < 1 || o.size > 1<<20) {
		return nil, usagef("--cache-size must be 1 to %d MiB, it is %d; --cache-dir none is no cache", 1<<20, o.size)
	}
	return buckets.Cache{Dir: o.dir, MaxBytes: o.size << 20, Now: std.now, Note: std.note}.Open()
}

// accessOptions are the flags of commands that name a bucket themselves.
type accessOptions struct {
	triggerfile.Access
	virtualHost bool
}

func (o *accessOptions) register(flags *pflag.FlagSet, reads bool) {
	flags.StringVar(&o.Endpoint, "endpoint", "", "`URL` of an S3-compatible server; default: AWS, or $AWS_ENDPOINT_URL_S3")
	flags.StringVar(&o.Region, "region", "", "region of the bucket; default: $AWS_REGION")
	flags.StringVar(&o.RoleARN, "role-arn", "", "`ARN` of a role to assume")
	flags.BoolVar(&o.virtualHost, "virtual-host", false, "with an endpoint, put the bucket into the host name and not into the path")
	if reads {
		flags.BoolVar(&o.Anonymous, "anonymous", false, "read a public bucket without credentials")
	}
}

// check refuses flags that the SDK would explain badly.
func (o *accessOptions) check() error {
	if cause := triggerfile.CheckEndpoint(o.Endpoint); cause != "" {
		return usagef("--endpoint %s", cause)
	}
	return nil
}

// reader returns a function that opens buckets with this access.
func (o *accessOptions) reader(pool *buckets.Pool) transfer.Open {
	return func(ctx context.Context, name string) (*bucket.Reader, error) {
		return pool.Reader(ctx, o.access(name))
	}
}

func (o *accessOptions) access(name string) triggerfile.Access {
	a := o.Access
	a.Bucket = name
	if o.virtualHost {
		a.ForcePathStyle = new(bool)
	}
	return a
}

// exactly demands a number of arguments.
func exactly(n int, names string) cobra.PositionalArgs {
	return func(_ *cobra.Command, args []string) error {
		if len(args) != n {
			return usagef("needed: %s", names)
		}
		return nil
	}
}
