package gitserver

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/words"
)

// request has the commits that a client wants and has.
type request struct {
	wants   []Hash
	haves   []Hash
	shallow []Hash
	depth   int
	done    bool
	band    int  // bytes a packet of the side band may have; 0 is no side band
	multi   bool // the client understands several acknowledgments (versions 0 and 1)
}

func (q *request) add(list *[]Hash, text string) error {
	h, ok := ParseHash(text)
	if !ok {
		return refuse("%q is not the name of an object", bound(text))
	}
	if len(q.wants)+len(q.haves)+len(q.shallow) >= maxHashes {
		return refuse("more than %d objects are named", maxHashes)
	}
	*list = append(*list, h)
	return nil
}

func bound(s string) string { return words.Shorten(s, 60) }

// argument reads a line that all versions have. It reports false for others.
func (q *request) argument(text string) (bool, error) {
	word, rest, _ := strings.Cut(text, " ")
	switch word {
	case "want":
		if h, ok := ParseHash(rest); ok && slices.Contains(q.wants, h) {
			return true, nil
		}
		if len(q.wants) >= maxWants {
			return true, refuse("more than %d objects are wanted", maxWants)
		}
		return true, q.add(&q.wants, rest)
	case "have":
		return true, q.add(&q.haves, rest)
	case "shallow":
		return true, q.add(&q.shallow, rest)
	case "done":
		q.done = true
	case "deepen":
		n, err := strconv.Atoi(rest)
		if err != nil || n < 1 {
			return true, refuse("deepen must be a number, it is %q", bound(rest))
		}
		q.depth = n
	case "deepen-since", "deepen-not", "deepen-relative":
		return true, refuse("%s is not supported; use --depth", word)
	default:
		return false, nil
	}
	return true, nil
}

// answer is the answer to a client.
type answer struct {
	objects   []Object
	common    []Hash // commits of the client that we have, too
	shallow   []Hash // commits whose parents are not sent
	unshallow []Hash
}

// prepare selects the commits to send: the history of the wanted commits, to the wanted depth, without commits that the client has.
// Histories are short, so a shallow client gets all of it again.
func prepare(ctx context.Context, repository Repository, q *request) (*answer, error) {
	a := &answer{}
	slices.SortFunc(q.haves, compareHashes)
	sent, cut := map[Hash]bool{}, map[Hash]bool{}
	for _, want := range q.wants {
		history, ok, err := repository.History(ctx, want)
		if err != nil {
			return nil, err
		}
		if !ok {
			return nil, refuse("upload-pack: not our ref %s", want)
		}
		for i, commit := range history.Commits {
			h := commit.Hash()
			if _, has := slices.BinarySearchFunc(q.haves, h, compareHashes); has {
				a.common = append(a.common, h)
				if q.depth == 0 && len(q.shallow) == 0 {
					break // and with it all before it
				}
			}
			if err := a.add(sent, commit, history, i); err != nil {
				return nil, err
			}
			if q.depth > 0 && i+1 == q.depth {
				if i+1 < len(history.Commits) {
					cut[h] = true
					a.shallow = append(a.shallow, h)
				}
				break
			}
		}
	}
	for _, h := range q.shallow {
		if sent[h] && !cut[h] && q.depth > 0 {
			a.unshallow = append(a.unshallow, h)
		}
	}
	return a, nil
}

func compareHashes(a, b Hash) int { return bytes.Compare(a[:], b[:]) }

func (a *answer) add(sent map[Hash]bool, commit Object, history History, i int) error {
	content, err := history.Content(i)
	if err != nil {
		return err
	}
	for _, o := range append([]Object{commit}, content...) {
		if h := o.Hash(); !sent[h] {
			sent[h] = true
			a.objects = append(a.objects, o)
		}
	}
	return nil
}

// shallowInfo writes where the history that is sent ends.
func (a *answer) shallowInfo(w io.Writer) {
	for _, h := range a.shallow {
		_ = writeLine(w, "shallow %s", h)
	}
	for _, h := range a.unshallow {
		_ = writeLine(w, "unshallow %s", h)
	}
}

func (a *answer) pack(w io.Writer, band int) error {
	if band == 0 {
		return writePack(w, a.objects)
	}
	if err := writePack(sideband{w, band}, a.objects); err != nil {
		return err
	}
	_, err := io.WriteString(w, flushPkt)
	return err
}

// serveV0 answers a request of the protocol's versions 0 and 1: wants, a flush, haves, done.
func serveV0(ctx context.Context, w http.ResponseWriter, in *bufio.Reader, repository Repository) error {
	q := &request{}
	for {
		l, err := readLine(in)
		if errors.Is(err, io.EOF) && len(q.wants) == 0 {
			return nil // a client that wants nothing
		}
		if err != nil {
			return badLine(err)
		}
		if l.flush {
			break
		}
		text := l.text
		if len(q.wants) == 0 {
			var capabilities string
			if len(text) > 45 {
				text, capabilities = text[:45], text[45:]
			}
			q.band = bandOf(strings.Fields(capabilities))
			q.multi = slices.Contains(strings.Fields(capabilities), "multi_ack_detailed")
		}
		if ok, err := q.argument(text); err != nil || !ok {
			return errors.Join(err, unknown(ok, text))
		}
	}
	if len(q.wants) == 0 {
		return nil
	}
	return q.finishV0(ctx, w, in, repository)
}

