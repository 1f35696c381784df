package kube

import (
	"bufio"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"strconv"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	"k8s.io/client-go/rest"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Applications are written by tenants, and a decoded one takes fifty times its text. So they are read as a stream, one at a time, and only
// the fields that are needed are kept.
const (
	// firstPage is how many Applications are asked for at once.
	firstPage = 100
	// maxPage bounds the bytes of a page. A larger page is requested again with fewer Applications, so that a page never takes longer than
	// a request may.
	maxPage = 32 << 20
	// maxObject bounds one Application. A Kubernetes API server takes 3 MiB, and etcd 1.5 MiB unless it is told otherwise.
	maxObject = 4 << 20
	// maxKept bounds the memory of one decoded Application: some 600 bytes for each of its sources.
	maxKept = 64 << 10
)

// metadataOnly is the media type of objects with metadata only.
const metadataOnly = "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1"

var (
	errPage  = fmt.Errorf("the answer has more than %d MiB", maxPage>>20)
	errLarge = fmt.Errorf("it has more than %d MiB", maxObject>>20)

	errEndless = errors.New("the list does not end: the same page follows itself")
)

// listing is a list of Applications, or of another resource.
type listing struct {
	resource  schema.GroupVersionResource // zero is Applications
	namespace string
	accept    string // "" is whole objects
	kept
}

// kept selects the fields of an object that are decoded, within a limit.
type kept struct {
	fields manifest.Fields // besides name, namespace and version
	light  manifest.Fields // of an object over the limit; nil decodes nothing of it
	limit  int             // 0 is maxKept
}

// list calls item for each Application, and returns the version of the list. item may be called twice for one Application. For one that is
// too large, item gets its name and the reason, and the others are still read.
func (c *Client) list(ctx context.Context, l listing, item func(o manifest.Object, large error)) (version string, err error) {
	l.kept = l.withIdentity()
	options := metav1.ListOptions{Limit: firstPage}
	for {
		page, err := c.page(ctx, l, options, item)
		if errors.Is(err, errPage) && options.Limit > 1 {
			options.Limit = max(1, options.Limit/5)
			continue
		}
		if err != nil {
			return "", err
		}
		if page.Continue == "" {
			return page.ResourceVersion, nil
		}
		if page.Continue == options.Continue {
			return "", errEndless
		}
		options.Continue = page.Continue
	}
}

func (c *Client) page(ctx context.Context, l listing, options metav1.ListOptions,
	item func(o manifest.Object, large error),
) (page metav1.ListMeta, err error) {
	r := resourceIn(c.read, l.resource, l.namespace).Param("limit", strconv.FormatInt(options.Limit, 10))
	if options.Continue != "" {
		r = r.Param("continue", options.Continue)
	}
	if l.accept != "" {
		r = r.SetHeader("Accept", l.accept)
	}
	body, err := r.Stream(ctx)
	if err != nil {
		return page, err
	}
	defer func() { _ = body.Close() }()
	return newStream(body).list(l.kept, item)
}

// watch opens a stream of events.
func (c *Client) watch(ctx context.Context, resource schema.GroupVersionResource, namespace, version string) (io.ReadCloser, error) {
	return resourceIn(c.endless, resource, namespace).Param("watch", "true").Param("allowWatchBookmarks", "true").Param("resourceVersion",
		version).Stream(ctx)
}

// application reads one Application.
func (c *Client) application(ctx context.Context, app argo.Ref, fields manifest.Fields, limit int) (manifest.Object, error) {
	body, err := resourceIn(c.read, applications, app.Namespace).Name(app.Name).Stream(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	o, large, err := newStream(body).object(kept{fields: fields, limit: limit})
	return o, errors.Join(large, err)
}

// resourceIn is a request about a resource in a namespace; zero is Applications.
func resourceIn(client rest.Interface, resource schema.GroupVersionResource, namespace string) *rest.Request {
	if resource.Empty() {
		resource = applications
	}
	return client.Get().AbsPath("/apis", resource.Group, resource.Version).NamespaceIfScoped(namespace, namespace != metav1.NamespaceAll).
		Resource(resource.Resource).SetHeader("Accept", "application/json")
}

// withIdentity adds the fields that every reader needs.
func (k kept) withIdentity() kept {
	add := func(fields manifest.Fields) manifest.Fields {
		out, meta := manifest.Fields{}, manifest.Fields{"name": nil, "namespace": nil, "resourceVersion": nil}
		maps.Copy(out, fields)
		maps.Copy(meta, fields["metadata"])
		out["metadata"] = meta
		return out
	}
	k.fields = add(k.fields)
	if k.light != nil {
		k.light = add(k.light)
	}
	return k
}

// inside selects the same fields of an object that is in a field of an event.
func (k kept) inside(field string) kept {
	k = k.withIdentity()
	k.fields = manifest.Fields{"type": nil, field: k.fields}
	if k.light != nil {
		k.light = manifest.Fields{"type": nil, field: k.light}
	}
	return k
}

func refOf(o manifest.Object) argo.Ref {
	return argo.Ref{Namespace: manifest.String(o, "metadata", "namespace"), Name: manifest.String(o, "metadata", "name")}
}

// stream finds the values in JSON without decoding them. It believes the API server that they are well-formed.
type stream struct {
	in   *bufio.Reader
	left int    // bytes that may be read
	buf  []byte // the value, up to maxObject
}

func newStream(r io.Reader) *stream {
	return &stream{in: bufio.NewReaderSize(r, 64<<10), left: maxPage}
}

// list reads a list, and calls item for each of its elements.
func (s *stream) list(k kept, item func(o manifest.Object, large error)) (meta metav1.ListMeta, err error) {
	if c, err := s.begin(); err != nil || c != '{' {
		return meta, errors.Join(errors.New("the answer is no list"), unexpected(err))
	}
	if err := s.skip(); err != nil {
		return meta, err
	}
	for {
		c, err := s.begin()
		if err != nil || c == '}' {
			return meta, unexpected(err)
		}
		data, _, err := s.value()
		switch key := string(data); {
		case err != nil:
		case key == `"items"`:
			err = s.items(k, item)
		default:
			if data, _, err = s.value(); err == nil && key == `"metadata"` {
				err = json.Unmarshal(data, &meta)
			}
		}
		if err != nil {
			return meta, unexpected(err)
		}
	}
}

// items reads the elements of a list, which may be null.
func (s *stream) items(k kept, item func(o manifest.Object, large error)) error {
	if c, err := s.begin(); err != nil || c != '[' {
		_, _, skipped := s.value()
		return errors.Join(err, skipped)
	}
	if err := s.skip(); err != nil {
		return err
	}
	for {
		c, err := s.begin()
		if err != nil {
			return err
		}
		if c == ']' {
			return s.skip()
		}
		o, large, err := s.object(k)
		if err != nil {
			return err
		}
		item(o, large)
	}
}

// object reads an object. Large says why only the beginning of it is there, or the light fields.
func (s *stream) object(k kept) (o manifest.Object, large, err error) {
	data, whole, err := s.value()
	if err != nil {
		return nil, nil, err
	}
	limit := cmp.Or(k.limit, maxKept)
	o, err = manifest.Pick(data, k.fields, limit)
	var over *manifest.PickError
	switch {
	case !whole:
		return o, errLarge, nil
	case errors.As(err, &over) && k.light != nil:
		large = err
		if o, err = manifest.Pick(data, k.light, limit); err == nil || errors.As(err, &over) {
			return o, large, nil
		}
		return nil, nil, fmt.Errorf("the answer is not understood: %w", err)
	case errors.As(err, &over):
		return o, err, nil
	case err != nil:
		return nil, nil, fmt.Errorf("the answer is not understood: %w", err)
	}
	return o, nil, nil
}

// value reads the next value. If it is longer than maxObject, it returns the beginning and false.
func (s *stream) value() (data []byte, whole bool, err error) {
	if _, err := s.begin(); err != nil {
		return nil, false, err
	}
	s.buf = s.buf[:0]
	whole = true
	var scan scanner
	for {
		// What is buffered is scanned at once: byte for byte through the reader takes twice as long.
		if _, err := s.in.Peek(1); err != nil {
			return nil, false, unexpected(err)
		}
		part, _ := s.in.Peek(s.in.Buffered())
		part = part[:min(len(part), max(s.left, 0))]
		n, ended := scan.end(part)
		s.left -= n
		keep := min(n, maxObject-len(s.buf))
		s.buf = append(s.buf, part[:keep]...)
		whole = whole && keep == n
		_, _ = s.in.Discard(n)
		if ended || scan.bare && scan.depth == 0 && !scan.quoted && s.delimited() {
			return s.buf, whole, nil
		}
		if s.left <= 0 {
			return nil, false, errPage
		}
	}
}

// scanner finds the end of a value, which comes in parts.
type scanner struct {
	depth           int
	quoted, escaped bool
	bare            bool // it is a number, a boolean or null, which ends before the next separator
}

// end returns how many bytes of a part belong to the value, and whether they are its last.
func (x *scanner) end(part []byte) (n int, ended bool) {
	for i := 0; i < len(part); i++ {
		for x.quoted && i < len(part) && (x.escaped || part[i] != '"') {
			x.escaped = !x.escaped && part[i] == '\\'
			i++
		}
		if i == len(part) {
			break
		}
		switch c := part[i]; {
		case c == '"':
			x.quoted = !x.quoted
		case c == '{' || c == '[':
			x.depth++
			continue
		case c == '}' || c == ']':
			x.depth--
		case x.depth == 0:
			x.bare = true
			if i+1 == len(part) || isSeparator(part[i+1]) || part[i+1] == '}' || part[i+1] == ']' {
				return i + 1, i+1 < len(part)
			}
			continue
		default:
			continue
		}
		if x.depth <= 0 && !x.quoted {
			return i + 1, true
		}
	}
	return len(part), false
}

// delimited reports whether a number, a boolean or null ends here.
func (s *stream) delimited() bool {
	next, err := s.in.Peek(1)
	return err != nil || isSeparator(next[0]) || next[0] == '}' || next[0] == ']'
}

func isSeparator(c byte) bool {
	return c == ' ' || c == '\t' || c == '\r' || c == '\n' || c == ',' || c == ':'
}

// begin returns the first byte of the next value without reading it. io.EOF means that there is none.
func (s *stream) begin() (byte, error) {
	for {
		next, err := s.in.Peek(1)
		if err != nil {
			return 0, err
		}
		if !isSeparator(next[0]) {
			return next[0], nil
		}
		if err := s.skip(); err != nil {
			return 0, err
		}
	}
}

// skip reads one byte.
func (s *stream) skip() error {
	if s.left--; s.left < 0 {
		return errPage
	}
	_, err := s.in.ReadByte()
	return err
}

func unexpected(err error) error {
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// ended is the error of a watch that ends: none if the server, or we, closed it.
func ended(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || utilnet.IsProbableEOF(err) || utilnet.IsTimeout(err) {
		return nil
	}
	return err
}
