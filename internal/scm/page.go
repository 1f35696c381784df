package scm

import (
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
)

// paging are the headers that say where an answer goes on.
func paging(header http.Header) http.Header {
	out := http.Header{}
	for _, name := range []string{"Link", "X-Page", "X-Next-Page", "X-Total-Pages", "X-Total-Count"} {
		if v := header.Get(name); v != "" {
			out.Set(name, v)
		}
	}
	return out
}

// next returns the number of the page that a Link header calls next; 0 is none.
func next(header http.Header) int {
	for _, link := range strings.Split(header.Get("Link"), ",") {
		target, rest, _ := strings.Cut(strings.TrimSpace(link), ";")
		if !strings.Contains(rest, `rel="next"`) {
			continue
		}
		u, err := url.Parse(strings.Trim(target, "<> "))
		if err != nil {
			return 0
		}
		page, _ := strconv.Atoi(u.Query().Get("page"))
		return page
	}
	return 0
}

// pages calls read for page after page, until it returns 0.
func pages(h *host, read func(page int) (next int, err error)) error {
	for n, page := 0, 1; page > 0; n++ {
		if n == maxPages {
			return fmt.Errorf("%s: there are more than %d pages", h.base.Host, maxPages)
		}
		following, err := read(page)
		if err != nil {
			return err
		}
		if following != 0 && following <= page {
			return fmt.Errorf("%s: page %d is followed by page %d", h.base.Host, page, following)
		}
		page = following
	}
	return nil
}