func (q *request) finishV0(ctx context.Context, w http.ResponseWriter, in *bufio.Reader, repository Repository) error {
	ended := false
	for !q.done && !ended {
		switch l, err := readLine(in); {
		case errors.Is(err, io.EOF), err == nil && l.flush:
			ended = true
		case err != nil:
			return badLine(err)
		default:
			if ok, err := q.argument(l.text); err != nil || !ok {
				return errors.Join(err, unknown(ok, l.text))
			}
		}
	}
	a, err := prepare(ctx, repository, q)
	if err != nil {
		return err
	}
	if q.depth > 0 {
		a.shallowInfo(w)
		_, _ = io.WriteString(w, flushPkt)
	}
	q.acknowledge(w, a)
	if !q.done {
		return nil // the client goes on in another request
	}
	_ = a.pack(w, q.band) // a client that disconnects is no error
	return nil
}

// acknowledge says which of the commits that the client has are ours. Any of them is enough for a pack.
func (q *request) acknowledge(w io.Writer, a *answer) {
	if q.multi {
		for _, h := range a.common {
			_ = writeLine(w, "ACK %s common", h)
		}
	}
	switch {
	case len(a.common) == 0 && (q.done || len(q.haves) > 0):
		_ = writeLine(w, "NAK")
	case len(a.common) == 0:
	case q.multi && !q.done:
		_ = writeLine(w, "ACK %s ready", a.common[0])
		_ = writeLine(w, "NAK")
	default:
		_ = writeLine(w, "ACK %s", a.common[0])
	}
}

// serveV2 answers a request of version 2: a command and its arguments.
func serveV2(ctx context.Context, w http.ResponseWriter, in *bufio.Reader, repository Repository) error {
	command, arguments, err := readCommand(in)
	if err != nil {
		return err
	}
	switch command {
	case "":
		return nil
	case "ls-refs":
		return listRefs(ctx, w, arguments, repository)
	case "fetch":
		return fetchV2(ctx, w, arguments, repository)
	default:
		return refuse("%q is not a command", bound(command))
	}
}

func readCommand(in *bufio.Reader) (command string, arguments []string, err error) {
	behind := false // the delimiter between capabilities and arguments
	for {
		l, err := readLine(in)
		switch {
		case errors.Is(err, io.EOF) && command == "":
			return "", nil, nil
		case err != nil:
			return "", nil, badLine(err)
		case l.flush:
			return command, arguments, nil
		case l.mark:
			behind = true
		case behind:
			if len(arguments) > maxHashes {
				return "", nil, refuse("more than %d arguments", maxHashes)
			}
			arguments = append(arguments, l.text)
		default:
			if c, ok := strings.CutPrefix(l.text, "command="); ok {
				command = c
			}
		}
	}
}

func listRefs(ctx context.Context, w io.Writer, arguments []string, repository Repository) error {
	head, err := repository.Head(ctx)
	if err != nil {
		return err
	}
	var prefixes []string
	symrefs := false
	for _, a := range arguments {
		if p, ok := strings.CutPrefix(a, "ref-prefix "); ok {
			prefixes = append(prefixes, p)
		}
		symrefs = symrefs || a == "symrefs"
	}
	matches := func(name string) bool {
		for _, p := range prefixes {
			if strings.HasPrefix(name, p) {
				return true
			}
		}
		return len(prefixes) == 0
	}
	if matches("HEAD") {
		target := ""
		if symrefs {
			target = " symref-target:" + Branch
		}
		_ = writeLine(w, "%s HEAD%s", head, target)
	}
	if matches(Branch) {
		_ = writeLine(w, "%s %s", head, Branch)
	}
	_, _ = io.WriteString(w, flushPkt)
	return nil
}

func fetchV2(ctx context.Context, w io.Writer, arguments []string, repository Repository) error {
	q := &request{band: maxLine}
	for _, text := range arguments {
		// Arguments that are not known are about packing, which we do in one way.
		if _, err := q.argument(text); err != nil {
			return err
		}
	}
	if len(q.wants) == 0 {
		return refuse("the request wants no objects")
	}
	a, err := prepare(ctx, repository, q)
	if err != nil {
		return err
	}
	if !q.done {
		_ = writeLine(w, "acknowledgments")
		for _, h := range a.common {
			_ = writeLine(w, "ACK %s", h)
		}
		if len(a.common) == 0 {
			_ = writeLine(w, "NAK")
			_, _ = io.WriteString(w, flushPkt)
			return nil
		}
		_ = writeLine(w, "ready")
		_, _ = io.WriteString(w, delimPkt)
	}
	if q.depth > 0 {
		_ = writeLine(w, "shallow-info")
		a.shallowInfo(w)
		_, _ = io.WriteString(w, delimPkt)
	}
	_ = writeLine(w, "packfile")
	_ = a.pack(w, q.band)
	return nil
}

func bandOf(capabilities []string) int {
	band := 0
	for _, c := range capabilities {
		switch c {
		case "side-band-64k":
			return maxLine
		case "side-band":
			band = 1000
		}
	}
	return band
}

func badLine(err error) error {
	var r *requestError
	var large *http.MaxBytesError
	switch {
	case errors.As(err, &r):
		return err
	case errors.As(err, &large):
		return refuse("the request is larger than %d bytes", maxRequest)
	case errors.Is(err, io.EOF):
		return refuse("the request ends early")
	default:
		return refuse("%s", err.Error())
	}
}

func unknown(ok bool, text string) error {
	if ok {
		return nil
	}
	return refuse("%q is not understood", bound(text))
}
