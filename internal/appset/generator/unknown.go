package generator

import (
	"context"
	"errors"

	"github.com/argosy-cd/argosy/internal/problem"
)

// Unknown is the error of a generator that is valid, but depends on facts that are not available here. The set has Applications in
// Argo CD; which ones is not known. Callers find it with errors.As.
type Unknown struct { //nolint:errname // it is a third answer beside sets and errors, and callers branch on it as generator.Unknown
	Reason string
}

func (u Unknown) Error() string { return u.Reason }

// OnlyUnknown reports whether err has problems and all of them are Unknown. A set that is also wrong is an error, not unknown.
func OnlyUnknown(err error) bool {
	problems := problem.All(err)
	for _, e := range problems {
		if !errors.As(e, new(Unknown)) {
			return false
		}
	}
	return len(problems) > 0
}

// ErrClustersUnknown is the error of UnknownClusters. It is an Unknown.
var ErrClustersUnknown error = Unknown{"the clusters of Argo CD are not known; list them with --clusters"}

// UnknownClusters is for callers that have no list of clusters. Every clusters generator is Unknown with it, also one that selects all
// clusters: it would give the local cluster, and unknown others.
type UnknownClusters struct{}

// Clusters implements Clusters.
func (UnknownClusters) Clusters(context.Context) ([]Cluster, error) { return nil, ErrClustersUnknown }
