package s3

import (
	"bytes"
	"encoding/xml"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/s3"
	"github.com/google/go-cmp/cmp"

	"github.com/argosy-cd/argosy/internal/bucket"
	"github.com/argosy-cd/argosy/internal/bucket/buckettest"
)

// page is a listing as encoding/xml reads it.
type page struct {
	XMLName               xml.Name
	IsTruncated           string
	NextContinuationToken string
	EncodingType          string
	Contents              []struct {
		Key, ETag, Size, LastModified string
	}
}

func flatten(body []byte) (string, bool) {
	out, ok := scanListing(body)
	if !ok {
		return "", false
	}
	s := fmt.Sprintf("%t %q %q", aws.ToBool(out.IsTruncated), aws.ToString(out.NextContinuationToken), out.EncodingType)
	for _, o := range out.Contents {
		s += fmt.Sprintf(" %q %q %d %d", aws.ToString(o.Key), aws.ToString(o.ETag), aws.ToInt64(o.Size),
			aws.ToTime(o.LastModified).UnixNano())
	}
	return s, true
}

func reference(body []byte) (string, error) {
	var p page
	dec := xml.NewDecoder(strings.NewReader(string(body)))
	if err := dec.Decode(&p); err != nil {
		return "", err
	}
	s := fmt.Sprintf("%t %q %q", p.IsTruncated == "true", p.NextContinuationToken, p.EncodingType)
	for _, o := range p.Contents {
		n := int64(0)
		if o.Size != "" {
			if _, err := fmt.Sscanf(o.Size, "%d", &n); err != nil {
				return "", err
			}
		}
		var modified time.Time
		if o.LastModified != "" {
			var err error
			if modified, err = time.Parse(time.RFC3339, o.LastModified); err != nil {
				return "", err
			}
		}
		s += fmt.Sprintf(" %q %q %d %d", o.Key, o.ETag, n, modified.UnixNano())
	}
	return s, nil
}

var listings = []string{
	`<?xml version="1.0" encoding="UTF-8"?>` + "\n" +
		`<ListBucketResult xmlns="http://s3.amazonaws.com/doc/2006-03-01/"><Name>b</Name><Prefix/><IsTruncated>true</IsTruncated><NextContinuationToken>a&amp;b</NextContinuationToken><EncodingType>url</EncodingType><Contents><Key>a%20b</Key><LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;abc&quot;</ETag><Size>12</Size><Owner><ID>x</ID><Key>not this</Key></Owner><StorageClass>STANDARD</StorageClass></Contents><Contents><Key>ü &lt;&gt;</Key><ETag>"d"</ETag><Size>0</Size></Contents></ListBucketResult>`,
	"<ListBucketResult>\n  <Contents>\n    <Key>k</Key>\n  </Contents>\n  <CommonPrefixes><Prefix>p/</Prefix></CommonPrefixes>\n</ListBucketResult>\n",
	`<ListBucketResult></ListBucketResult>`,
	`<ListBucketResult><Contents><Key>it&#39;s</Key><ETag>&#34;e&#34;</ETag></Contents></ListBucketResult>`,
}

func TestScanListing(t *testing.T) {
	for _, body := range listings {
		got, ok := flatten([]byte(body))
		want, err := reference([]byte(body))
		if !ok || err != nil || got != want {
			t.Errorf("got  %s, %t\nwant %s, %v", got, ok, want, err)
		}
	}
	for _, body := range []string{
		"", "text", "<Error><Code>x</Code></Error>", "<ListBucketResult>", "<ListBucketResult></Other>",
		"<ListBucketResult></ListBucketResult><More/>",
		"<ListBucketResult><Contents><Key>&bogus;</Key></Contents></ListBucketResult>",
		"<ListBucketResult><Contents><Key>&#1;</Key></Contents></ListBucketResult>",
		"<ListBucketResult><Contents><Key><![CDATA[x]]></Key></Contents></ListBucketResult>",
		"<ListBucketResult><!-- x --></ListBucketResult>",
		"<ListBucketResult><Contents><Size>x</Size></Contents></ListBucketResult>",
		"<ListBucketResult><Contents><Key>\xff</Key></Contents></ListBucketResult>",
		"<s3:ListBucketResult></s3:ListBucketResult>", "<ListBucketResult>text<Contents></Contents></ListBucketResult>x",
		strings.Repeat("<a>", 100),
	} {
		if got, ok := flatten([]byte(body)); ok {
			t.Errorf("%s: %s", body, got)
		}
	}
}

