package manifest

// Maps returns the objects of a list, without its other elements. A value that is not a list has none.
func Maps(v any) []map[string]any {
	list, _ := v.([]any)
	out := make([]map[string]any, 0, len(list))
	for _, item := range list {
		if m, ok := item.(map[string]any); ok {
			out = append(out, m)
		}
	}
	return out
}

// Strings returns the strings of a list, without its other elements. A value that is not a list has none.
func Strings(v any) []string {
	list, _ := v.([]any)
	var out []string
	for _, item := range list {
		if s, ok := item.(string); ok {
			out = append(out, s)
		}
	}
	return out
}

// Number returns a decoded number without its fraction. It reports whether the value is a number.
func Number(v any) (int64, bool) {
	switch n := v.(type) {
	case int64:
		return n, true
	case float64:
		return int64(n), true
	case int:
		return int64(n), true
	}
	return 0, false
}

// Condition returns the condition of a type in the status of an object, nil if there is none.
func Condition(o Object, kind string) map[string]any {
	for _, c := range Maps(Map(o, "status")["conditions"]) {
		if String(c, "type") == kind {
			return c
		}
	}
	return nil
}
