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