// TestListingFallback checks that what our scanner does not know is decoded by the SDK.
func TestListingFallback(t *testing.T) {
	buckettest.Environment(t)
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, `<ListBucketResult><!-- odd --><IsTruncated>false</IsTruncated><Contents><Key>&#97;B</Key><ETag>"x"</ETag><Size>1</Size></Contents></ListBucketResult>`)
	}))
	defer s.Close()
	l, err := open(t, s.URL).List(t.Context(), "", 10)
	if diff := cmp.Diff(bucket.Listing{Pages: 1, Objects: []bucket.Object{{Key: "aB", ETag: "x", Size: 1}}}, l); err != nil || diff != "" {
		t.Errorf("%v (-want +got)\n%s", err, diff)
	}
}

// TestScanReal checks that the scanner knows what real servers write, and is not always replaced by the SDK's decoder.
func TestScanReal(t *testing.T) {
	buckettest.Environment(t)
	for name, server := range map[string]string{"in process": buckettest.InProcess(t, "test"), "real": buckettest.Versity(t, "test")} {
		s := open(t, server)
		if _, err := s.Put(t.Context(), "p/a b", []byte("x"), bucket.Condition{}); err != nil {
			t.Fatal(err)
		}
		var body []byte
		proxy := httptest.NewServer(&httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) {
				target, _ := url.Parse(server)
				r.SetURL(target)
				r.Out.Host = r.In.Host
			},
			ModifyResponse: func(r *http.Response) error {
				body, _ = io.ReadAll(r.Body)
				r.Body = io.NopCloser(bytes.NewReader(body))
				return nil
			},
		})
		_, err := open(t, proxy.URL).List(t.Context(), "p/", 10)
		proxy.Close()
		if err != nil {
			t.Fatal(err)
		}
		if out, ok := scanListing(body); !ok || len(out.Contents) != 1 {
			t.Errorf("%s: not known: %s", name, body)
		}
	}
}

// FuzzListing compares with encoding/xml: what the scanner accepts, it reads the same way.
func FuzzListing(f *testing.F) {
	for _, body := range listings {
		f.Add([]byte(body))
	}
	f.Fuzz(func(t *testing.T, body []byte) {
		got, ok := flatten(body)
		if !ok {
			return
		}
		if want, err := reference(body); err != nil || got != want {
			t.Errorf("%q\ngot  %s\nwant %s, %v", body, got, want, err)
		}
	})
}

// BenchmarkUnchanged reads a thousand objects that have not changed, as a plugin does between two changes.
func BenchmarkUnchanged(b *testing.B) {
	const n = 1000
	buckettest.Environment(b)
	store := open(b, buckettest.Versity(b, "test"))
	for i := range n {
		if _, err := store.Put(b.Context(), fmt.Sprintf("p/%05d.yaml", i), []byte(strings.Repeat("x", 2000)),
			bucket.Condition{}); err != nil {
			b.Fatal(err)
		}
	}
	r := &bucket.Reader{Store: store, Bucket: "test", ID: store.ID(), Cache: &memory{}, Limits: bucket.DefaultLimits}
	read := func() *bucket.Snapshot {
		s, err := r.Read(b.Context(), bucket.Request{Path: "p"})
		if err != nil {
			b.Fatal(err)
		}
		return s
	}
	read()
	b.Run("listing-alone", func(b *testing.B) {
		for b.Loop() {
			if _, err := store.client.ListObjectsV2(b.Context(), &s3.ListObjectsV2Input{
				Bucket: aws.String("test"),
				Prefix: aws.String("p/"),
			}, quickListing); err != nil {
				b.Fatal(err)
			}
		}
	})
	b.Run("snapshot", func(b *testing.B) {
		for b.Loop() {
			if s := read(); s.Stats.Gets != 0 || s.Stats.Lists != (n+999)/1000 {
				b.Fatalf("%+v", s.Stats)
			}
		}
	})
}

// memory is a cache of one pack.
type memory struct{ pack []byte }

func (m *memory) Load(string) (bucket.Pack, bool) {
	p, err := bucket.DecodePack(m.pack)
	return p, err == nil
}
func (m *memory) Save(_ string, p bucket.Pack) { m.pack = p.Encode() }
func (m *memory) Use(string)                   {}
