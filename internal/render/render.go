// Package render has the engines that make Kubernetes objects: of manifests, of a Kustomization, of a Helm chart.
//
// They work in memory and in process: no commands, no network, no files but those they are given. Remote content of a Kustomization is
// fetched by a Remote, or named as missing; plugins and functions are refused, and so is a chart whose dependencies are not in it. Package
// source chooses the engine of a directory and its input.
package render

import (
	"context"
	"errors"
	"slices"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
	"github.com/argosy-cd/argosy/internal/words"
)

// Options say how to render a chart.
type Options struct {
	// URL returns the name of a file in messages; nil uses its path.
	URL func(name string) string
	// Chart is the input of the chart.
	Chart Chart
	// KubeVersion and APIVersions are the capabilities of the cluster for a chart.
	KubeVersion string
	APIVersions []string
	// Lenient accepts what Argo CD accepts: objects without a name, and the last of two equal keys.
	Lenient bool
}

// Plain decodes manifests, in the order of files.
func Plain(ctx context.Context, files []tree.File, lenient bool) ([]manifest.Document, []error, error) {
	decoded, err := decode(ctx, files, "", lenient)
	return decoded.docs, decoded.warnings, err
}

// decoded is the decoded content of files.
type decoded struct {
	docs     []manifest.Document
	warnings []error
}

// decode decodes files, or what is made of them, on all processors because parsing YAML is the slowest part of everything, and keeps
// their order.
func decode(ctx context.Context, files []tree.File, made manifest.Made, lenient bool) (decoded, error) {
	type result struct {
		decoded
		err error
	}
	if err := bound(files, made); err != nil {
		return decoded{}, err
	}
	results := make([]result, len(files))
	errs := []error{flight.Each(ctx, flight.Processors(), len(files), func(ctx context.Context, i int) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		results[i].decoded, results[i].err = decodeOne(files[i], made, lenient)
		return nil
	})}
	var all decoded
	for _, r := range results {
		all.docs, all.warnings = append(all.docs, r.docs...), append(all.warnings, r.warnings...)
		errs = append(errs, r.err)
	}
	if err := errors.Join(errs...); err != nil {
		return decoded{}, err
	}
	return all, nil
}

// bound refuses files that are too large together.
func bound(files []tree.File, made manifest.Made) error {
	values, bytes := 0, 0
	for _, f := range files {
		values += manifest.Nodes(f.Data)
		if bytes += len(f.Data); values > MaxValues || bytes > MaxBytes {
			at := manifest.Position{File: f.Name, Made: made}
			return at.Errorf("all manifests together are over the limit of %d values or %d bytes", MaxValues, MaxBytes)
		}
	}
	return nil
}

// decodeOne decodes a file. It recovers panics: it runs in its own goroutine, where callers of decode could not.
func decodeOne(f tree.File, made manifest.Made, lenient bool) (d decoded, err error) {
	at := manifest.Position{File: f.Name, Made: made}
	defer func() {
		if r := recover(); r != nil {
			d, err = decoded{}, at.Errorf("a panic in the decoder: %.200v", r)
		}
	}()
	if lenient {
		d.docs, d.warnings, err = at.Stream(f.Data)
	} else {
		d.docs, err = at.Decode(f.Data)
	}
	if err == nil {
		err = check(d.docs, lenient)
	}
	return d, err
}

// check refuses objects that no API server accepts, because Argo CD's message would not name the file. Argo CD itself accepts any object
// with a kind.
func check(docs []manifest.Document, lenient bool) error {
	var errs []error
	for _, d := range docs {
		for _, field := range []string{"apiVersion", "kind"} {
			if manifest.String(d.Object, field) == "" && (field == "kind" || !lenient) {
				errs = append(errs, d.Errorf("%s must be set, to a string", field))
			}
		}
		if !lenient && manifest.String(d.Object, "metadata", "name") == "" && manifest.String(d.Object, "metadata", "generateName") == "" {
			errs = append(errs, d.Errorf("metadata.name must be set, to a string"))
		}
	}
	return errors.Join(errs...)
}

// oneLine is a library's message, on one line and bounded.
func oneLine(err error) string { return words.Ends(err.Error(), 600) }

// IsKustomization reports whether a file is a Kustomization, by its name.
func IsKustomization(name string) bool {
	return slices.Contains(konfig.RecognizedKustomizationFileNames(), name)
}
