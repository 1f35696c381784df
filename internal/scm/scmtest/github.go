package scmtest

func (s *Server) github(c *call) {
	branch := func(b Branch) any { return object{"name": b.Name, "commit": object{"sha": b.SHA}} }
	if v, ok := c.path("api/v3/orgs/*/repos"); ok && v[0] == Organization {
		list, _, next, _ := page(c, s.World.Repos)
		c.link(next)
		c.json(each(list, func(r Repo) any {
			return object{
				"id": r.ID, "name": r.Name, "owner": object{"login": Organization}, "default_branch": r.defaultOr("main"),
				"topics": r.Topics, "archived": r.Archived,
				"ssh_url":   "git@github.example.com:acme/" + r.Name + ".git",
				"clone_url": "https://github.example.com/acme/" + r.Name + ".git",
			}
		}))
	}
	if v, ok := c.path("api/v3/repos/acme/*/branches"); ok && c.repo(v[0]) != nil {
		list, _, next, _ := page(c, c.repo(v[0]).Branches)
		c.link(next)
		c.json(each(list, branch))
	}
	if v, ok := c.path("api/v3/repos/acme/*/branches/*"); ok {
		if b := c.repo(v[0]).branch(v[1]); b != nil {
			c.json(branch(*b))
		}
	}
	if v, ok := c.path("api/v3/repos/acme/*/contents/**"); ok {
		switch c.repo(v[0]).branch(c.r.URL.Query().Get("ref")).kind(v[1]) {
		case "file":
			c.json(object{"type": "file", "name": v[1], "path": v[1]})
		case "dir":
			c.json([]any{object{"type": "file", "name": "x", "path": v[1] + "/x"}})
		}
	}
	if v, ok := c.path("api/v3/repos/acme/*/pulls"); ok && c.repo(v[0]) != nil {
		list, _, next, _ := page(c, c.pulls(v[0]))
		c.link(next)
		c.json(each(list, func(p Pull) any {
			return object{
				"number": p.Number, "title": p.Title, "head": object{"ref": p.From, "sha": p.SHA}, "base": object{"ref": p.To},
				"user": object{"login": p.Author}, "labels": labels(p.Labels),
			}
		}))
	}
}
