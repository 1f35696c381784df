package fetch

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/content"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/argosy-cd/argosy/internal/gittree"
)

// Limits of answers of a registry.
const (
	maxManifest = 4 << 20
	maxLayers   = 10 // as in Argo CD 3.2, util/oci/client.go
	maxTags     = 100_000
)

// chartLayers are the media types of a chart's archive, the second one from before Helm 3.7.
var chartLayers = []string{"application/vnd.cncf.helm.chart.content.v1.tar+gzip", "application/tar+gzip"}

func isChartLayer(mediaType string) bool { return slices.Contains(chartLayers, mediaType) }

// isContentLayer follows Argo CD 3.2, util/oci/client.go.
func isContentLayer(mediaType string) bool {
	return strings.HasSuffix(mediaType, "tar+gzip") || strings.HasSuffix(mediaType, "tar.gzip") || strings.HasSuffix(mediaType, "tar")
}

// registryChart fetches a chart from a registry. A full version is a tag; everything else is chosen from the tags.
func (f *Fetcher) registryChart(ctx context.Context, repo *repository, name, version string) (*Chart, error) {
	at := repo.named(name)
	chosen := version
	if !gittree.IsVersion(version) {
		tags, err := f.tagsOf(ctx, at)
		if err != nil {
			return nil, fmt.Errorf("listing tags: %w", err)
		}
		if chosen, err = choose(tags, version); err != nil {
			return nil, err
		}
	}
	return f.once(ctx, func(ctx context.Context) (*Chart, error) {
		if gittree.IsVersion(chosen) {
			if c := f.kept(name, "chart", repo.url, name, chosen); c != nil {
				return c, nil
			}
		}
		f.note(fmt.Sprintf("fetching chart %s %s from %s", name, chosen, repo.url))
		p, err := f.pull(ctx, at, tagOf(chosen), isChartLayer)
		if err != nil {
			return nil, err
		}
		return f.keep(name, p.data, reference{Version: chosen})
	}, "release", repo.url, name, chosen)
}

// artifact answers from the cache or from the registry.
func (f *Fetcher) artifact(ctx context.Context, repo *repository, revision string) (*Chart, error) {
	name := path.Base(repo.path)
	if fixed(revision) {
		if c := f.kept(name, "artifact", repo.url, revision); c != nil {
			return c, nil
		}
	}
	if f.cfg.Offline {
		return nil, fmt.Errorf("artifact %s: not in the cache, and offline", strings.TrimSpace(repo.url+" "+revision))
	}
	f.note(fmt.Sprintf("fetching artifact %s", strings.TrimSpace(repo.url+" "+revision)))
	c, err := f.fetchArtifact(ctx, repo, name, revision)
	if err != nil {
		return nil, fmt.Errorf("fetching artifact %s: %w", strings.TrimSpace(repo.url+" "+revision), explain(ctx, err))
	}
	return c, nil
}

// fixed reports whether a revision always means the same artifact.
func fixed(revision string) bool {
	return strings.HasPrefix(revision, digestPrefix) || gittree.IsVersion(revision)
}

// fetchArtifact follows Argo CD 3.2: a revision is a tag or a digest first, and a constraint if there is none.
func (f *Fetcher) fetchArtifact(ctx context.Context, repo *repository, name, revision string) (*Chart, error) {
	c, err := (*Chart)(nil), errdef.ErrNotFound
	if revision != "" && !strings.ContainsAny(revision, "*^~<>=|, ") {
		c, err = f.tagged(ctx, repo, name, revision)
	}
	if !errors.Is(err, errdef.ErrNotFound) || revision != "" && !gittree.IsConstraint(revision) {
		return c, err
	}
	tags, err := f.tagsOf(ctx, repo)
	if err != nil {
		return nil, fmt.Errorf("listing tags: %w", err)
	}
	chosen, err := choose(tags, revision)
	if err != nil {
		return nil, err
	}
	return f.tagged(ctx, repo, name, chosen)
}

// tagged fetches an artifact by its tag or its digest.
func (f *Fetcher) tagged(ctx context.Context, repo *repository, name, tag string) (*Chart, error) {
	return f.once(ctx, func(ctx context.Context) (*Chart, error) {
		if fixed(tag) {
			if c := f.kept(name, "artifact", repo.url, tag); c != nil {
				return c, nil
			}
		}
		p, err := f.pull(ctx, repo, tagOf(tag), isContentLayer)
		if err != nil {
			return nil, err
		}
		r := reference{Version: tag, Keep: !isChartLayer(p.mediaType)}
		c, err := f.keep(name, p.data, r)
		if err != nil {
			return nil, err
		}
		r.Digest = c.Digest
		for _, version := range []string{tag, p.manifest} {
			if fixed(version) {
				f.cache.keepReference(r, "artifact", repo.url, version)
			}
		}
		return c, nil
	}, "tagged", repo.url, tag)
}

