package lab

import (
	"bytes"
	"context"
	"fmt"
	"io"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/credentials"
	"github.com/aws/aws-sdk-go-v2/service/s3"
)

// S3Client returns a client of an S3 server such as the lab's.
func S3Client(endpoint, accessKey, secretKey string) *s3.Client {
	return s3.New(s3.Options{
		BaseEndpoint: aws.String(endpoint), Region: "us-east-1", UsePathStyle: true,
		Credentials: credentials.NewStaticCredentialsProvider(accessKey, secretKey, ""),
	})
}

// Bucket creates a bucket.
func (l *Lab) Bucket(ctx context.Context, bucket string) error {
	_, err := S3Client(l.S3Endpoint, l.S3AccessKey, l.S3SecretKey).CreateBucket(ctx, &s3.CreateBucketInput{Bucket: &bucket})
	return err
}

// Put writes an object.
func (l *Lab) Put(ctx context.Context, bucket, key, content string) error {
	_, err := S3Client(l.S3Endpoint, l.S3AccessKey, l.S3SecretKey).PutObject(ctx, &s3.PutObjectInput{
		Bucket: &bucket, Key: &key, Body: bytes.NewReader([]byte(content)),
	})
	return err
}

// Remove deletes an object.
func (l *Lab) Remove(ctx context.Context, bucket, key string) error {
	_, err := S3Client(l.S3Endpoint, l.S3AccessKey, l.S3SecretKey).DeleteObject(ctx, &s3.DeleteObjectInput{Bucket: &bucket, Key: &key})
	return err
}

// Cat copies an object to w.
func Cat(ctx context.Context, client *s3.Client, bucket, key string, w io.Writer) error {
	out, err := client.GetObject(ctx, &s3.GetObjectInput{Bucket: &bucket, Key: &key})
	if err != nil {
		return fmt.Errorf("reading s3://%s/%s: %w", bucket, key, err)
	}
	defer out.Body.Close()
	_, err = io.Copy(w, out.Body)
	return err
}
