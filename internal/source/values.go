package source

import (
	"errors"
	"strconv"
	"strings"
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
func oneLine(err error) error {
	s := strings.Join(strings.Fields(err.Error()), " ")
	if len(s) > 600 {
		s = strings.ToValidUTF8(s[:600], "") + " …"
	}
	return errors.New(s)
}
