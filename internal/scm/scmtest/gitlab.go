package scmtest

import (
	"slices"
	"strconv"
	"strings"
)

func (s *Server) gitlab(c *call) {
	branch := func(b Branch) any { return object{"name": b.Name, "commit": object{"id": b.SHA}} }
	paged := func(this, next, total int) {
		h := c.w.Header()
		h.Set("X-Page", strconv.Itoa(this))
		h.Set("X-Total-Pages", strconv.Itoa(total))
		if next > 0 {
			h.Set("X-Next-Page", strconv.Itoa(next))
		}
	}
	project := func(r Repo) any {
		o := object{
			"id": r.ID, "path": r.Name, "name": "The " + r.Name, "namespace": object{"full_path": "acme/platform"},
			"default_branch":   r.defaultOr("main"),
			"ssh_url_to_repo":  "git@gitlab.example.com:acme/" + r.Name + ".git",
			"http_url_to_repo": "https://gitlab.example.com/acme/" + r.Name + ".git", "topics": r.Topics,
		}
		if r.Name == "api" { // as before GitLab 14.5
			o["topics"], o["tag_list"] = []string{}, r.Topics
		}
		return o
	}
	if v, ok := c.path("api/v4/groups/*/projects"); ok && v[0] == "acme/platform" {
		q := c.r.URL.Query()
		repos := slices.DeleteFunc(slices.Clone(s.World.Repos), func(r Repo) bool {
			return q.Get("archived") == "true" && !r.Archived || q.Get("topic") != "" && !slices.Contains(r.Topics, q.Get("topic")) ||
				q.Get("with_shared") == "false" && r.Name == "old" ||
				q.Get("include_subgroups") == "false" && r.Name == "infra.live"
		})
		list, this, next, total := page(c, repos)
		paged(this, next, total)
		c.json(each(list, project))
	}
	if v, ok := c.path("api/v4/projects/*"); ok {
		if r := c.repo(strings.TrimPrefix(v[0], "acme/platform/")); r != nil {
			c.json(project(*r))
		}
	}
	if v, ok := c.path("api/v4/projects/*/repository/branches"); ok && c.repo(v[0]) != nil {
		list, this, next, total := page(c, c.repo(v[0]).Branches)
		paged(this, next, total)
		c.json(each(list, branch))
	}
	if v, ok := c.path("api/v4/projects/*/repository/branches/*"); ok {
		if b := c.repo(v[0]).branch(v[1]); b != nil {
			c.json(branch(*b))
		}
	}
	if v, ok := c.path("api/v4/projects/*/repository/files/*"); ok && c.repo(v[0]).branch(c.r.URL.Query().Get("ref")).kind(v[1]) == "file" {
		c.json(object{"file_path": v[1]})
	}
	if v, ok := c.path("api/v4/projects/*/repository/tree"); ok &&
		c.repo(v[0]).branch(c.r.URL.Query().Get("ref")).kind(c.r.URL.Query().Get("path")) == "dir" {
		c.json([]any{object{"name": "x", "type": "blob"}})
	}
	if v, ok := c.path("api/v4/projects/*/merge_requests"); ok && c.repo(strings.TrimPrefix(v[0], "acme/")) != nil {
		q := c.r.URL.Query()
		pulls := slices.DeleteFunc(c.pulls(strings.TrimPrefix(v[0], "acme/")), func(p Pull) bool {
			wanted := strings.Split(q.Get("labels"), ",")
			return q.Get("labels") != "" && slices.ContainsFunc(wanted, func(l string) bool {
				return !slices.Contains(p.Labels, l)
			}) || q.Get("state") == "merged"
		})
		list, this, next, total := page(c, pulls)
		paged(this, next, total)
		c.json(each(list, func(p Pull) any {
			return object{
				"iid": p.Number, "title": p.Title, "source_branch": p.From, "target_branch": p.To, "sha": p.SHA,
				"labels": append([]string{}, p.Labels...), "author": object{"username": p.Author},
			}
		}))
	}
}
