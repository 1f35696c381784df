package kube

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/refresh"
	"github.com/argosy-cd/argosy/internal/s3source"
)

// Reads of applications are in a few ConfigMaps, one key for each source of an application. One object could not hold the reads of
// thousands of applications, and each change would send all of it.
const (
	readsPrefix = "argosy-reads-"
	readsMaps   = 8
	// maxReadsMap is below the size limit of the API server.
	maxReadsMap = 900 << 10
	maxKey      = 253
)

// shard is the ConfigMap of a key.
func shard(key string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(key))
	return fmt.Sprintf("%s%d", readsPrefix, h.Sum32()%readsMaps)
}

func readsKey(p refresh.Place) string { return p.App.Namespace + "." + p.App.Name + "." + p.Origin }

// parseKey is the reverse of readsKey. A namespace and an origin have no dots, a name may have.
func parseKey(key string) (refresh.Place, bool) {
	namespace, rest, ok := strings.Cut(key, ".")
	i := strings.LastIndexByte(rest, '.')
	if !ok || i < 1 {
		return refresh.Place{}, false
	}
	return refresh.Place{App: argo.Ref{Namespace: namespace, Name: rest[:i]}, Origin: rest[i+1:]}, true
}

// Reads returns the published reads of applications. Invalid entries are skipped and are in the error.
func (c *Client) Reads(ctx context.Context) (map[refresh.Place]s3source.Reads, error) {
	out := map[refresh.Place]s3source.Reads{}
	var bad []error
	for i := range readsMaps {
		name := fmt.Sprintf("%s%d", readsPrefix, i)
		data, err := c.readsMap(ctx, name)
		if err != nil {
			return nil, err
		}
		for key, value := range data {
			place, ok := parseKey(key)
			r, err := s3source.DecodeReads([]byte(value))
			if err == nil && !ok {
				err = errors.New("it is not NAMESPACE.NAME.SOURCE")
			}
			if err != nil {
				bad = append(bad, fmt.Errorf("ConfigMap %s: key %s: %w", name, key, err))
				continue
			}
			out[place] = r
		}
	}
	return out, errors.Join(bad...)
}

// readsMap reads one of the ConfigMaps, which must be there.
func (c *Client) readsMap(ctx context.Context, name string) (map[string]string, error) {
	data, err := c.configMap(ctx, name)
	if err == nil && data == nil {
		err = fmt.Errorf("there is no ConfigMap %s in namespace %s; it comes with deploy/kustomize/cmp", name, c.Namespace)
	}
	return data, err
}

// Publish writes the reads of applications. A failed read does not replace a successful one, nor an older read a newer one. It returns the
// places to retry, and the error.
func (c *Client) Publish(ctx context.Context, reads map[refresh.Place]s3source.Reads) (again []refresh.Place, err error) {
	changes := map[string]map[string]s3source.Reads{}
	places := map[string][]refresh.Place{}
	var errs []error
	for place, r := range reads {
		key := readsKey(place)
		if len(key) > maxKey {
			errs = append(errs, fmt.Errorf("what %s reads from S3 cannot be published: its name is too long", place.App))
			continue
		}
		name := shard(key)
		if changes[name] == nil {
			changes[name] = map[string]s3source.Reads{}
		}
		changes[name][key] = r
		places[name] = append(places[name], place)
	}
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		refused, err := c.publish(ctx, name, changes[name])
		if err != nil {
			again = append(again, places[name]...)
		}
		errs = append(errs, refused, err)
	}
	return again, errors.Join(errs...)
}

// publish writes to one ConfigMap. Refused entries need no retry.
func (c *Client) publish(ctx context.Context, name string, changes map[string]s3source.Reads) (refused, err error) {
	there, err := c.readsMap(ctx, name)
	if err != nil {
		return nil, err
	}
	data := map[string]any{}
	var errs []error
	s := &space{texts: there}
	for key, value := range there {
		s.size += len(key) + len(value)
	}
	for _, key := range slices.Sorted(maps.Keys(changes)) {
		r := changes[key]
		if old, err := s3source.DecodeReads([]byte(there[key])); err == nil &&
			(old.At.After(r.At) || old.Same(r) && (len(r.Marks) == 0 || old.Project == r.Project && !old.Changed(r.Marks))) {
			continue
		}
		text, err := r.Encode()
		var evicted []string
		if err == nil {
			evicted, err = s.put(key, string(text), r.Project)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("publishing what %s reads to ConfigMap %s: %w", key, name, err))
			continue
		}
		for _, other := range evicted {
			data[other] = nil
			errs = append(errs, fmt.Errorf("evicted the S3 reads of %s from ConfigMap %s: it is full, and that project uses the most space",
				other, name))
		}
		data[key] = string(text)
	}
	return errors.Join(errs...), c.patchReads(ctx, name, data)
}

// Forget removes published reads.
func (c *Client) Forget(ctx context.Context, places []refresh.Place) error {
	changes := map[string]map[string]any{}
	for _, p := range places {
		key := readsKey(p)
		if changes[shard(key)] == nil {
			changes[shard(key)] = map[string]any{}
		}
		changes[shard(key)][key] = nil
	}
	var errs []error
	for _, name := range slices.Sorted(maps.Keys(changes)) {
		errs = append(errs, c.patchReads(ctx, name, changes[name]))
	}
	return errors.Join(errs...)
}

func (c *Client) patchReads(ctx context.Context, name string, data map[string]any) error {
	if len(data) == 0 {
		return nil
	}
	patch, err := json.Marshal(map[string]any{"data": data})
	if err != nil {
		return err
	}
	_, err = c.meta.Resource(configMaps).Namespace(c.Namespace).Patch(ctx, name, types.MergePatchType, patch,
		metav1.PatchOptions{FieldManager: manager})
	if err != nil {
		return explain("writing ConfigMap "+name, err)
	}
	return nil
}
