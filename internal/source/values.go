package source

import (
	"errors"
	"strconv"

	"github.com/argosy-cd/argosy/internal/words"
)

// count reads a number, or a text with one.
func count(v any) (int64, bool) {
	switch v := v.(type) {
	case int64:
		return v, true
	case float64:
		return int64(v), true
	case string:
		n, err := strconv.ParseInt(v, 10, 64)
		return n, err == nil
	}
	return 0, false
}

// oneLine is an error of a library on one line, bounded.
func oneLine(err error) error { return errors.New(words.OneLine(err.Error(), 600)) }
