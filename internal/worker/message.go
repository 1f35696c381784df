package worker

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
)

// Message is a message between a process and its worker: a small head, and opaque bytes.
type Message struct {
	// Head is JSON.
	Head  json.RawMessage
	Blobs [][]byte
}

// NewMessage returns a message with a head and blobs.
func NewMessage(head any, blobs ...[]byte) (Message, error) {
	data, err := json.Marshal(head)
	return Message{data, blobs}, err
}

// DecodeList reads a JSON list that has at most so many elements. Further ones are an error, and nothing is allocated for them.
func DecodeList[T any](data []byte, most int) ([]T, error) {
	d := json.NewDecoder(bytes.NewReader(data))
	switch first, err := d.Token(); {
	case err != nil:
		return nil, err
	case first == nil:
		return nil, nil // null
	case first != json.Delim('['):
		return nil, errors.New("it is not a list")
	}
	var out []T
	for d.More() {
		var v T
		if len(out) == most {
			return nil, fmt.Errorf("there are more than %d elements", most)
		}
		if err := d.Decode(&v); err != nil {
			return nil, err
		}
		out = append(out, v)
	}
	_, err := d.Token()
	return out, err
}

// Decode reads the head.
func (m Message) Decode(head any) error { return json.Unmarshal(m.Head, head) }

// Kinds of frames. A frame is its kind, the length of its content in four bytes, and the content.
const (
	frameHello  = 'H' // of a worker that is ready
	frameJob    = 'J'
	frameAsk    = 'Q' // of a worker in the middle of a job
	frameLarge  = 'L' // the same, for jobs whose worker may send much
	frameAnswer = 'A'
	frameDoing  = 'P' // of a worker: its next step
	frameResult = 'R' // of a worker: the end of a job
)

// Limits of messages of a worker.
const (
	maxHello  = 4 << 10
	maxDoing  = 256
	maxAsk    = 64 << 10
	maxKind   = 64 // of a Question
	maxResult = 128 << 20
	// MaxSmall bounds the bytes of a message that does not wait for memory. Each worker may have sent one of them.
	MaxSmall = 4 << 20
	// maxStatus bounds the bytes of an error.
	maxStatus = 2 << 20
	// maxSent bounds a message to a worker.
	maxSent = 512 << 20
	// maxBlobs bounds the blobs of one message.
	maxBlobs = 1 << 20
)

// frameLimit is the size limit of a worker's frames of a kind; 0 refuses them.
func frameLimit(kind byte) int {
	switch kind {
	case frameHello:
		return maxHello
	case frameDoing:
		return maxDoing
	case frameAsk:
		return maxAsk
	case frameLarge:
		return MaxSmall
	case frameResult:
		return maxResult
	}
	return 0
}

// errProtocol says that a worker violated the protocol.
var errProtocol = errors.New("the worker violated the protocol")

// frameSize is the length of a frame's content.
func frameSize(name string, m Message) int {
	size := 4 + len(name) + 4 + len(m.Head) + 4
	for _, b := range m.Blobs {
		size += 4 + len(b)
	}
	return size
}

// checkSize refuses a message that the other side would not take.
func checkSize(what, name string, m Message, limit int) error {
	if size := frameSize(name, m); size > limit || len(m.Blobs) > maxBlobs {
		return fmt.Errorf("%s has %s in %d parts, and a worker's limit is %s", what, bytesOf(size), len(m.Blobs), bytesOf(limit))
	}
	return nil
}

// bytesOf is a number of bytes for people.
func bytesOf(n int) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// writeFrame writes a frame: a name, such as that of a job, and a message.
func writeFrame(w *bufio.Writer, kind byte, name string, m Message) error {
	size := frameSize(name, m)
	head := binary.BigEndian.AppendUint32([]byte{kind}, uint32(size))
	head = append(binary.BigEndian.AppendUint32(head, uint32(len(name))), name...)
	head = binary.BigEndian.AppendUint32(head, uint32(len(m.Head)))
	if _, err := w.Write(head); err != nil {
		return err
	}
	if _, err := w.Write(m.Head); err != nil {
		return err
	}
	if _, err := w.Write(binary.BigEndian.AppendUint32(nil, uint32(len(m.Blobs)))); err != nil {
		return err
	}
	for _, b := range m.Blobs {
		if _, err := w.Write(binary.BigEndian.AppendUint32(nil, uint32(len(b)))); err != nil {
			return err
		}
		if _, err := w.Write(b); err != nil {
			return err
		}
	}
	return w.Flush()
}

// readHead reads the kind and the length of a frame.
func readHead(r *bufio.Reader) (kind byte, size int, err error) {
	var head [5]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		return 0, 0, err
	}
	return head[0], int(binary.BigEndian.Uint32(head[1:])), nil
}

// readBody reads the content of a frame. A name that is too long is seen before there is memory for the frame.
func readBody(r *bufio.Reader, size int) (name string, m Message, err error) {
	if start, err := r.Peek(min(size, 4)); err == nil && len(start) == 4 && binary.BigEndian.Uint32(start) > maxStatus {
		return "", Message{}, errProtocol
	}
	data := make([]byte, size)
	if _, err := io.ReadFull(r, data); err != nil {
		return "", Message{}, err
	}
	return parseBody(data)
}

// parseBody takes the content of a frame apart, without a copy.
func parseBody(data []byte) (name string, m Message, err error) {
	next := func() []byte {
		if err != nil || len(data) < 4 {
			err = errProtocol
			return nil
		}
		n := int(binary.BigEndian.Uint32(data))
		if data = data[4:]; n > len(data) {
			err = errProtocol
			return nil
		}
		part := data[:n:n]
		data = data[n:]
		return part
	}
	title := next()
	m.Head = next()
	if err != nil || len(data) < 4 || len(title) > maxStatus {
		return "", Message{}, errProtocol
	}
	n := int(binary.BigEndian.Uint32(data))
	if data = data[4:]; n > len(data)/4 || n > maxBlobs {
		return "", Message{}, errProtocol
	}
	m.Blobs = make([][]byte, n)
	for i := range m.Blobs {
		m.Blobs[i] = next()
	}
	if err != nil || len(data) > 0 {
		return "", Message{}, errProtocol
	}
	return string(title), m, nil
}
