package s3

import (
	"bytes"
	"cmp"
	"context"
	"crypto/md5"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/retry"
)

// sumKey is the metadata in which Put notes the digest of an object.
const sumKey = "argosy-sha256"

// List returns the objects whose keys start with prefix.
func (s *Store) List(ctx context.Context, prefix string, most int) (bucket.Listing, error) {
	var l bucket.Listing
	doing := "listing " + s.url(prefix)
	in := &s3.ListObjectsV2Input{Bucket: &s.bucket, Prefix: &prefix, EncodingType: types.EncodingTypeUrl}
	empty := 0 // pages in a row
	for {
		out, err := s.client.ListObjectsV2(ctx, in, quickListing)
		if err != nil {
			return l, s.explain(ctx, doing, "s3:ListBucket on the bucket", err)
		}
		if out.IsTruncated == nil {
			// The SDK takes an empty body, or a page about an error, for the end of a listing. The rest would be deleted.
			return l, fmt.Errorf("%s: the answer of the server%s is not a listing; check endpoint and proxies", doing, s.at())
		}
		l.Pages++
		if empty++; len(out.Contents) > 0 {
			empty = 0
		}
		for _, o := range out.Contents {
			object, err := listed(o, out.EncodingType)
			if err != nil {
				return l, fmt.Errorf("%s: %w", doing, err)
			}
			if strings.HasPrefix(object.Key, prefix) {
				l.Objects = append(l.Objects, object)
			}
		}
		if len(l.Objects) > most {
			return l, fmt.Errorf("%s: more than %d objects, which is the limit", doing, most)
		}
		if !aws.ToBool(out.IsTruncated) {
			slices.SortFunc(l.Objects, func(a, b bucket.Object) int { return cmp.Compare(a.Key, b.Key) })
			return l, nil
		}
		next := aws.ToString(out.NextContinuationToken)
		if next == "" || next == aws.ToString(in.ContinuationToken) || empty > 10 {
			return l, fmt.Errorf("%s: the server says that there is more, but not how to get it", doing)
		}
		in.ContinuationToken = &next
	}
}

func listed(o types.Object, encoding types.EncodingType) (bucket.Object, error) {
	key := aws.ToString(o.Key)
	if encoding == types.EncodingTypeUrl {
		plain, err := url.QueryUnescape(key)
		if err != nil {
			return bucket.Object{}, fmt.Errorf("the server lists a key that is not encoded well: %q", key)
		}
		key = plain
	}
	tag := strings.Trim(aws.ToString(o.ETag), `"`)
	if tag == "" {
		return bucket.Object{}, fmt.Errorf("the server lists %q without an ETag, so its changes could not be seen", key)
	}
	return bucket.Object{Key: key, ETag: tag, Size: aws.ToInt64(o.Size), Modified: aws.ToTime(o.LastModified)}, nil
}

// Get returns the content of an object.
func (s *Store) Get(ctx context.Context, o bucket.Object) ([]byte, error) {
	doing := "reading " + s.url(o.Key)
	var data []byte
	err := retry.Do(ctx, retry.Policy{Attempts: attempts, Backoff: backoff, After: time.After}, func() (again bool, err error) {
		data, err = s.get(ctx, o)
		return errors.Is(err, errBody), err
	})
	switch {
	case err == nil:
		return data, nil
	case errors.Is(err, bucket.ErrChanged):
		return nil, fmt.Errorf("%s: %w", doing, err)
	}
	return nil, s.explain(ctx, doing, "s3:GetObject on it", err)
}

// backoff is for answers that did not arrive to their end.
var backoff = retry.Backoff{First: 50 * time.Millisecond, Last: 200 * time.Millisecond}

// errBody says that an answer did not arrive to its end, which the SDK does not repeat.
var errBody = errors.New("the answer ended early")

func (s *Store) get(ctx context.Context, o bucket.Object) ([]byte, error) {
	if s.quick != nil {
		if r := s.quick.get(ctx, o.Key, o.ETag); r != nil {
			if r.StatusCode == http.StatusPreconditionFailed {
				_ = r.Body.Close()
				return nil, bucket.ErrChanged
			}
			return content(o, r.Header.Get("ETag"), r.Body)
		}
	}
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &o.Key, IfMatch: aws.String(`"` + o.ETag + `"`)})
	if err != nil {
		if status(err) == http.StatusPreconditionFailed || status(err) == http.StatusNotFound && code(err) != "NoSuchBucket" {
			return nil, bucket.ErrChanged
		}
		return nil, err
	}
	return content(o, aws.ToString(out.ETag), out.Body)
}

