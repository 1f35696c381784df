package worker

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"testing"
	"unicode"

	"github.com/argosy-cd/argosy/internal/flight"
	"github.com/argosy-cd/argosy/internal/problem"
)

// frame is a frame as bytes.
func frame(t testing.TB, kind byte, name string, m Message) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := writeFrame(bufio.NewWriter(&b), kind, name, m); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// FuzzParse: what is understood of a frame is all of it, and written again it is the same.
func FuzzParse(f *testing.F) {
	for _, m := range []Message{{}, {Head: []byte("{}"), Blobs: [][]byte{nil, []byte("x")}}} {
		f.Add(frame(f, frameResult, "name", m)[5:])
	}
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x00\x00\xff\xff\xff\xff"))
	f.Fuzz(func(t *testing.T, data []byte) {
		name, m, err := parseBody(data)
		if err != nil {
			return
		}
		if again := frame(t, frameResult, name, m)[5:]; !bytes.Equal(again, data) {
			t.Errorf("%q is read, and %q is written", data, again)
		}
	})
}

// FuzzTalk: a host that hears anything from a worker answers each question once, believes no text, and returns the answer or an error.
func FuzzTalk(f *testing.F) {
	ask, doing := frame(f, frameAsk, "thing", Message{Head: []byte("1"), Blobs: [][]byte{[]byte("x")}}),
		frame(f, frameDoing, "a\x1b[2Jb", Message{})
	for _, end := range []string{
		`{}`, `{"tired": true}`, `{"problems": [{"text": "wrapped: no", "asks": [1, 2, -1]}, {"text": "x"}]}`,
		`{"panic": "at once", "stack": "x"}`, `{"problems":[` + strings.Repeat("{},", 1000) + "{}]}", "", "rubbish",
	} {
		result := frame(f, frameResult, end, Message{Head: []byte("2"), Blobs: [][]byte{[]byte("y")}})
		f.Add(slices.Concat(ask, doing, ask, result), true)
		f.Add(slices.Concat(ask, result, ask), false)
	}
	f.Add([]byte{frameResult, 0x80, 0, 0, 0}, true)
	f.Add(frame(f, frameAnswer, "", Message{}), true)
	f.Add(frame(f, frameHello, "", Message{}), true)
	f.Fuzz(func(t *testing.T, data []byte, refuse bool) {
		in := bytes.NewReader(data)
		var heard, said bytes.Buffer
		var doing []string
		asks := 0
		talk := &talk{
			pool: &Pool{cfg: Config{Memory: 1 << 30}, large: newBudget(1 << 20), decoded: newBudget(1 << 20)}, ctx: context.Background(),
			clock:   newClock(0, nil),
			process: &process{in: bufio.NewReaderSize(in, 16), out: bufio.NewWriter(&said)},
			job: Job{Kind: "job", Cost: anySize, sent: &sent{}, Doing: func(what string) {
				doing = append(doing, what)
			}, Answer: func(_ context.Context, q Question, m Message) (Message, error) {
				asks++
				heard.Write(frame(t, frameAsk, string(q), m))
				if refuse {
					return Message{}, errWanted
				}
				return m, nil
			}},
		}
		status, m, err := talk.run()
		if errors.As(err, new(*ownError)) {
			t.Error(err)
		}
		for _, text := range doing {
			if len(text) > maxDoing || strings.ContainsFunc(text, unicode.IsControl) {
				t.Errorf("%q is shown", text)
			}
		}
		// Of the frames that were read, questions and the answer are what they were written as.
		frames := asks + len(doing)
		if err == nil {
			frames++
			heard.Write(frame(t, frameResult, status, m))
		}
		if want := framesOf(data, frames, frameAsk, frameResult); !bytes.Equal(want, heard.Bytes()) {
			t.Errorf("%q was sent, and %q was heard", want, heard.Bytes())
		}
		// The job, and an answer for each question.
		if n := countFrames(t, said.Bytes(), frameAnswer); n != asks {
			t.Errorf("%d questions and %d answers", asks, n)
		}
		if err != nil {
			return
		}
		failure, err := parseFailure(status)
		if err != nil {
			return
		}
		err = failure.decode(talk.problems)
		if (err == nil) != (failure.Panic == "" && len(failure.Problems) == 0) {
			t.Errorf("%q becomes %v", status, err)
		}
		// An error of the host comes back only if the host has said it.
		if errors.Is(err, errWanted) && (!refuse || asks == 0) {
			t.Errorf("%q becomes an error that nobody had", status)
		}
	})
}

// framesOf returns those of the first n frames that are of some kinds.
func framesOf(data []byte, n int, kinds ...byte) []byte {
	var out []byte
	for r := bytes.NewReader(data); n > 0; n-- {
		at := len(data) - r.Len()
		kind, size, err := readHead(bufio.NewReaderSize(io.LimitReader(r, 5), 16))
		if err != nil || size > r.Len() {
			return append(out, "an incomplete frame"...)
		}
		_, _ = r.Seek(int64(size), io.SeekCurrent)
		if slices.Contains(kinds, kind) {
			out = append(out, data[at:len(data)-r.Len()]...)
		}
	}
	return out
}

