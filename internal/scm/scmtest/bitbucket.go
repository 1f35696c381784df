package scmtest

import (
	"net/http"
	"slices"
	"strconv"
)

func (s *Server) bitbucket(c *call) {
	branch := func(b Branch) any { return object{"name": b.Name, "type": "branch", "target": object{"hash": b.SHA}} }
	answer := func(next int, values []any) {
		o := object{"pagelen": 2, "values": values}
		if next > 0 {
			q := c.r.URL.Query()
			q.Set("page", strconv.Itoa(next))
			o["next"] = s.URL + c.r.URL.Path + "?" + q.Encode()
		}
		c.json(o)
	}
	repos := slices.DeleteFunc(slices.Clone(s.World.Repos), func(r Repo) bool { return r.Default == "" })
	if v, ok := c.path("repositories/*"); ok && v[0] == Organization {
		list, _, next, _ := page(c, repos)
		answer(next, each(list, func(r Repo) any {
			return object{
				"slug": r.Name, "name": r.Name, "uuid": "{" + r.UUID + "}",
				"mainbranch": object{"name": r.Default, "type": "branch"}, "links": object{"clone": []any{
					object{"name": "https", "href": "https://bitbucket.example.com/acme/" + r.Name + ".git"},
					object{"name": "ssh", "href": "git@bitbucket.example.com:acme/" + r.Name + ".git"},
				}},
			}
		}))
	}
	if v, ok := c.path("repositories/acme/*/refs/branches"); ok && c.repo(v[0]) != nil {
		list, _, next, _ := page(c, c.repo(v[0]).Branches)
		answer(next, each(list, branch))
	}
	if v, ok := c.path("repositories/acme/*/refs/branches/**"); ok && v[1] != "" {
		if b := c.repo(v[0]).branch(v[1]); b != nil {
			c.json(branch(*b))
		}
	}
	if v, ok := c.path("repositories/acme/*/src/*/**"); ok && c.repo(v[0]).branch(v[1]).kind(v[2]) != "" {
		c.json(object{"path": v[2]})
	}
	if v, ok := c.path("repositories/acme/*/pullrequests"); ok && c.repo(v[0]) != nil {
		list, _, next, _ := page(c, c.pulls(v[0]))
		answer(next, each(list, func(p Pull) any {
			return object{
				"id": p.Number, "title": p.Title, "author": object{"nickname": p.Author},
				"destination": object{"branch": object{"name": p.To}},
				"source":      object{"branch": object{"name": p.From}, "commit": object{"hash": p.SHA}},
			}
		}))
	}
}

func (s *Server) bitbucketServer(c *call) {
	branch := func(b Branch) any {
		return object{"id": "refs/heads/" + b.Name, "displayId": b.Name, "latestCommit": b.SHA, "type": "BRANCH"}
	}
	start, _ := strconv.Atoi(c.r.URL.Query().Get("start"))
	answer := func(values []any) {
		end := min(len(values), start+2)
		o := object{"values": values[min(start, end):end], "size": 2, "limit": 2, "start": start, "isLastPage": end == len(values)}
		if end < len(values) {
			o["nextPageStart"] = end
		}
		c.json(o)
	}
	if v, ok := c.path("rest/api/1.0/projects/*/repos"); ok && v[0] == "SHOP" {
		answer(each(s.World.Repos, func(r Repo) any {
			return object{"id": r.ID, "slug": r.Name, "name": r.Name, "project": object{"key": "SHOP"}, "links": object{"clone": []any{
				object{"name": "http", "href": "https://stash.example.com/scm/shop/" + r.Name + ".git"},
				object{"name": "ssh", "href": "ssh://git@stash.example.com/shop/" + r.Name + ".git"},
			}}}
		}))
	}
	if v, ok := c.path("rest/api/1.0/projects/SHOP/repos/*/branches/default"); ok && c.repo(v[0]) != nil {
		r := c.repo(v[0])
		if r.Default == "" {
			c.answered = true
			c.w.WriteHeader(http.StatusNoContent)
			return
		}
		c.json(branch(*r.branch(r.Default)))
	}
	if v, ok := c.path("rest/api/1.0/projects/SHOP/repos/*/branches"); ok && c.repo(v[0]) != nil {
		answer(each(c.repo(v[0]).Branches, branch))
	}
	if v, ok := c.path("rest/api/1.0/projects/SHOP/repos/*/browse/**"); ok &&
		c.repo(v[0]).branch(c.r.URL.Query().Get("at")).kind(v[1]) != "" {
		c.json(object{"type": "DIRECTORY"})
	}
	if v, ok := c.path("rest/api/1.0/projects/SHOP/repos/*/pull-requests"); ok && c.repo(v[0]) != nil {
		answer(each(c.pulls(v[0]), func(p Pull) any {
			return object{
				"id": p.Number, "title": p.Title, "fromRef": object{
					"id": "refs/heads/" + p.From, "displayId": p.From,
					"latestCommit": p.SHA,
				},
				"toRef":  object{"id": "refs/heads/" + p.To, "displayId": p.To, "latestCommit": "x"},
				"author": object{"user": object{"name": p.Author}},
			}
		}))
	}
}
