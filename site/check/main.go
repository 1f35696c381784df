// Command check reads a built site and reports dead links: to pages, titles and files that are not there. It also reports what a browser
// would load from elsewhere.
//
//	check DIR
package main

import (
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"golang.org/x/net/html"
)

// page is what the check needs of an HTML file.
type page struct {
	ids   map[string]bool
	links []string // of people
	loads []string // of browsers
}

func main() {
	if len(os.Args) != 2 {
		fmt.Fprintln(os.Stderr, "usage: check DIR")
		os.Exit(2)
	}
	problems, links, err := check(os.DirFS(os.Args[1]))
	if err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
	for _, p := range problems {
		fmt.Fprintln(os.Stderr, p)
	}
	if len(problems) > 0 || links == 0 {
		fmt.Fprintf(os.Stderr, "error: %d problems in %d links\n", len(problems), links)
		os.Exit(1)
	}
	fmt.Printf("%s: %d links, none is dead\n", os.Args[1], links)
}

// check returns what is wrong with a site, sorted, and how many links it has.
func check(site fs.FS) (problems []string, links int, err error) {
	pages := map[string]*page{}
	err = fs.WalkDir(site, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(name) != ".html" {
			return err
		}
		pages[name], err = read(site, name)
		return err
	})
	for name, p := range pages {
		for _, link := range p.links {
			links++
			if wrong := dead(site, pages, name, link); wrong != "" {
				problems = append(problems, fmt.Sprintf("%s: link to %s: %s", name, link, wrong))
			}
		}
		for _, link := range p.loads {
			links++
			if u, err := url.Parse(link); err != nil || u.Host != "" || u.Scheme != "" {
				problems = append(problems, fmt.Sprintf("%s: %s is loaded from elsewhere", name, link))
			} else if wrong := dead(site, pages, name, link); wrong != "" {
				problems = append(problems, fmt.Sprintf("%s: loads %s: %s", name, link, wrong))
			}
		}
	}
	slices.Sort(problems)
	return problems, links, err
}

func read(site fs.FS, name string) (*page, error) {
	f, err := site.Open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	doc, err := html.Parse(f)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	p := &page{ids: map[string]bool{}}
	for n := range doc.Descendants() {
		for _, a := range n.Attr {
			switch {
			case a.Key == "id":
				p.ids[a.Val] = true
			case a.Key == "href" && n.Data == "a":
				p.links = append(p.links, a.Val)
			case a.Key == "href" && n.Data == "link", a.Key == "src", a.Key == "srcset", a.Key == "poster":
				p.loads = append(p.loads, a.Val)
			}
		}
	}
	return p, nil
}

// dead says what is wrong with a link; "" if nothing is, or if it leads elsewhere.
func dead(site fs.FS, pages map[string]*page, from, link string) string {
	u, err := url.Parse(link)
	switch {
	case err != nil:
		return err.Error()
	case u.Scheme != "" || u.Host != "":
		return ""
	case path.IsAbs(u.Path):
		return "it is not relative, so the site works at one address only"
	}
	target := from
	if u.Path != "" {
		target = path.Join(path.Dir(from), u.Path)
	}
	if info, err := fs.Stat(site, target); err != nil || info.IsDir() {
		return "there is no such file"
	}
	if p := pages[target]; u.Fragment != "" && (p == nil || !p.ids[u.Fragment]) {
		return "there is no such title"
	}
	if strings.HasSuffix(target, ".md") {
		return "it is Markdown"
	}
	return ""
}