func countFrames(t *testing.T, data []byte, want byte) int {
	n := 0
	for r := bufio.NewReader(bytes.NewReader(data)); ; {
		kind, size, err := readHead(r)
		if err != nil {
			return n
		}
		if _, _, err := readBody(r, size); err != nil {
			t.Errorf("%q is not a frame", data)
			return n
		}
		if kind == want {
			n++
		}
	}
}

// FuzzFailure: an error on its way keeps its problems, within limits, and never becomes none.
func FuzzFailure(f *testing.F) {
	f.Add("one", "two", 1, true)
	f.Add("", "", 0, false)
	f.Add("\xff\x00\n", strings.Repeat("x", maxFailedText+1), 2000, true)
	f.Add(strings.Repeat("\x00", maxFailedText), "", 100, false)
	f.Fuzz(func(t *testing.T, first, second string, repeat int, asked bool) {
		list := []error{errors.New(first)}
		if asked {
			list = append(list, fmt.Errorf("%s: %w", second, &askError{text: second, id: 1}))
		} else {
			list = append(list, errors.New(second))
		}
		for range min(max(repeat, 0), 2*maxFailedProblems) {
			list = append(list, errors.New(first))
		}
		for _, err := range []error{errors.Join(list...), &flight.PanicError{Value: first, Stack: []byte(second)}, list[0]} {
			sent := encodeFailure(err)
			status, jsonErr := json.Marshal(sent)
			got, parseErr := parseFailure(string(status))
			if err := errors.Join(jsonErr, parseErr); err != nil {
				t.Fatalf("%d bytes of an error are refused: %v", len(status), err)
			}
			back := got.decode([]error{errWanted})
			if back == nil {
				t.Fatalf("%q becomes nothing", status)
			}
			if _, isPanic := errors.AsType[*flight.PanicError](err); isPanic != errors.As(back, new(*flight.PanicError)) {
				t.Errorf("a panic is %v", back)
			}
			n := len(problem.All(back))
			if want := problem.All(err); n > maxFailedProblems || n > len(want) {
				t.Errorf("%d problems become %d", len(want), n)
			}
			if want := asked && n > 1; errors.Is(back, errWanted) != want {
				t.Errorf("the host's error is back: %t, want %t, in %d problems", !want, want, n)
			}
		}
	})
}

// FuzzServe: a worker that reads anything says hello, answers each job once, and sends nothing else but questions.
func FuzzServe(f *testing.F) {
	m := Message{Head: []byte(`{"a":1}`), Blobs: [][]byte{[]byte("x"), nil}}
	f.Add(slices.Concat(frame(f, frameJob, "echo", m), frame(f, frameJob, "ask", m), frame(f, frameAnswer, "", m),
		frame(f, frameJob, "nothing", m)))
	f.Add(slices.Concat(frame(f, frameJob, "ask", m), frame(f, frameAnswer, `{"problems":[{"text":"no"}]}`, m),
		frame(f, frameJob, "panic", m), frame(f, frameJob, "fail", m)))
	f.Add(slices.Concat(frame(f, frameJob, "ask", m), frame(f, frameAnswer, "rubbish", m), frame(f, frameJob, "echo", m)))
	f.Add(slices.Concat(frame(f, frameJob, "ask", m), frame(f, frameJob, "echo", m)))
	f.Fuzz(func(t *testing.T, data []byte) {
		all, echoes := handlers(), []byte(nil)
		echo := all["echo"]
		all = map[Kind]Handler{
			"ask": all["ask"], "panic": all["panic"], "fail": all["fail"],
			"echo": func(h *Host, m Message) (Message, error) {
				echoes = append(echoes, frame(t, frameResult, "{}", m)...)
				return echo(h, m)
			},
		}
		jobs := 0
		for name, handler := range all {
			all[name] = func(h *Host, m Message) (Message, error) {
				jobs++
				return handler(h, m)
			}
		}
		var out bytes.Buffer
		_ = Serve(bytes.NewReader(data), &out, "hello", all, func() bool { return false })
		results := 0
		for r, first := bufio.NewReader(&out), true; ; first = false {
			kind, size, headErr := readHead(r)
			if headErr != nil {
				break
			}
			name, m, bodyErr := readBody(r, size)
			if bodyErr != nil || first != (kind == frameHello) || size > frameLimit(kind) {
				t.Fatalf("%q is sent", frame(t, kind, name, m))
			}
			if kind != frameResult {
				continue
			}
			results++
			if failure, err := parseFailure(name); err != nil {
				t.Errorf("%q: %v", name, err)
			} else if text := frame(t, kind, name, m); failure.decode(nil) == nil && bytes.HasPrefix(echoes, text) {
				echoes = echoes[len(text):]
			}
		}
		if len(echoes) > 0 {
			t.Errorf("%q was not answered", echoes)
		}
		// One that is in the middle when its host is lost does not answer; one of an unknown kind is answered, too.
		if results < jobs-1 {
			t.Errorf("%d jobs and %d answers", jobs, results)
		}
	})
}
