package job

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
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
	// maxMemory bounds the bytes that it takes in memory.
	maxMemory = 512 << 20
	// mostTimes is the largest ratio of a value's bytes in memory to its sent bytes: that of a map with an empty key.
	mostTimes = 100
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

// value reads one value, which memory has accepted: there are no checks but for keys that are there twice.
func value(data []byte) (any, error) {
	r := &reader{data: data, keys: new(lately), texts: new(lately)}
	v := r.value()
	return v, r.err
}

// objects reads a list of objects, which memory has accepted.
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
	data, err := appendValue(nil, all)
	if err != nil || len(data) < maxMemory/mostTimes {
		return data, err
	}
	if _, err := memory(data); err != nil {
		return nil, fmt.Errorf("%d objects are too large, or nested too deep, to be sent: the limits are %d MiB in memory and %d levels",
			len(list), maxMemory>>20, maxDepth)
	}
	return data, nil
}

// memory checks the encoding of one value, without anything behind it, and returns the bytes of the decoded value. It allocates none of
// them.
func memory(data []byte) (int64, error) {
	r := &reader{data: data}
	size := r.skip(0)
	if r.err == nil && (len(r.data) > 0 || size > maxMemory) {
		r.err = errValue
	}
	return size, r.err
}

type reader struct {
	data        []byte
	err         error
	keys, texts *lately
}

// lately has short texts that were read lately: Applications of one set are much the same.
type lately [256]any

// text returns a text, and the same one if it was read lately.
func (l *lately) text(data []byte) any {
	n := len(data)
	if n == 0 || n > 64 {
		return string(data)
	}
	at := &l[byte(n)*7^data[0]*31^data[n/2]*17^data[n-1]]
	if s, ok := (*at).(string); !ok || s != string(data) {
		*at = string(data)
	}
	return *at
}

func (r *reader) fail() int64 {
	r.err = errValue
	return 0
}

// skip checks the next value, and returns the bytes that it takes in memory, as Go's maps and slices are.
func (r *reader) skip(depth int) (size int64) {
	if len(r.data) == 0 || depth > maxDepth {
		return r.fail()
	}
	tag := r.data[0]
	r.data = r.data[1:]
	switch tag {
	case tagNil, tagFalse, tagTrue:
		return 0
	case tagInt:
		_, n := binary.Varint(r.data)
		if n <= 0 {
			return r.fail()
		}
		r.data = r.data[n:]
		return 8
	case tagFloat:
		if len(r.data) < 8 {
			return r.fail()
		}
		r.data = r.data[8:]
		return 8
	case tagString:
		return 32 + int64(len(r.bytes()))
	case tagNumber:
		text := r.bytes()
		if !isNumber(string(text)) {
			return r.fail()
		}
		return 32 + int64(len(text))
	case tagList:
		n := r.length(1)
		size = 24 + 16*int64(n)
		for range n {
			if size += r.skip(depth + 1); r.err != nil {
				return 0
			}
		}
		return size
	case tagMap:
		n := r.length(2)
		if size = 48; n > 0 {
			size += 72 * max(4, int64(n))
		}
		for range n {
			size += 16 + int64(len(r.bytes()))
			if r.err == nil {
				size += r.skip(depth + 1)
			}
			if r.err != nil {
				return 0
			}
		}
		return size
	}
	return r.fail()
}

// value reads the next value, which was checked.
func (r *reader) value() any {
	tag := r.data[0]
	r.data = r.data[1:]
	switch tag {
	case tagFalse:
		return false
	case tagTrue:
		return true
	case tagInt:
		n, size := binary.Varint(r.data)
		r.data = r.data[size:]
		return n
	case tagFloat:
		bits := binary.BigEndian.Uint64(r.data)
		r.data = r.data[8:]
		return math.Float64frombits(bits)
	case tagString:
		return r.texts.text(r.bytes())
	case tagNumber:
		return json.Number(r.bytes())
	case tagList:
		list := make([]any, r.length(1))
		for i := range list {
			list[i] = r.value()
		}
		return list
	case tagMap:
		n := r.length(2)
		m := make(map[string]any, n)
		for range n {
			key, _ := r.keys.text(r.bytes()).(string)
			m[key] = r.value()
		}
		if len(m) != n {
			r.err = errValue // a key twice
		}
		return m
	}
	return nil
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

// length reads a length. It refuses a length whose elements, of at least so many bytes, exceed the rest of the data.
func (r *reader) length(least int) int {
	if len(r.data) > 0 && r.data[0] < 0x80 && int(r.data[0]) <= (len(r.data)-1)/least { // almost always
		n := int(r.data[0])
		r.data = r.data[1:]
		return n
	}
	n, size := binary.Uvarint(r.data)
	if size <= 0 || n > uint64((len(r.data)-size)/least) {
		r.err = errValue
		return 0
	}
	r.data = r.data[size:]
	return int(n)
}

// bytes reads a text.
func (r *reader) bytes() []byte {
	n := r.length(1)
	text := r.data[:n]
	r.data = r.data[n:]
	return text
}
