package workspace

import (
	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/input"
)

// Clusters reads a file with the clusters that Argo CD knows.
func Clusters(file string) ([]generator.Cluster, error) {
	data, err := input.File(file)
	if err != nil {
		return nil, err
	}
	return generator.ParseClusters(file, data)
}