// content reads an answer to its end and checks that it is the object.
func content(o bucket.Object, tag string, body io.ReadCloser) ([]byte, error) {
	defer func() { _ = body.Close() }()
	// Not every server knows If-Match.
	tag = strings.Trim(tag, `"`)
	if tag != "" && tag != o.ETag {
		return nil, bucket.ErrChanged
	}
	buf := bytes.NewBuffer(make([]byte, 0, min(o.Size, 1<<20)+bytes.MinRead))
	if _, err := io.Copy(buf, io.LimitReader(body, o.Size+1)); err != nil {
		return nil, fmt.Errorf("%w: %w", errBody, err)
	}
	if int64(buf.Len()) < o.Size {
		return nil, fmt.Errorf("%w: %d of %d bytes", errBody, buf.Len(), o.Size)
	}
	if sum := md5.Sum(buf.Bytes()); tag == "" && hex.EncodeToString(sum[:]) != o.ETag {
		return nil, bucket.ErrChanged // a proxy that drops ETags may have answered from its cache
	}
	return buf.Bytes(), nil
}

// Put writes an object.
func (s *Store) Put(ctx context.Context, key string, data []byte, c bucket.Condition) (bucket.Object, error) {
	sum := md5.Sum(data)
	in := &s3.PutObjectInput{
		Bucket: &s.bucket, Key: &key, Body: bytes.NewReader(data),
		ContentMD5: aws.String(base64.StdEncoding.EncodeToString(sum[:])),
		Metadata:   map[string]string{sumKey: bucket.Sum(data)},
	}
	if c.New {
		in.IfNoneMatch = aws.String("*")
	}
	if c.ETag != "" {
		in.IfMatch = aws.String(`"` + c.ETag + `"`)
	}
	doing := "writing " + s.url(key)
	out, err := s.client.PutObject(ctx, in)
	if err != nil && c != (bucket.Condition{}) {
		switch status(err) {
		case http.StatusPreconditionFailed, http.StatusConflict:
			return bucket.Object{}, fmt.Errorf("%s: %w", doing, bucket.ErrChanged)
		case http.StatusNotImplemented: // the server has no conditional writes
			return s.Put(ctx, key, data, bucket.Condition{})
		}
	}
	if err != nil {
		return bucket.Object{}, s.explain(ctx, doing, "s3:PutObject on it", err)
	}
	return bucket.Object{Key: key, ETag: strings.Trim(aws.ToString(out.ETag), `"`), Size: int64(len(data))}, nil
}

// Sum returns the sha256 that Put has noted with an object.
func (s *Store) Sum(ctx context.Context, key string) (string, error) {
	out, err := s.client.HeadObject(ctx, &s3.HeadObjectInput{Bucket: &s.bucket, Key: &key})
	if status(err) == http.StatusNotFound {
		return "", nil
	}
	if err != nil {
		return "", s.explain(ctx, "reading "+s.url(key), "s3:GetObject on it", err)
	}
	return out.Metadata[sumKey], nil
}

// Delete deletes objects one by one, several at a time: deletion in bulk needs checksums that not all servers have.
func (s *Store) Delete(ctx context.Context, keys ...string) error {
	errs := make([]error, len(keys)) // neither an error nor a panic of one stops the others
	err := flight.Each(ctx, 16, len(keys), func(ctx context.Context, i int) error {
		_, err := flight.Safely(func() (*s3.DeleteObjectOutput, error) {
			return s.client.DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &s.bucket, Key: &keys[i]})
		})
		if err != nil {
			errs[i] = s.explain(ctx, "deleting "+s.url(keys[i]), "s3:DeleteObject on it", err)
		}
		return nil
	})
	return cmp.Or(append(errs, err)...)
}

func (s *Store) url(key string) string { return bucket.URL{Bucket: s.bucket, Path: key}.String() }
