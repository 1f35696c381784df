package main

import (
	"context"
	"time"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/transfer"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/cmp"
	"github.com/argosy-cd/argosy/internal/progress"
	"github.com/argosy-cd/argosy/internal/s3source/buckets"
)

// cacheOptions are the flags of commands that read buckets.
type cacheOptions struct {
	dir     string
	size    int64
	timeout time.Duration
}

func (o *cacheOptions) register(flags *pflag.FlagSet) {
	flags.StringVar(&o.dir, "cache-dir", "", usageOf("cache-dir"))
	flags.Int64Var(&o.size, "cache-size", 1024, usageOf("cache-size"))
	flags.DurationVar(&o.timeout, "timeout", cmp.DefaultTimeout, usageOf("timeout"))
}

// pool opens buckets within the deadline of a command.
func (o *cacheOptions) pool(ctx context.Context, std stdio) (context.Context, context.CancelFunc, *buckets.Pool, error) {
	cache, err := o.open(std)
	if err != nil {
		return nil, nil, nil, err
	}
	ctx, cancel, err := cli.Deadline(ctx, o.timeout)
	return ctx, cancel, &buckets.Pool{Cache: cache, Now: std.now}, err
}

// open returns the cache; nil is none.
func (o *cacheOptions) open(std stdio) (bucket.Cache, error) {
	if o.dir != "none" && (o.size < 1 || o.size > 1<<20) {
		return nil, usagef("--cache-size must be 1 to %d MiB, it is %d; --cache-dir none is no cache", 1<<20, o.size)
	}
	return buckets.Cache{Dir: o.dir, MaxBytes: o.size << 20, Now: std.now, Getenv: std.getenv, Note: std.note}.Open()
}

// transferOptions are the flags of commands that name a bucket themselves.
type transferOptions struct {
	named  buckets.Named
	output formatFlag
}

func (o *transferOptions) register(flags *pflag.FlagSet, reads bool) {
	flags.StringVar(&o.named.Endpoint, "endpoint", "", "`URL` of an S3-compatible server; default: AWS, or $AWS_ENDPOINT_URL_S3")
	flags.StringVar(&o.named.Region, "region", "", "region of the bucket; default: $AWS_REGION")
	flags.StringVar(&o.named.RoleARN, "role-arn", "", "`ARN` of a role to assume")
	flags.BoolVar(&o.named.VirtualHost, "virtual-host", false, "with an endpoint, put the bucket into the host name and not into the path")
	if reads {
		flags.BoolVar(&o.named.Anonymous, "anonymous", false, "read a public bucket without credentials")
	}
}

// user is who asks for a transfer with the buckets of a pool.
func (o *transferOptions) user(std stdio, pool *buckets.Pool) (transfer.User, error) {
	o.named.Pool = pool
	return transfer.User{
		Out: std.out, Err: std.err, JSON: o.output.value == "json", Note: std.note, Reader: o.named.Reader, Writer: o.named.Writer,
		Bar: progress.Config{Out: std.err, Terminal: std.terminal, Now: std.now},
	}, o.named.Check()
}
