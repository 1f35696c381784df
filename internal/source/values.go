package source

import (
	"errors"
	"strconv"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/words"
)

// count reads a number, or a text with one.
func count(v any) (int64, bool) {
	if text, ok := v.(string); ok {
		n, err := strconv.ParseInt(text, 10, 64)
		return n, err == nil
	}
	return manifest.Number(v)
}

// oneLine is an error of a library on one line, bounded.
func oneLine(err error) error { return errors.New(words.OneLine(err.Error(), 600)) }
