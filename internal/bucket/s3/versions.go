package s3

import (
	"context"
	"fmt"
	"net/http"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/aws/aws-sdk-go-v2/service/s3/types"

	"github.com/argosy-cd/argosy/internal/bucket"
)

// Versions returns all versions of the objects whose keys start with prefix. A bucket without versioning has one of each.
func (s *Store) Versions(ctx context.Context, prefix string, most int) ([]bucket.Version, error) {
	var out []bucket.Version
	doing := "listing versions of " + s.url(prefix)
	in := &s3.ListObjectVersionsInput{Bucket: &s.bucket, Prefix: &prefix, EncodingType: types.EncodingTypeUrl}
	for {
		page, err := s.client.ListObjectVersions(ctx, in)
		if err != nil {
			return nil, s.explain(ctx, doing, "s3:ListBucketVersions on the bucket", err)
		}
		for _, v := range page.Versions {
			o, err := listed(types.Object{Key: v.Key, ETag: v.ETag, Size: v.Size, LastModified: v.LastModified}, page.EncodingType)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", doing, err)
			}
			out = append(out, bucket.Version{Object: o, ID: aws.ToString(v.VersionId)})
		}
		for _, m := range page.DeleteMarkers {
			o, err := listed(types.Object{Key: m.Key, ETag: aws.String("deleted"), LastModified: m.LastModified}, page.EncodingType)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", doing, err)
			}
			out = append(out, bucket.Version{Object: o, ID: aws.ToString(m.VersionId), Deleted: true})
		}
		if len(out) > most {
			return nil, fmt.Errorf("%s: more than %d versions, which is the limit", doing, most)
		}
		if !aws.ToBool(page.IsTruncated) {
			return out, nil
		}
		if page.NextKeyMarker == nil || aws.ToString(page.NextKeyMarker) == aws.ToString(in.KeyMarker) &&
			aws.ToString(page.NextVersionIdMarker) == aws.ToString(in.VersionIdMarker) {
			return nil, fmt.Errorf("%s: the server says that there is more, but not how to get it", doing)
		}
		in.KeyMarker, in.VersionIdMarker = page.NextKeyMarker, page.NextVersionIdMarker
	}
}

// GetVersion returns the content of a version.
func (s *Store) GetVersion(ctx context.Context, v bucket.Version) ([]byte, error) {
	out, err := s.client.GetObject(ctx, &s3.GetObjectInput{Bucket: &s.bucket, Key: &v.Key, VersionId: &v.ID})
	if status(err) == http.StatusNotFound {
		return nil, bucket.ErrChanged
	}
	if err != nil {
		return nil, s.explain(ctx, "reading a version of "+s.url(v.Key), "s3:GetObjectVersion on it", err)
	}
	return content(v.Object, strings.Trim(aws.ToString(out.ETag), `"`), out.Body)
}
