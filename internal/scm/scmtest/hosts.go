package scmtest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
)

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

func (r Repo) defaultOr(name string) string {
	if r.Default == "" {
		return name
	}
	return r.Default
}

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

func (s *Server) codeCommit(c *call) {
	body, _ := io.ReadAll(c.r.Body)
	var in struct {
		RepositoryName, FolderPath, CommitSpecifier string
		NextToken                                   string
		PaginationToken                             string
		TagFilters                                  []struct {
			Key    string
			Values []string
		}
	}
	_ = json.Unmarshal(body, &in)
	token, _ := strconv.Atoi(in.NextToken + in.PaginationToken)
	rest := func(n int) string {
		if n <= token+2 {
			return ""
		}
		return strconv.Itoa(token + 2)
	}
	failed := func(code string) {
		c.answered = true
		c.w.WriteHeader(http.StatusBadRequest)
		_ = json.NewEncoder(c.w).Encode(object{"__type": "com.amazonaws.codecommit#" + code, "message": "no"})
	}
	repos := s.World.Repos
	switch target := c.r.Header.Get("X-Amz-Target"); target {
	case "CodeCommit_20150413.ListRepositories":
		c.json(object{"repositories": each(repos[min(token, len(repos)):min(token+2, len(repos))], func(r Repo) any {
			return object{"repositoryName": r.Name}
		}), "nextToken": rest(len(repos))})
	case "ResourceGroupsTaggingAPI_20170126.GetResources":
		tagged := slices.DeleteFunc(slices.Clone(repos), func(r Repo) bool { return !slices.Contains(r.Topics, in.TagFilters[0].Key) })
		c.json(object{"ResourceTagMappingList": each(tagged, func(r Repo) any {
			return object{"ResourceARN": "arn:aws:codecommit:eu-west-1:123456789012:" + r.Name}
		})})
	case "CodeCommit_20150413.GetRepository":
		r := c.repo(in.RepositoryName)
		if r == nil {
			failed("RepositoryDoesNotExistException")
			return
		}
		c.json(object{"repositoryMetadata": object{
			"repositoryId": r.UUID, "repositoryName": r.Name, "accountId": "123456789012", "defaultBranch": r.Default,
			"cloneUrlSsh":  "ssh://git-codecommit.eu-west-1.amazonaws.com/v1/repos/" + r.Name,
			"cloneUrlHttp": "https://git-codecommit.eu-west-1.amazonaws.com/v1/repos/" + r.Name,
		}})
	case "CodeCommit_20150413.ListBranches":
		branches := c.repo(in.RepositoryName).Branches
		c.json(object{"branches": each(branches[min(token, len(branches)):min(token+2, len(branches))], func(b Branch) any {
			return b.Name
		}), "nextToken": rest(len(branches))})
	case "CodeCommit_20150413.GetFolder":
		b := c.repo(in.RepositoryName).branch(in.CommitSpecifier)
		files, folders := []any{}, []any{}
		for _, f := range b.Files {
			name, ok := strings.CutPrefix("/"+f, strings.TrimSuffix(in.FolderPath, "/")+"/")
			if !ok {
				continue
			}
			if folder, _, deeper := strings.Cut(name, "/"); deeper {
				folders = append(folders, object{"relativePath": folder})
			} else {
				files = append(files, object{"relativePath": name})
			}
		}
		if len(files)+len(folders) == 0 {
			failed("FolderDoesNotExistException")
			return
		}
		c.json(object{"files": files, "subFolders": folders})
	default:
		c.fail(http.StatusBadRequest, fmt.Sprintf("unknown target %q", target))
	}
}
