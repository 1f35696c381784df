// Package awsjson calls services of AWS that speak JSON over POST, such as CodeCommit, with the credentials that the AWS SDK finds. Two
// small services need no client of their own each. Answers are bounded, and redirects are refused.
package awsjson

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"regexp"
	"strings"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"
	"github.com/aws/aws-sdk-go-v2/config"
	"github.com/aws/aws-sdk-go-v2/credentials/stscreds"
	"github.com/aws/aws-sdk-go-v2/service/sts"

	"github.com/argosy-cd/argosy/internal/scm"
	"github.com/argosy-cd/argosy/internal/words"
)

const (
	maxAnswer = 32 << 20
	maxRoles  = 1_000
)

// regionPattern keeps a region from being more than a part of the name of a host.
var regionPattern = regexp.MustCompile(`^[a-z0-9-]+$`)

// Caller calls services. It keeps the credentials of regions and roles.
type Caller struct {
	// Now is the time. It must be set.
	Now func() time.Time

	mu      sync.Mutex
	configs map[[2]string]aws.Config
}

// Call implements scm.AWS.
func (c *Caller) Call(ctx context.Context, call scm.AWSCall) ([]byte, error) {
	cfg, err := c.config(ctx, call.Region, call.Role)
	if err != nil {
		return nil, err
	}
	endpoint := fmt.Sprintf("https://%s.%s.%s", call.Service, cfg.Region, domain(cfg.Region))
	if cfg.BaseEndpoint != nil {
		endpoint = *cfg.BaseEndpoint
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, strings.TrimSuffix(endpoint, "/")+"/", bytes.NewReader(call.Body))
	if err != nil {
		return nil, errors.New("the endpoint of AWS is not a URL")
	}
	req.Header.Set("Content-Type", "application/x-amz-json-1.1")
	req.Header.Set("X-Amz-Target", call.Operation)
	credentials, err := cfg.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, fmt.Errorf("credentials for AWS: %w", err)
	}
	sum := sha256.Sum256(call.Body)
	if err := v4.NewSigner().SignHTTP(ctx, credentials, req, hex.EncodeToString(sum[:]), call.Service, cfg.Region, c.Now()); err != nil {
		return nil, fmt.Errorf("signing a request to %s: %w", call.Service, err)
	}
	client := &http.Client{Timeout: 30 * time.Second, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}
	res, err := client.Do(req)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", call.Operation, err)
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(io.LimitReader(res.Body, maxAnswer+1))
	if err == nil && len(body) > maxAnswer {
		err = fmt.Errorf("the answer is over the limit of %d MiB", maxAnswer>>20)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: reading the answer: %w", call.Operation, err)
	}
	if res.StatusCode != http.StatusOK {
		return nil, failed(call, res, body)
	}
	return body, nil
}

// failed makes an error of an answer. The code is the last part of __type, as in com.amazonaws.codecommit#FolderDoesNotExistException.
func failed(call scm.AWSCall, res *http.Response, body []byte) error {
	var said struct {
		Type    string `json:"__type"`
		Message string `json:"message"`
		Upper   string `json:"Message"`
	}
	_ = json.Unmarshal(body, &said)
	code := said.Type[strings.LastIndexByte(said.Type, '#')+1:]
	if code == "" {
		return fmt.Errorf("%s: AWS answered %s", call.Operation, res.Status)
	}
	return fmt.Errorf("%s: %w", call.Operation, &scm.AWSError{
		Code:    code,
		Message: words.OneLine(said.Message+said.Upper, 1000),
	})
}

func domain(region string) string {
	if strings.HasPrefix(region, "cn-") {
		return "amazonaws.com.cn"
	}
	return "amazonaws.com"
}

func (c *Caller) config(ctx context.Context, region, role string) (aws.Config, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := [2]string{region, role}
	if cfg, ok := c.configs[key]; ok {
		return cfg, nil
	}
	if region != "" && !regionPattern.MatchString(region) {
		return aws.Config{}, fmt.Errorf("%q is not a region of AWS", region)
	}
	var options []func(*config.LoadOptions) error
	if region != "" {
		options = append(options, config.WithRegion(region))
	}
	cfg, err := config.LoadDefaultConfig(ctx, options...)
	if err != nil {
		return cfg, fmt.Errorf("settings of AWS: %w", err)
	}
	if cfg.Region == "" {
		return cfg, errors.New("the region of AWS is not known: set region in the generator, or AWS_REGION")
	}
	if role != "" {
		cfg.Credentials = aws.NewCredentialsCache(stscreds.NewAssumeRoleProvider(sts.NewFromConfig(cfg), role))
	}
	if c.configs == nil || len(c.configs) >= maxRoles {
		c.configs = map[[2]string]aws.Config{}
	}
	c.configs[key] = cfg
	return cfg, nil
}
