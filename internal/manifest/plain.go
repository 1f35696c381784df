package manifest

import "unicode/utf8"

// maxPlain is the largest size that Plain converts. It is far below all limits of a decoded value.
const maxPlain = 1 << 20

// Plain converts a decoded YAML value in place to the value that JSON decodes to: integers become int64. It reports false if JSON might
// give another value or refuse it: for numbers with a fraction, times, texts that are no UTF-8, and large values. The value may then be
// partly converted.
func Plain(v any) (any, bool) {
	left := maxPlain
	return plainValue(v, 0, &left)
}

func plainValue(v any, depth int, left *int) (any, bool) {
	*left -= 2*depth + 4
	if *left < 0 || depth >= maxDepth {
		return nil, false
	}
	switch t := v.(type) {
	case nil, bool, int64:
		return v, true
	case int:
		return int64(t), true
	case string:
		*left -= len(t)
		return v, *left >= 0 && utf8.ValidString(t)
	case []any:
		for i, e := range t {
			e, ok := plainValue(e, depth+1, left)
			if !ok {
				return nil, false
			}
			t[i] = e
		}
		return v, t != nil
	case map[string]any:
		for k, e := range t {
			*left -= len(k)
			changed, ok := plainValue(e, depth+1, left)
			if !ok || !utf8.ValidString(k) {
				return nil, false
			}
			if _, small := e.(int); small {
				t[k] = changed
			}
		}
		return v, t != nil
	}
	return nil, false
}
