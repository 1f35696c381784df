package gitserver

import (
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// fixed is a repository with one commit.
type fixed struct{ err error }

func (f fixed) commit() Object {
	return Commit{Tree: Object{Kind: KindTree}.Hash(), Date: time.Unix(1, 0), Message: "x"}.Object()
}

func (f fixed) Head(context.Context) (Hash, error) { return f.commit().Hash(), f.err }

func (f fixed) History(_ context.Context, h Hash) (History, bool, error) {
	return History{[]Object{f.commit()}, func(int) ([]Object, error) {
		return []Object{{Kind: KindTree}}, nil
	}}, h == f.commit().Hash(), f.err
}

func server(failed *[]string) *Server {
	return &Server{
		Open: func(_ context.Context, path string) (Repository, error) {
			switch path {
			case "x.git":
				return fixed{}, nil
			case "secret.git":
				return nil, errors.Join(ErrNotFound, errors.New("refused by the policy"))
			case "broken.git":
				return fixed{errors.New("a secret cause")}, nil
			default:
				return nil, ErrNotFound
			}
		},
		Failed: func(path string, err error) { *failed = append(*failed, path+": "+err.Error()) },
	}
}

// lines makes a request of lines; "0000" and "0001" are marks.
func lines(texts ...string) string {
	var b strings.Builder
	for _, t := range texts {
		if t == flushPkt || t == delimPkt {
			b.WriteString(t)
			continue
		}
		_ = writeLine(&b, "%s", t)
	}
	return b.String()
}

func ask(s *Server, method, path, protocol, body string, header ...string) *httptest.ResponseRecorder {
	r := httptest.NewRequest(method, path, strings.NewReader(body))
	if protocol != "" {
		r.Header.Set("Git-Protocol", "version="+protocol)
	}
	for i := 0; i+1 < len(header); i += 2 {
		r.Header.Set(header[i], header[i+1])
	}
	w := httptest.NewRecorder()
	s.ServeHTTP(w, r)
	return w
}

func TestRequests(t *testing.T) {
	const post = "/x.git/git-upload-pack"
	head := fixed{}.commit().Hash()
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	_, _ = io.WriteString(z, lines("command=ls-refs", delimPkt, flushPkt))
	_ = z.Close()
	var bomb bytes.Buffer
	z = gzip.NewWriter(&bomb)
	for range 200 {
		_, _ = io.WriteString(z, strings.Repeat(lines("have "+head.String()), 1000))
	}
	_ = z.Close()
	want := "want " + head.String()
	for _, c := range []struct {
		name, method, path, protocol, body string
		header                             []string
		status                             int
		text                               string
	}{
		{"refs", "GET", "/x.git/info/refs?service=git-upload-pack", "", "", nil, 200, head.String() + " HEAD\x00"},
		{"version 1", "GET", "/x.git/info/refs?service=git-upload-pack", "1", "", nil, 200, "version 1"},
		{"version 2", "GET", "/x.git/info/refs?service=git-upload-pack", "2", "", nil, 200, "version 2"},
		{"gzip", "POST", post, "2", packed.String(), []string{"Content-Encoding", "gzip"}, 200, head.String() + " HEAD"},
		{"prefixes", "POST", post, "2", lines("command=ls-refs", delimPkt, "ref-prefix refs/tags/", flushPkt), nil, 200, flushPkt},
		{"pack", "POST", post, "2", lines("command=fetch", delimPkt, want, "done", flushPkt), nil, 200, "PACK"},
		{"nothing", "POST", post, "", "", nil, 200, ""},

		{"dumb", "GET", "/x.git/info/refs", "", "", nil, 404, "this is a Git server; use git clone"},
		{"file", "GET", "/x.git/HEAD", "", "", nil, 404, "this is a Git server; use git clone"},
		{"push", "GET", "/x.git/info/refs?service=git-receive-pack", "", "", nil, 403, "this server is read-only, nothing can be pushed"},
		{"push anyway", "POST", "/x.git/git-receive-pack", "", "0000", nil, 403, "this server is read-only, nothing can be pushed"},
		{"unknown", "GET", "/y.git/info/refs?service=git-upload-pack", "", "", nil, 404, "there is no such repository"},
		{"refused", "GET", "/secret.git/info/refs?service=git-upload-pack", "", "", nil, 404, "there is no such repository"},
		{"traversal", "GET", "/../x.git/info/refs?service=git-upload-pack", "", "", nil, 404, "there is no such repository"},
		{"method", "PUT", post, "", "", nil, 404, "this is a Git server; use git clone"},
		{
			"broken", "GET", "/broken.git/info/refs?service=git-upload-pack", "", "", nil, 503,
			"this repository cannot be read now; see the server's log",
		},

		{
			"not ours", "POST", post, "2", lines("command=fetch", delimPkt, "want "+strings.Repeat("0", 40), "done", flushPkt), nil, 400,
			"upload-pack: not our ref " + strings.Repeat("0", 40),
		},
		{"no hash", "POST", post, "2", lines("command=fetch", delimPkt, "want x", flushPkt), nil, 400, `"x" is not the name of an object`},
		{"no wants", "POST", post, "2", lines("command=fetch", delimPkt, "done", flushPkt), nil, 400, "the request wants no objects"},
		{"command", "POST", post, "2", lines("command=push", flushPkt), nil, 400, `"push" is not a command`},
		{
			"depth", "POST", post, "2", lines("command=fetch", delimPkt, want, "deepen -1", flushPkt), nil, 400,
			`deepen must be a number, it is "-1"`,
		},
		{
			"since", "POST", post, "2", lines("command=fetch", delimPkt, want, "deepen-since 1", flushPkt), nil, 400,
			"deepen-since is not supported; use --depth",
		},
		{"length", "POST", post, "", "zzzzwant", nil, 400, `"zzzz" is not the length of a line`},
		{"short", "POST", post, "", "00ffwant", nil, 400, "a line that ends early"},
		{"half", "POST", post, "", "00", nil, 400, "a line without a length"},
		{"early", "POST", post, "", lines(want), nil, 400, "the request ends early"},
		{"line", "POST", post, "", lines(want, "frobnicate", flushPkt), nil, 400, `"frobnicate" is not understood`},
		{"encoding", "POST", post, "", "x", []string{"Content-Encoding", "br"}, 400, "the request has an encoding that is not known"},
		{"not gzip", "POST", post, "", "x", []string{"Content-Encoding", "gzip"}, 400, "the request has Content-Encoding gzip, but is not gzip"},
		{
			"large", "POST", post, "", lines(want, flushPkt) + strings.Repeat(lines("have "+head.String()), 100_000), nil, 400,
			"more than 20000 objects are named",
		},
		{"bomb", "POST", post, "2", bomb.String(), []string{"Content-Encoding", "gzip"}, 400, "the request is larger than 1048576 bytes"},
	} {
		t.Run(c.name, func(t *testing.T) {
			var failed []string
			w := ask(server(&failed), c.method, c.path, c.protocol, c.body, c.header...)
			got := strings.TrimSuffix(w.Body.String(), "\n")
			if w.Code != c.status || c.status == 200 && !strings.Contains(got, c.text) || c.status != 200 && got != c.text {
				t.Errorf("%d %q\nwant %d %q", w.Code, got, c.status, c.text)
			}
			if (len(failed) > 0) != (c.name == "broken" || c.name == "refused") {
				t.Errorf("failed: %q", failed)
			}
		})
	}
}

// FuzzUpload looks for requests that make the server panic, hang or blame itself.
func FuzzUpload(f *testing.F) {
	head := fixed{}.commit().Hash()
	want := "want " + head.String()
	f.Add("", lines(want+" multi_ack_detailed side-band-64k", "deepen 1", flushPkt, "have "+head.String(), "done"))
	f.Add("2", lines("command=fetch", "agent=x", delimPkt, want, "have "+head.String(), "shallow "+head.String(), "done", flushPkt))
	f.Add("2", lines("command=ls-refs", delimPkt, "peel", "symrefs", "ref-prefix HEAD", flushPkt))
	f.Fuzz(func(t *testing.T, protocol, body string) {
		var failed []string
		w := ask(server(&failed), http.MethodPost, "/x.git/git-upload-pack", protocol, body)
		if len(failed) > 0 || w.Code != http.StatusOK && w.Code != http.StatusBadRequest {
			t.Errorf("%d %q %s", w.Code, failed, fmt.Sprint(w.Body))
		}
	})
}
