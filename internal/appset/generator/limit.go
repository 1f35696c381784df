package generator

import (
	"crypto/sha256"
	"fmt"
)

// Limits of what generators give.
const (
	// DefaultMaxSets is the default of Config.MaxSets.
	DefaultMaxSets = 50_000
	// maxParameters bounds the parameters of all sets of one entry of spec.generators. A matrix has those of both sides in each of its
	// sets.
	maxParameters = 4_000_000
	// maxPatterns bounds the patterns of a Git generator, because each directory is held against each of them.
	maxPatterns = 1_000
	// maxFile bounds a file that a Git generator reads parameters from.
	maxFile = 8 << 20
	// maxErrors bounds the sets of one generator that have errors: the same mistake can be in all of them.
	maxErrors = 100
	// maxFlat bounds the names of the parameters that a nested value becomes: each has the names of all that is around it.
	maxFlat = 32 << 20
)

// keep counts the parameters of one more set, and what was printed for it.
func (r *run) keep(path string, parameters int) error {
	if r.parameters += parameters; r.parameters > maxParameters {
		return fmt.Errorf("%s: all parameter sets together have more than %d parameters", path, maxParameters)
	}
	return r.ctx.Err()
}

// short returns a text, or a digest of one that is long.
func short(text []byte) string {
	if len(text) <= 256 {
		return string(text)
	}
	return fmt.Sprintf("%.100s… (%x)", text, sha256.Sum256(text))
}
