package appset

import (
	"fmt"
)

// Limits of what sets become. Packages template and generator have their own.
const (
	// maxApplication bounds one Application as YAML. No API server takes an object of more than 3 MiB.
	maxApplication = 3 << 20
	// maxAnswer bounds all Applications of one run. Argo CD takes 100 MB from a plugin.
	maxAnswer = 100 << 20
	// maxErrors bounds the errors about one set: the same mistake can be in each of its Applications.
	maxErrors = 100
	// fewNames bounds the parameters that an error names.
	fewNames = 8
	// maxNames bounds the Applications that a warning names.
	maxNames = 20
	// maxPairs bounds the work of comparing each element of a list with each of another.
	maxPairs = 10_000_000
)

// tooMany refuses lists of n and m elements that are compared with each other.
func tooMany(path string, n, m int) error {
	if n > 0 && m > maxPairs/n {
		return fmt.Errorf("%s: cannot merge lists of %d and %d elements: too many comparisons", path, n, m)
	}
	return nil
}
