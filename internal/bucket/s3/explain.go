package s3

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/url"
	"strings"
	"syscall"

	"github.com/aws/smithy-go"
	smithyhttp "github.com/aws/smithy-go/transport/http"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/words"
)

// explain turns an error of the SDK into one line: the operation, the problem, and what to check. right is the permission that the request
// needs.
func (s *Store) explain(ctx context.Context, doing, right string, err error) error {
	cause := s.cause(right, err)
	if ctx.Err() != nil {
		// The deadline is ours; its cause says how long it was.
		return fmt.Errorf("%s: %w", doing, context.Cause(ctx))
	}
	if s := status(err); s == http.StatusForbidden || s == http.StatusUnauthorized {
		return fmt.Errorf("%s: %s%w", doing, cause, bucket.ErrDenied)
	}
	return fmt.Errorf("%s: %s", doing, cause)
}

func (s *Store) cause(right string, err error) string {
	if text := s.credentials(err); text != "" {
		return text
	}
	if errors.Is(err, errBody) {
		return fmt.Sprintf("the answer of the server%s ended early, %d times; check the network and proxies between", s.at(), attempts)
	}
	if text := s.connection(err); text != "" {
		return text
	}
	if text := s.coded(code(err)); text != "" {
		return text
	}
	code, status := code(err), status(err)
	switch {
	case region(err) != "" && region(err) != s.region:
		return fmt.Sprintf("wrong region: the bucket is in %s, but %s was used; set region", region(err), s.region)
	case code == "PermanentRedirect" || code == "TemporaryRedirect" || status == http.StatusTemporaryRedirect ||
		status == http.StatusPermanentRedirect || code == "AuthorizationHeaderMalformed" || code == "IllegalLocationConstraintException" ||
		status == http.StatusMovedPermanently:
		return fmt.Sprintf("wrong region: %s was used and the bucket is in another; set region", s.region)
	case code == "AccessDenied" || status == http.StatusForbidden || status == http.StatusUnauthorized:
		return fmt.Sprintf("access denied%s; check that %s may %s", s.at(), s.who(), right)
	case status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests || status >= 500:
		return fmt.Sprintf("the server%s answered %d %s, %d times; it is overloaded or down", s.at(), status, code, attempts)
	case status > 0:
		return fmt.Sprintf("the server%s answered %d %s: %s", s.at(), status, code, message(err))
	default:
		return message(err)
	}
}

// coded explains a code that says everything by itself.
func (s *Store) coded(code string) string {
	switch code {
	case "NoSuchBucket":
		return fmt.Sprintf("there is no such bucket%s; check bucket, region and endpoint", s.at())
	case "InvalidBucketName":
		return "this is not a name that a bucket can have"
	case "ExpiredToken", "ExpiredTokenException", "TokenRefreshRequired", "RequestExpired":
		return "the credentials have expired; renew the session token or the profile"
	case "RequestTimeTooSkewed", "RequestInTheFuture":
		return "the clocks of this machine and of the server differ too much; check the time on both"
	case "InvalidAccessKeyId", "SignatureDoesNotMatch", "InvalidToken", "InvalidClientTokenId", "AuthFailure", "XAdminUserNotFound":
		return fmt.Sprintf("the server%s does not know the credentials or their secret (%s); check where they come from", s.at(), code)
	}
	return ""
}

// credentials explains errors on the way to credentials.
func (s *Store) credentials(err error) string {
	text := err.Error()
	if !strings.Contains(text, "get credentials") && !strings.Contains(text, "failed to refresh cached credentials") &&
		operation(err, "STS") == nil {
		return ""
	}
	if op := operation(err, "STS"); op != nil {
		what := "getting credentials from STS"
		if op.Operation() == "AssumeRole" {
			what = fmt.Sprintf("assuming role %s", s.role)
		}
		if text := s.connection(op.Unwrap()); text != "" {
			return what + ": " + text
		}
		switch c := code(op.Unwrap()); c {
		case "AccessDenied":
			return what + ": access denied; check the trust policy of the role"
		case "ExpiredTokenException", "ExpiredToken":
			return what + ": the credentials or the web identity token have expired"
		default:
			return fmt.Sprintf("%s: %s %s", what, c, message(op.Unwrap()))
		}
	}
	if strings.Contains(text, "no EC2 IMDS role found") {
		return "there are no AWS credentials: not in the environment, in shared files, by web identity, pod identity or instance role; " +
			"for a public bucket set anonymous"
	}
	_, rest, _ := strings.Cut(text, "failed to refresh cached credentials, ")
	if rest == "" {
		rest = text
	}
	return "getting credentials: " + oneLine(rest)
}

