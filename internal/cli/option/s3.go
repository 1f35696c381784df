package option

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/transfer"
	"github.com/argosy-cd/argosy/internal/cachedir"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cmp"
	"github.com/argosy-cd/argosy/internal/problem"
	"github.com/argosy-cd/argosy/internal/progress"
	"github.com/argosy-cd/argosy/internal/s3source/buckets"
)

// Cache are the flags of commands that read buckets.
type Cache struct {
	dir  string
	size int64
	// Timeout ends the command.
	Timeout time.Duration
}

// Register adds the flags.
func (o *Cache) Register(flags *pflag.FlagSet) {
	flags.StringVar(&o.dir, "cache-dir", "", Usage("cache-dir"))
	flags.Int64Var(&o.size, "cache-size", 1024, Usage("cache-size"))
	flags.DurationVar(&o.Timeout, "timeout", cmp.DefaultTimeout, Usage("timeout"))
}

// Pool opens buckets within the deadline of a command.
func (o *Cache) Pool(ctx context.Context, std cli.Std) (context.Context, context.CancelFunc, *buckets.Pool, error) {
	cache, err := o.Open(std)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel, err := cli.Deadline(ctx, o.Timeout)
	return ctx, cancel, &buckets.Pool{Cache: cache, Now: std.Now}, err
}

// Open returns the cache; nil is none.
func (o *Cache) Open(std cli.Std) (bucket.Cache, error) {
	if o.dir != cachedir.None && (o.size < 1 || o.size > 1<<20) {
		return nil, problem.Usagef("--cache-size must be 1 to %d MiB, it is %d; --cache-dir none is no cache", 1<<20, o.size)
	}
	return buckets.Cache{Dir: o.dir, MaxBytes: o.size << 20, Now: std.Now, Env: std.Env, Note: std.Note}.Open()
}

// Transfer are the flags of commands that name a bucket themselves.
type Transfer struct {
	named buckets.Named
	// Output is the format of the answer.
	Output cli.Choice
}

// Register adds the flags, also those that only readers need.
func (o *Transfer) Register(flags *pflag.FlagSet, reads bool) {
	flags.StringVar(&o.named.Endpoint, "endpoint", "", "`URL` of an S3-compatible server; default: AWS, or $AWS_ENDPOINT_URL_S3")
	flags.StringVar(&o.named.Region, "region", "", "region of the bucket; default: $AWS_REGION")
	flags.StringVar(&o.named.RoleARN, "role-arn", "", "`ARN` of a role to assume")
	flags.BoolVar(&o.named.VirtualHost, "virtual-host", false, "with an endpoint, put the bucket into the host name and not into the path")
	if reads {
		flags.BoolVar(&o.named.Anonymous, "anonymous", false, "read a public bucket without credentials")
	}
}

// User returns the configuration of transfers with the buckets of a pool.
func (o *Transfer) User(std cli.Std, pool *buckets.Pool) (transfer.User, error) {
	o.named.Pool = pool
	return transfer.User{
		Out: std.Out, Err: std.Err, JSON: o.Output.Value == "json", Note: std.Note, Reader: o.named.Reader, Writer: o.named.Writer,
		Bar: progress.Config{Out: std.Err, Terminal: std.Terminal, Now: std.Now},
	}, o.named.Check()
}
