package reposerver

import (
	"fmt"
	"html"
	"net/http"
	"time"
)

// page lists the repositories that were asked for, as they are known: it reads no bucket, and names none that the policy no longer allows.
func (s *Server) page(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	fmt.Fprintf(w, "%s", "<!doctype html><meta charset=utf-8><title>Argosy trigger repositories</title><style>body{font:16px "+
		"system-ui;margin:2em}td,th{padding:.3em 1em;text-align:left}</style>"+
		"<h1>Trigger repositories</h1><table><tr><th>repository<th>commit<th>next tick")
	row := func(path, commit, note string) {
		fmt.Fprintf(w, "<tr><td><code>/%s</code><td><code>%s</code><td>%s", html.EscapeString(path), commit, note)
	}
	for path, clock := range s.clocks.All() {
		commit := "none"
		if head, err := clock.Head(r.Context()); err == nil {
			commit = head.String()
		}
		row(path, commit, clock.Next().Format(time.RFC3339))
	}
	for path, b := range s.served() {
		if _, err := s.allowed(path); err != nil {
			continue
		}
		commit, note := "none", "when the bucket changes"
		if head, ok := b.Last(); ok {
			commit = head.String()
		}
		if b.Err() != nil {
			note = "the bucket cannot be read; the commit is its last known one"
		}
		row(path, commit, note)
	}
	fmt.Fprintln(w, "</table><p>Any <code>/every/&lt;duration&gt;/&lt;name&gt;.git</code> is a trigger repository, too.")
}
