// Package render makes Kubernetes objects of a directory: of plain manifests, of a Kustomization, or of a Helm chart.
//
// It works in memory and in process: no commands, no network, no files but those it is given. A Kustomization that refers
// to something remote, to a plugin or to a chart is refused; so is a chart whose dependencies are not in it. The answer
// is all or nothing, and each object is complete enough for an API server: apiVersion, kind and a name.
package render

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"

	"sigs.k8s.io/kustomize/api/konfig"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/tree"
)

// Kinds of directories.
const (
	Manifests = "manifests"
	Kustomize = "kustomize"
	Helm      = "helm"
)

// Options say how to render a directory. The zero Options are for plain manifests and Kustomizations.
type Options struct {
	Type string // one of the kinds; "" is by content
	// Dir is the directory of a Kustomization that may refer to others beside it; "" is the root.
	Dir string
	// URL returns what a file is called in messages; nil is its name.
	URL func(name string) string
	// LocalCharts renders helmCharts of Kustomizations whose charts are among the files, as --enable-helm does.
	LocalCharts bool
	// Chart is used for charts only.
	Chart Chart
	// KubeVersion and APIVersions are what a chart is told about the cluster.
	KubeVersion string
	APIVersions []string
}

// Detect returns the kind of a directory by the files at its root.
func Detect(names []string) string {
	switch {
	case slices.Contains(names, "Chart.yaml"):
		return Helm
	case slices.ContainsFunc(names, isKustomization):
		return Kustomize
	default:
		return Manifests
	}
}

// Directory renders a directory.
func Directory(files []tree.File, o Options) ([]manifest.Document, error) {
	if o.URL == nil {
		o.URL = func(name string) string { return name }
	}
	if o.Type == "" {
		o.Type = Detect(tree.Names(files))
	}
	switch o.Type {
	case Helm:
		return chart(files, o)
	case Kustomize:
		return kustomization(files, o)
	default:
		return plain(files, o)
	}
}

// Unrelated reports whether a YAML file of a directory is nothing that Argo CD deploys, such as values, and is passed over by it: there is no
// object in it, and it does not look as if there was to be one.
func Unrelated(f tree.File) bool {
	if strings.HasSuffix(strings.ToLower(f.Name), ".json") {
		return false
	}
	looks := true
	for _, word := range []string{"apiVersion:", "kind:", "metadata:"} {
		looks = looks && bytes.Contains(f.Data, []byte(word))
	}
	if looks {
		return false
	}
	// Also JSON in a file of that name.
	docs, _ := manifest.Decode(f.Name, f.Data)
	return !slices.ContainsFunc(docs, func(d manifest.Document) bool {
		return manifest.String(d.Object, "apiVersion") != "" && manifest.String(d.Object, "kind") != ""
	})
}

// plain decodes all manifests, in the order of names.
func plain(files []tree.File, o Options) ([]manifest.Document, error) {
	var manifests []tree.File
	for _, f := range files {
		if tree.IsManifest(f.Name) {
			manifests = append(manifests, tree.File{Name: o.URL(f.Name), Data: f.Data})
		}
	}
	return decode(manifests)
}

// decode decodes files, on all processors because parsing YAML is the slowest part of everything, and keeps their order.
func decode(files []tree.File) ([]manifest.Document, error) {
	type result struct {
		docs []manifest.Document
		err  error
	}
	results := make([]result, len(files))
	next := make(chan int, len(files))
	for i := range files {
		next <- i
	}
	close(next)
	var wg sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), len(files)) {
		wg.Go(func() {
			for i := range next {
				docs, err := manifest.Decode(files[i].Name, files[i].Data)
				if err == nil {
					err = check(docs)
				}
				results[i] = result{docs, err}
			}
		})
	}
	wg.Wait()
	var docs []manifest.Document
	var errs []error
	for _, r := range results {
		docs = append(docs, r.docs...)
		errs = append(errs, r.err)
	}
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return docs, nil
}

// check refuses objects that no API server takes, because Argo CD's message would not name the file.
func check(docs []manifest.Document) error {
	var errs []error
	for _, d := range docs {
		for _, field := range []string{"apiVersion", "kind"} {
			if manifest.String(d.Object, field) == "" {
				errs = append(errs, fmt.Errorf("%s: %s must be set, to a string", d.Document(), field))
			}
		}
		if manifest.String(d.Object, "metadata", "name") == "" && manifest.String(d.Object, "metadata", "generateName") == "" {
			errs = append(errs, fmt.Errorf("%s: metadata.name must be set, to a string", d.Document()))
		}
	}
	return errors.Join(errs...)
}

// invalid returns the names of files that cannot be in a directory, as keys of a bucket can.
func invalid(files []tree.File, o Options) error {
	var errs []error
	for _, f := range files {
		if !tree.Safe(f.Name) {
			errs = append(errs, fmt.Errorf("%s: this key is not the name of a file, which type %s needs", o.URL(f.Name), o.Type))
		}
	}
	return errors.Join(errs...)
}

// oneLine is what a library has to say, on one line and bounded. The cause is at the end of it.
func oneLine(err error) string {
	s := strings.Join(strings.Fields(err.Error()), " ")
	if len(s) > 600 {
		s = strings.ToValidUTF8(s[:200], "") + " … " + strings.ToValidUTF8(s[len(s)-400:], "")
	}
	return s
}

func isKustomization(name string) bool {
	return slices.Contains(konfig.RecognizedKustomizationFileNames(), name)
}
