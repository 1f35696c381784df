package job

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"math"
	"strconv"
)

// Values travel as a tag and their content. JSON would be smaller to write down here, but slower by far, and would not tell 1 from 1.0.
const (
	tagNil byte = iota
	tagFalse
	tagTrue
	tagInt
	tagFloat
	tagString
	tagList
	tagMap
	tagNumber // a whole number over 64 bits
)

// Limits of a value that is read.
const (
	maxDepth = 1000
	maxNodes = 4_000_000
)

var errValue = errors.New("it is not a value")

// appendValue appends a value of a manifest.
func appendValue(dst []byte, v any) ([]byte, error) {
	switch v := v.(type) {
	case nil:
		return append(dst, tagNil), nil
	case bool:
		if v {
			return append(dst, tagTrue), nil
		}
		return append(dst, tagFalse), nil
	case int64:
		return binary.AppendVarint(append(dst, tagInt), v), nil
	case float64:
		return binary.BigEndian.AppendUint64(append(dst, tagFloat), math.Float64bits(v)), nil
	case string:
		return appendString(append(dst, tagString), v), nil
	case json.Number:
		return appendString(append(dst, tagNumber), string(v)), nil
	case []any:
		dst = binary.AppendUvarint(append(dst, tagList), uint64(len(v)))
		var err error
		for _, e := range v {
			if dst, err = appendValue(dst, e); err != nil {
				return nil, err
			}
		}
		return dst, nil
	case map[string]any:
		dst = binary.AppendUvarint(append(dst, tagMap), uint64(len(v)))
		var err error
		for k, e := range v {
			if dst, err = appendValue(appendString(dst, k), e); err != nil {
				return nil, err
			}
		}
		return dst, nil
	}
	// Something that the encoder of the answer takes, too.
	text, err := json.Marshal(v)
	if err != nil {
		return nil, err
	}
	var plain any
	if err := json.Unmarshal(text, &plain); err != nil {
		return nil, err
	}
	return appendValue(dst, plain)
}

func appendString(dst []byte, s string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(s))), s...)
}

// value reads one value, which must be all there is.
func value(data []byte) (any, error) {
	r := &reader{data: data, nodes: maxNodes}
	v := r.value(0)
	if r.err == nil && len(r.data) > 0 {
		r.err = errValue
	}
	return v, r.err
}

// objects reads a list of objects.
func objects(data []byte) ([]map[string]any, error) {
	v, err := value(data)
	list, ok := v.([]any)
	if err != nil || !ok && v != nil {
		return nil, errValue
	}
	out := make([]map[string]any, len(list))
	for i, e := range list {
		if out[i], ok = e.(map[string]any); !ok {
			return nil, errValue
		}
	}
	return out, nil
}

// encodeObjects writes a list of objects.
func encodeObjects(list []map[string]any) ([]byte, error) {
	all := make([]any, len(list))
	for i, o := range list {
		all[i] = o
	}
	return appendValue(nil, all)
}

type reader struct {
	data  []byte
	nodes int
	err   error
}

func (r *reader) fail() any {
	r.err = errValue
	return nil
}

func (r *reader) value(depth int) any {
	if r.nodes--; r.err != nil || len(r.data) == 0 || depth > maxDepth || r.nodes < 0 {
		return r.fail()
	}
	tag := r.data[0]
	r.data = r.data[1:]
	switch tag {
	case tagNil:
		return nil
	case tagFalse:
		return false
	case tagTrue:
		return true
	case tagInt:
		n, size := binary.Varint(r.data)
		if size <= 0 {
			return r.fail()
		}
		r.data = r.data[size:]
		return n
	case tagFloat:
		if len(r.data) < 8 {
			return r.fail()
		}
		bits := binary.BigEndian.Uint64(r.data)
		r.data = r.data[8:]
		return math.Float64frombits(bits)
	case tagString:
		return r.text()
	case tagNumber:
		if n := json.Number(r.text()); isNumber(string(n)) {
			return n
		}
		return r.fail()
	case tagList:
		list := make([]any, 0, r.length(1))
		for range cap(list) {
			if list = append(list, r.value(depth+1)); r.err != nil {
				return nil
			}
		}
		return list
	case tagMap:
		n := r.length(2)
		m := make(map[string]any, n)
		for range n {
			key := r.text()
			if m[key] = r.value(depth + 1); r.err != nil {
				return nil
			}
		}
		if len(m) != n {
			return r.fail() // a key twice
		}
		return m
	}
	return r.fail()
}

// isNumber reports whether a text is a whole number.
func isNumber(text string) bool {
	if len(text) > 1 && text[0] == '-' {
		text = text[1:]
	}
	for _, c := range text {
		if c < '0' || c > '9' {
			return false
		}
	}
	_, err := strconv.ParseFloat(text, 64)
	return err == nil
}

// length reads the length of something whose elements have so many bytes at least: no more is made room for than can be there.
func (r *reader) length(least int) int {
	n, size := binary.Uvarint(r.data)
	if size <= 0 || n > uint64((len(r.data)-size)/least) {
		r.err = errValue
		return 0
	}
	r.data = r.data[size:]
	return int(n)
}

func (r *reader) text() string {
	n := r.length(1)
	if r.err != nil || n > len(r.data) {
		r.err = errValue
		return ""
	}
	s := string(r.data[:n])
	r.data = r.data[n:]
	return s
}
