// Package s3 is the object store behind buckets: AWS S3 and servers that speak its protocol.
//
// Credentials come from the default chain of the AWS SDK: environment, shared files, web identity (IRSA), container
// endpoints (EKS Pod Identity), instance metadata. A role can be assumed on top; a public bucket can be read without
// credentials. Requests that may be repeated are, with backoff. An error is one line that says what is wrong and what to
// check, without secrets and request identifiers.
package s3

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/aws/ratelimit"
	"github.com/aws/aws-sdk-go-v2/aws/retry"
	awshttp "github.com/aws/aws-sdk-go-v2/aws/transport/http"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/sts"
	"github.com/aws/smithy-go/logging"
)

// Config configures access to a bucket.
type Config struct {
	Bucket    string
	Region    string // "": that of the environment, otherwise us-east-1
	Endpoint  string // "": that of the environment, otherwise AWS
	PathStyle *bool  // nil: if there is an endpoint
	RoleARN   string // "": the credentials of the chain
	Anonymous bool
	// Alone says that nothing of the environment counts, such as a profile or an endpoint. It goes with Endpoint and Anonymous.
	Alone bool
	// MaxBackoff bounds the wait before a request is repeated; 0 is 2 s.
	MaxBackoff time.Duration
	Now        func() time.Time
}

const attempts = 5

// Store is one bucket.
type Store struct {
	client   *s3.Client
	quick    *quick // nil: everything goes through client
	bucket   string
	region   string
	endpoint string // "" is AWS
	role     string
	id       string
}

// Open prepares access to a bucket. It sends no requests, except to find the region.
func Open(ctx context.Context, c Config) (*Store, error) {
	if c.MaxBackoff == 0 {
		c.MaxBackoff = 2 * time.Second
	}
	cfg, err := c.sdk(ctx)
	if err != nil {
		return nil, fmt.Errorf("reading the AWS configuration: %s", oneLine(err.Error()))
	}
	cfg.HTTPClient = noRedirects(cfg.HTTPClient)
	if cfg.Region == "" {
		cfg.Region = "us-east-1"
	}
	if c.Region != "" && !c.Alone {
		// Names of buckets are unique in a partition only: in another one, the name may belong to another account.
		if own := cmp.Or(ownRegion(ctx), "us-east-1"); partition(own) != partition(c.Region) {
			return nil, fmt.Errorf("region %s is in another partition of AWS than %s, the region of this process", c.Region, own)
		}
	}
	if c.RoleARN != "" {
		provider := stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), c.RoleARN, func(o *stscreds.AssumeRoleOptions) {
			o.RoleSessionName = "argosy"
		})
		cfg.Credentials = aws.NewCredentialsCache(provider)
	}
	client := s3.NewFromConfig(cfg, func(o *s3.Options) {
		if c.Endpoint != "" {
			o.BaseEndpoint = aws.String(c.Endpoint)
		}
		o.UsePathStyle = o.BaseEndpoint != nil
		if c.PathStyle != nil {
			o.UsePathStyle = *c.PathStyle
		}
		o.DisableLogOutputChecksumValidationSkipped = true
	})
	s := &Store{
		client: client, bucket: c.Bucket, region: cfg.Region, role: c.RoleARN,
		endpoint: aws.ToString(client.Options().BaseEndpoint),
	}
	if u, err := url.Parse(s.endpoint); err == nil && u.User != nil {
		u.User = nil
		s.endpoint = u.String() // for messages
	}
	s.id = fmt.Sprintf("%s\x00%s\x00%s\x00%s\x00%t", s.endpoint, s.region, s.bucket, s.role, c.Anonymous)
	s.quick = newQuick(ctx, client, c.Bucket, c.Anonymous, c.Now)
	return s, nil
}

// sdk is the configuration of the AWS SDK.
func (c Config) sdk(ctx context.Context) (aws.Config, error) {
	client := awshttp.NewBuildableClient().WithTransportOptions(func(t *http.Transport) {
		t.MaxIdleConnsPerHost = 64
		t.ResponseHeaderTimeout = 20 * time.Second
	})
	retryer := func() aws.Retryer {
		return retry.NewStandard(func(o *retry.StandardOptions) {
			o.MaxAttempts, o.MaxBackoff = attempts, c.MaxBackoff
			// The caller has a deadline; a budget shared by parallel requests would end them at random.
			o.RateLimiter = ratelimit.None
		})
	}
	// Checksums in trailers are not understood by all servers. Objects are verified by length and, where there is an
	// index, by digest; uploads by Content-MD5.
	const request, response = aws.RequestChecksumCalculationWhenRequired, aws.ResponseChecksumValidationWhenRequired
	if c.Alone {
		return aws.Config{
			Region: c.Region, Credentials: aws.AnonymousCredentials{}, HTTPClient: client, Retryer: retryer, Logger: logging.Nop{},
			RequestChecksumCalculation: request, ResponseChecksumValidation: response,
		}, nil
	}
	options := []func(*config.LoadOptions) error{
		config.WithHTTPClient(client), config.WithRetryer(retryer), config.WithRequestChecksumCalculation(request),
		config.WithResponseChecksumValidation(response),
		config.WithLogger(logging.Nop{}), // what matters is in the error
	}
	if c.Region != "" {
		options = append(options, config.WithRegion(c.Region))
	}
	if c.Anonymous {
		options = append(options, config.WithCredentialsProvider(aws.AnonymousCredentials{}))
	}
	return config.LoadDefaultConfig(ctx, options...)
}

// ownRegion is the default region of the process.
func ownRegion(ctx context.Context) string {
	cfg, err := config.LoadDefaultConfig(ctx, config.WithCredentialsProvider(aws.AnonymousCredentials{}))
	if err != nil {
		return ""
	}
	return cfg.Region
}

// noRedirects refuses redirects to other servers: they are not allowed, and their answers would count as the bucket's.
func noRedirects(client aws.HTTPClient) aws.HTTPClient {
	b, ok := client.(*awshttp.BuildableClient)
	if !ok {
		return client
	}
	return &http.Client{
		Transport:     b.GetTransport(),
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// partition is the part of AWS that a region is in.
func partition(region string) string {
	for _, prefix := range []string{"cn-", "us-gov-", "us-iso", "eu-iso", "eusc-"} {
		if strings.HasPrefix(region, prefix) {
			return prefix
		}
	}
	return ""
}

// ID identifies the bucket and the reader's identity.
func (s *Store) ID() string { return s.id }
