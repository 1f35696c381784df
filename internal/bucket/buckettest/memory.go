// Package buckettest has what tests of object stores need: a store in memory, S3 servers in process and as a program, a
// proxy that makes them fail, and the contract that all stores keep.
package buckettest

import (
	"context"
	"crypto/md5"
	"encoding/hex"
	"fmt"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/argosy-cd/argosy/internal/bucket"
)

// Memory is a bucket in memory. Its hooks, if set, run before a request and may answer it with an error.
type Memory struct {
	PageSize int // 0 is 1,000
	OnList   func(prefix string) error
	OnGet    func(key string) error
	OnPut    func(key string) error

	mu          sync.Mutex
	objects     map[string][]byte
	sums        map[string]string
	Lists, Gets int
}

func tag(data []byte) string {
	s := md5.Sum(data)
	return hex.EncodeToString(s[:])
}

// Set writes an object without hooks.
func (m *Memory) Set(key, content string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(key, []byte(content))
}

func (m *Memory) set(key string, data []byte) {
	if m.objects == nil {
		m.objects, m.sums = map[string][]byte{}, map[string]string{}
	}
	m.objects[key] = data
	m.sums[key] = bucket.Sum(data)
}

// Remove deletes an object without hooks.
func (m *Memory) Remove(key string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.objects, key)
}

// Keys returns all keys in order.
func (m *Memory) Keys() []string {
	m.mu.Lock()
	defer m.mu.Unlock()
	keys := make([]string, 0, len(m.objects))
	for k := range m.objects {
		keys = append(keys, k)
	}
	sort.Strings(keys)
	return keys
}

// Text returns the content of an object.
func (m *Memory) Text(key string) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	return string(m.objects[key])
}

// List implements bucket.Store. The hook runs before each page.
func (m *Memory) List(ctx context.Context, prefix string, most int) (bucket.Listing, error) {
	size := m.PageSize
	if size == 0 {
		size = 1000
	}
	var l bucket.Listing
	last := ""
	for {
		if m.OnList != nil {
			if err := m.OnList(prefix); err != nil {
				return l, err
			}
		}
		l.Pages++
		more := m.page(&l, prefix, last, size)
		if len(l.Objects) > most {
			return l, fmt.Errorf("more than %d objects", most)
		}
		if !more {
			return l, ctx.Err()
		}
		last = l.Objects[len(l.Objects)-1].Key
	}
}

func (m *Memory) page(l *bucket.Listing, prefix, last string, size int) (more bool) {
	keys := m.Keys()
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Lists++
	for _, k := range keys {
		if k <= last || !strings.HasPrefix(k, prefix) {
			continue
		}
		if size == 0 {
			return true
		}
		size--
		l.Objects = append(l.Objects, bucket.Object{
			Key: k, ETag: tag(m.objects[k]), Size: int64(len(m.objects[k])),
			Modified: time.Unix(0, 0),
		})
	}
	return false
}

// Get implements bucket.Store.
func (m *Memory) Get(ctx context.Context, o bucket.Object) ([]byte, error) {
	if m.OnGet != nil {
		if err := m.OnGet(o.Key); err != nil {
			return nil, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.Gets++
	data, ok := m.objects[o.Key]
	if !ok || tag(data) != o.ETag {
		return nil, bucket.ErrChanged
	}
	return data, ctx.Err()
}

// Put implements bucket.Writer.
func (m *Memory) Put(ctx context.Context, key string, data []byte, c bucket.Condition) (bucket.Object, error) {
	if m.OnPut != nil {
		if err := m.OnPut(key); err != nil {
			return bucket.Object{}, err
		}
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	old, exists := m.objects[key]
	if c.New && exists || c.ETag != "" && (!exists || tag(old) != c.ETag) {
		return bucket.Object{}, bucket.ErrChanged
	}
	m.set(key, data)
	return bucket.Object{Key: key, ETag: tag(data), Size: int64(len(data))}, ctx.Err()
}

// Sum implements bucket.Writer.
func (m *Memory) Sum(_ context.Context, key string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.sums[key], nil
}

// Delete implements bucket.Writer.
func (m *Memory) Delete(_ context.Context, keys ...string) error {
	for _, k := range keys {
		m.Remove(k)
	}
	return nil
}
