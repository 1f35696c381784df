package scmtest

import (
	"slices"
)

func (s *Server) gitea(c *call) {
	branch := func(b Branch) any { return object{"name": b.Name, "commit": object{"id": b.SHA}} }
	if _, ok := c.path("api/v1/version"); ok {
		c.json(object{"version": "1.24.0"})
	}
	// A repository that is empty fails a whole generator in Argo CD.
	repos := slices.DeleteFunc(slices.Clone(s.World.Repos), func(r Repo) bool { return r.Default == "" })
	if v, ok := c.path("api/v1/orgs/*/repos"); ok && v[0] == Organization {
		// The server's own page holds three.
		c.link(2)
		c.json(each(repos[:3], func(r Repo) any {
			return object{
				"id": r.ID, "name": r.Name, "default_branch": r.Default, "archived": r.Archived,
				"ssh_url": "git@gitea.example.com:acme/" + r.Name + ".git", "html_url": "https://gitea.example.com/acme/" + r.Name,
				"clone_url": "https://gitea.example.com/acme/" + r.Name + ".git",
			}
		}))
	}
	if v, ok := c.path("api/v1/repos/acme/*/labels"); ok && c.repo(v[0]) != nil {
		c.json(labels(c.repo(v[0]).Topics))
	}
	if v, ok := c.path("api/v1/repos/acme/*/branches"); ok && c.repo(v[0]) != nil {
		c.json(each(c.repo(v[0]).Branches, branch))
	}
	if v, ok := c.path("api/v1/repos/acme/*/branches/*"); ok {
		if b := c.repo(v[0]).branch(v[1]); b != nil {
			c.json(branch(*b))
		}
	}
	if v, ok := c.path("api/v1/repos/acme/*/contents/**"); ok {
		switch c.repo(v[0]).branch(c.r.URL.Query().Get("ref")).kind(v[1]) {
		case "file":
			c.json(object{"type": "file", "name": v[1]})
		case "dir":
			c.json([]any{object{"type": "file", "name": "x"}})
		}
	}
	if v, ok := c.path("api/v1/repos/acme/*/pulls"); ok && c.repo(v[0]) != nil {
		c.json(each(c.pulls(v[0]), func(p Pull) any {
			return object{
				"number": p.Number, "title": p.Title, "head": object{"ref": p.From, "sha": p.SHA}, "base": object{"ref": p.To},
				"user": object{"login": p.Author}, "labels": labels(p.Labels),
			}
		}))
	}
}