// tagOf is the tag of a version: tags cannot have a plus.
func tagOf(version string) string { return strings.ReplaceAll(version, "+", "_") }

// tagsOf lists the tags of a repository, as versions, once.
func (f *Fetcher) tagsOf(ctx context.Context, repo *repository) ([]string, error) {
	return f.tags.do(ctx, repo.host+"/"+repo.path, func(ctx context.Context) ([]string, error) {
		ctx, cancel := context.WithTimeoutCause(ctx, wholeTimeout, errTimeout)
		defer cancel()
		at, err := f.open(repo)
		if err != nil {
			return nil, err
		}
		var all []string
		err = at.Tags(ctx, "", func(tags []string) error {
			for _, tag := range tags {
				all = append(all, strings.ReplaceAll(tag, "_", "+"))
			}
			if len(all) > maxTags {
				return fmt.Errorf("more than %d tags", maxTags)
			}
			return nil
		})
		if err != nil {
			return nil, explain(ctx, err)
		}
		return all, nil
	})
}

// open prepares requests to a repository of a registry.
func (f *Fetcher) open(repo *repository) (*remote.Repository, error) {
	at, err := remote.NewRepository(repo.host + "/" + repo.path)
	if err != nil {
		return nil, fmt.Errorf("%q is not the name of a repository in a registry", repo.host+"/"+repo.path)
	}
	at.Client, at.PlainHTTP, at.MaxMetadataBytes = f.registry, f.plain(repo.host), maxManifest
	return at, nil
}

// pulled is the wanted layer of an artifact.
type pulled struct {
	data      []byte
	mediaType string
	manifest  string // its digest
}

// pull fetches the only wanted layer of an artifact. Every byte is checked against its digest.
func (f *Fetcher) pull(ctx context.Context, repo *repository, tag string, wanted func(mediaType string) bool) (*pulled, error) {
	at, err := f.open(repo)
	if err != nil {
		return nil, err
	}
	if tag == "" {
		return nil, errors.New("it has no tag")
	}
	desc, body, err := at.Manifests().FetchReference(ctx, tag)
	if err != nil {
		return nil, err
	}
	defer func() { _ = body.Close() }()
	if desc.Size > maxManifest {
		return nil, fmt.Errorf("its manifest is over the limit of %d MiB", maxManifest>>20)
	}
	data, err := content.ReadAll(body, desc)
	if err != nil {
		return nil, fmt.Errorf("reading its manifest: %w", err)
	}
	layer, err := layerOf(data, wanted)
	if err != nil {
		return nil, err
	}
	p := &pulled{mediaType: layer.MediaType, manifest: desc.Digest.String()}
	if p.data = f.cache.blob(layer.Digest.String()); p.data != nil {
		return p, nil
	}
	blob, err := at.Blobs().Fetch(ctx, layer)
	if err != nil {
		return nil, err
	}
	defer func() { _ = blob.Close() }()
	if p.data, err = content.ReadAll(blob, layer); err != nil {
		return nil, fmt.Errorf("reading its layer: %w", err)
	}
	return p, nil
}

// layerOf finds the only wanted layer in a manifest.
func layerOf(manifest []byte, wanted func(mediaType string) bool) (ocispec.Descriptor, error) {
	var m ocispec.Manifest
	if err := json.Unmarshal(manifest, &m); err != nil {
		return ocispec.Descriptor{}, errors.New("its manifest is not JSON")
	}
	if len(m.Layers) > maxLayers {
		return ocispec.Descriptor{}, fmt.Errorf("it has %d layers, more than %d", len(m.Layers), maxLayers)
	}
	var found []ocispec.Descriptor
	for _, l := range m.Layers {
		if wanted(l.MediaType) {
			found = append(found, l)
		}
	}
	if len(found) != 1 {
		return ocispec.Descriptor{}, fmt.Errorf("it must have one layer with a chart or an archive, it has %d", len(found))
	}
	if err := found[0].Digest.Validate(); err != nil {
		return ocispec.Descriptor{}, errors.New("the digest of its layer is not valid")
	}
	if found[0].Size < 0 || found[0].Size > maxArchive {
		return ocispec.Descriptor{}, fmt.Errorf("its layer is over the limit of %d MiB", maxArchive>>20)
	}
	return found[0], nil
}
