package scmtest

import (
	"encoding/json"
	"net/http"
)

func (s *Server) azure(c *call) {
	branch := func(b Branch) any { return object{"name": b.Name, "commit": object{"commitId": b.SHA}} }
	list := func(values []any) { c.json(object{"count": len(values), "value": values}) }
	typed := func(key string) {
		c.answered = true
		c.w.Header().Set("Content-Type", "application/json")
		c.w.WriteHeader(http.StatusNotFound)
		_ = json.NewEncoder(c.w).Encode(object{"typeKey": key, "message": "TF401019: " + key})
	}
	if _, ok := c.path("acme/_apis"); ok && c.r.Method == http.MethodOptions {
		at := func(id, route, area, resource string) any {
			return object{
				"id": id, "area": area, "resourceName": resource, "routeTemplate": route, "resourceVersion": 1,
				"minVersion": "1.0", "maxVersion": "7.2", "releasedVersion": "7.1",
			}
		}
		list([]any{
			at("e81700f7-3be2-46de-8624-2eb35882fcaa", "_apis/{resource}/{areaId}", "Location", "ResourceAreas"),
			at("225f7195-f9c7-4d14-ab28-a83f7ff77e1f", "{project}/_apis/{area}/{resource}/{repositoryId}", "git", "repositories"),
			at("d5b216de-d8d5-4d32-ae76-51df755b16d3", "{project}/_apis/{area}/repositories/{repositoryId}/stats/{resource}/{*name}", "git",
				"branches"),
			at("fb93c0db-47ed-4a31-8c20-47552878fb44", "{project}/_apis/{area}/repositories/{repositoryId}/{resource}/{*path}", "git",
				"items"),
			at("a5d28130-9cd2-40fa-9f08-902e7daa9efb", "{project}/_apis/{area}/{resource}", "git", "pullrequests"),
		})
	}
	if _, ok := c.path("acme/_apis/ResourceAreas"); ok {
		list([]any{})
	}
	if _, ok := c.path("acme/shop/_apis/git/repositories"); ok {
		list(each(s.World.Repos, func(r Repo) any {
			o := object{
				"id": r.UUID, "name": r.Name, "remoteUrl": "https://acme@dev.azure.example.com/acme/shop/_git/" + r.Name,
				"sshUrl": "git@ssh",
			}
			if r.Default != "" {
				o["defaultBranch"] = "refs/heads/" + r.Default
			}
			return o
		}))
	}
	if v, ok := c.path("acme/shop/_apis/git/repositories/*/stats/branches"); ok {
		r := c.repo(v[0])
		switch name := c.r.URL.Query().Get("name"); {
		case r == nil || r.Name == "old":
			typed("GitRepositoryNotFoundException")
		case name == "":
			list(each(r.Branches, branch))
		case r.branch(name) != nil:
			c.json(branch(*r.branch(name)))
		}
	}
	if v, ok := c.path("acme/shop/_apis/git/repositories/*/items"); ok {
		q := c.r.URL.Query()
		if c.repo(v[0]).branch(q.Get("versionDescriptor.version")).kind(q.Get("path")) == "" {
			typed("GitItemNotFoundException")
			return
		}
		c.json(object{"path": q.Get("path"), "gitObjectType": "blob"})
	}
	if _, ok := c.path("acme/shop/_apis/git/pullrequests"); ok {
		list(each(s.World.Pulls, func(p Pull) any {
			o := object{
				"pullRequestId": p.Number, "title": p.Title, "repository": object{"name": p.Repository, "id": c.repo(p.Repository).UUID},
				"sourceRefName": "refs/heads/" + p.From,
				"targetRefName": "refs/heads/" + p.To, "lastMergeSourceCommit": object{"commitId": p.SHA},
				"createdBy": object{"uniqueName": p.Author + "@example.com"},
			}
			if p.Labels != nil {
				o["labels"] = labels(p.Labels)
			}
			return o
		}))
	}
	if _, ok := c.path("acme/nothing/_apis/git/pullrequests"); ok {
		c.fail(http.StatusNotFound,
			"TF200016: The following project does not exist: nothing. Verify that the name of the project is correct.")
	}
}
