package gitserver

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// Lengths below four are marks and not lines.
const (
	flushPkt = "0000"
	delimPkt = "0001"
)

// maxLine is Git's limit for one line, with its length.
const maxLine = 65520

// line is a line of a request, or a mark.
type line struct {
	text  string
	mark  bool // a flush or a delimiter
	flush bool
}

// readLine reads a line without its newline. The end of the request is io.EOF.
func readLine(r *bufio.Reader) (line, error) {
	var head [4]byte
	if _, err := io.ReadFull(r, head[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("a line without a length")
		}
		return line{}, err
	}
	n, err := strconv.ParseUint(string(head[:]), 16, 16)
	switch {
	case err != nil || n == 3 || n > maxLine:
		return line{}, fmt.Errorf("%q is not the length of a line", head)
	case n < 4:
		return line{mark: true, flush: n == 0}, nil
	}
	data := make([]byte, n-4)
	if _, err := io.ReadFull(r, data); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = errors.New("a line that ends early")
		}
		return line{}, err
	}
	return line{text: strings.TrimSuffix(string(data), "\n")}, nil
}

// writeLine writes a line with its newline.
func writeLine(w io.Writer, format string, args ...any) error {
	text := fmt.Sprintf(format, args...) + "\n"
	_, err := fmt.Fprintf(w, "%04x%s", len(text)+4, text)
	return err
}

// sideband writes data in pieces behind a byte that says that it is data.
type sideband struct {
	w    io.Writer
	most int
}

func (s sideband) Write(b []byte) (int, error) {
	total := len(b)
	for len(b) > 0 {
		n := min(len(b), s.most-5)
		if _, err := fmt.Fprintf(s.w, "%04x\x01", n+5); err != nil {
			return 0, err
		}
		if _, err := s.w.Write(b[:n]); err != nil {
			return 0, err
		}
		b = b[n:]
	}
	return total, nil
}