// connection explains errors below HTTP.
func (s *Store) connection(err error) string {
	if status(err) != 0 {
		return ""
	}
	host := s.host(err)
	var dns *net.DNSError
	var unknown x509.UnknownAuthorityError
	var name x509.HostnameError
	var invalid x509.CertificateInvalidError
	var record tls.RecordHeaderError
	var timeout net.Error
	switch {
	case errors.As(err, &dns) && dns.IsNotFound:
		return fmt.Sprintf("there is no host %s; check endpoint, region and DNS", dns.Name)
	case errors.As(err, &unknown), errors.As(err, &name), errors.As(err, &invalid):
		return fmt.Sprintf("the certificate of %s is not trusted; set AWS_CA_BUNDLE to its authority", host)
	case errors.As(err, &record), strings.Contains(err.Error(), "server gave HTTP response to HTTPS client"):
		return fmt.Sprintf("%s does not speak TLS; check whether endpoint is https or http", host)
	case errors.Is(err, syscall.ECONNREFUSED):
		return fmt.Sprintf("no connection to %s: connection refused; check endpoint, network policies and proxies", host)
	case errors.As(err, &timeout) && timeout.Timeout():
		return fmt.Sprintf("no answer from %s in time; check endpoint, network policies and proxies", host)
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), strings.HasSuffix(err.Error(), "EOF"):
		return fmt.Sprintf("%s closed the connection, %d times; check endpoint and proxies", host, attempts)
	}
	var op *net.OpError
	if errors.As(err, &op) {
		return fmt.Sprintf("no connection to %s: %s; check endpoint, network policies and proxies", host, oneLine(op.Err.Error()))
	}
	return ""
}

// host is the host that was spoken to.
func (s *Store) host(err error) string {
	var u *url.Error
	if errors.As(err, &u) {
		if parsed, perr := url.Parse(u.URL); perr == nil && parsed.Host != "" {
			return parsed.Host
		}
	}
	if s.endpoint != "" {
		return s.endpoint
	}
	return "AWS"
}

func (s *Store) at() string {
	if s.endpoint == "" {
		return ""
	}
	return " at " + s.endpoint
}

func (s *Store) who() string {
	if s.role != "" {
		return "role " + s.role
	}
	return "the caller's identity"
}

// operation returns the call to a service in a chain of errors.
func operation(err error, service string) *smithy.OperationError {
	for err != nil {
		var op *smithy.OperationError
		if !errors.As(err, &op) {
			return nil
		}
		if op.Service() == service {
			return op
		}
		err = op.Unwrap()
	}
	return nil
}

func code(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) {
		return api.ErrorCode()
	}
	return ""
}

func status(err error) int {
	var r *smithyhttp.ResponseError
	if errors.As(err, &r) && r.Response != nil && r.Response.Response != nil {
		return r.Response.StatusCode
	}
	return 0
}

// region is where AWS says that the bucket is.
func region(err error) string {
	var r *smithyhttp.ResponseError
	if errors.As(err, &r) && r.Response != nil && r.Response.Response != nil {
		return r.Response.Header.Get("X-Amz-Bucket-Region")
	}
	return ""
}

// message is the server's message, or the innermost error.
func message(err error) string {
	var api smithy.APIError
	if errors.As(err, &api) && api.ErrorMessage() != "" {
		return oneLine(api.ErrorMessage())
	}
	for {
		inner := errors.Unwrap(err)
		if inner == nil {
			return oneLine(err.Error())
		}
		err = inner
	}
}

// oneLine bounds a message from outside.
func oneLine(s string) string { return words.OneLine(s, 300) }
