package scm

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// codeCommit asks AWS CodeCommit (applicationset/services/scm_provider/aws_codecommit.go, v3.2.11). It does not tell commits.
type codeCommit struct {
	aws AWS
	spec
	notes
}

func (a *Asker) openCodeCommit(_ generator.Question, s spec) (service, error) {
	if err := a.allow(Target{Resource: "https://codecommit." + cmp.Or(s.Region, "default") + ".amazonaws.com", Role: s.Role}); err != nil {
		return nil, err
	}
	if a.Client.AWS == nil {
		return nil, generator.Unknown{Reason: "AWS CodeCommit cannot be asked here"}
	}
	return &codeCommit{aws: a.Client.AWS, spec: s}, nil
}

func (c *codeCommit) answer(ctx context.Context, q generator.Question) (*generator.Answer, error) {
	return ask(ctx, c, q)
}

func (c *codeCommit) key(q generator.Question) string { return questionKey("aws", q) }

func (c *codeCommit) clean(err error) error { return err }

func (c *codeCommit) lasts() time.Duration { return 0 }

func (c *codeCommit) call(ctx context.Context, service, operation string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	data, err := c.aws.Call(ctx, AWSCall{Service: service, Operation: operation, Region: c.Region, Role: c.Role, Body: body})
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, out); err != nil {
		return fmt.Errorf("AWS: the answer to %s is not what the API documents: %s", operation, strings.TrimPrefix(err.Error(), "json: "))
	}
	return nil
}

func (c *codeCommit) codeCommit(ctx context.Context, operation string, in, out any) error {
	return c.call(ctx, "codecommit", "CodeCommit_20150413."+operation, in, out)
}

// tokens calls read with the token of each page.
func tokens(read func(token string) (next string, err error)) error {
	token := ""
	for range maxPages {
		following, err := read(token)
		if err != nil || following == "" {
			return err
		}
		token = following
	}
	return fmt.Errorf("AWS: there are more than %d pages", maxPages)
}

// names lists repositories, by their tags if there are filters.
func (c *codeCommit) names(ctx context.Context) ([]string, error) {
	var out []string
	if len(c.TagFilters) == 0 {
		err := tokens(func(token string) (string, error) {
			var list struct {
				NextToken    string `json:"nextToken"`
				Repositories []struct {
					Name string `json:"repositoryName"`
				} `json:"repositories"`
			}
			err := c.codeCommit(ctx, "ListRepositories", withToken("nextToken", token, nil), &list)
			for _, r := range list.Repositories {
				out = append(out, r.Name)
			}
			return list.NextToken, errors.Join(err, tooMany(len(out), maxRepositories, "repositories"))
		})
		return out, err
	}
	filters := map[string]any{"ResourceTypeFilters": []string{"codecommit:repository"}, "TagFilters": c.tagFilters()}
	err := tokens(func(token string) (string, error) {
		var list struct {
			PaginationToken        string
			ResourceTagMappingList []struct{ ResourceARN string }
		}
		err := c.call(ctx, "tagging", "ResourceGroupsTaggingAPI_20170126.GetResources", withToken("PaginationToken", token, filters), &list)
		for _, r := range list.ResourceTagMappingList {
			parts := strings.SplitN(r.ResourceARN, ":", 6)
			if len(parts) != 6 || parts[0] != "arn" {
				c.note(fmt.Sprintf("AWS: %q is not an ARN", r.ResourceARN))
				continue
			}
			out = append(out, parts[5])
		}
		return list.PaginationToken, errors.Join(err, tooMany(len(out), maxRepositories, "repositories"))
	})
	return out, err
}

func withToken(key, token string, in map[string]any) map[string]any {
	out := map[string]any{}
	for k, v := range in {
		out[k] = v
	}
	if token != "" {
		out[key] = token
	}
	return out
}

// tagFilters are the filters by key: several values of one key are alternatives.
func (c *codeCommit) tagFilters() []any {
	values := map[string][]string{}
	for _, f := range c.TagFilters {
		values[f.Key] = slices.Clip(values[f.Key])
		if f.Value != "" {
			values[f.Key] = append(values[f.Key], f.Value)
		}
	}
	var out []any
	for _, key := range manifest.Keys(values) {
		filter := map[string]any{"Key": key}
		if len(values[key]) > 0 {
			filter["Values"] = values[key]
		}
		out = append(out, filter)
	}
	return out
}

type codeCommitRepository struct {
	Metadata struct {
		ID            string `json:"repositoryId"`
		Name          string `json:"repositoryName"`
		Account       string `json:"accountId"`
		DefaultBranch string `json:"defaultBranch"`
		SSH           string `json:"cloneUrlSsh"`
		HTTP          string `json:"cloneUrlHttp"`
	} `json:"repositoryMetadata"`
}

func (c *codeCommit) repository(ctx context.Context, name string) (r codeCommitRepository, err error) {
	return r, c.codeCommit(ctx, "GetRepository", map[string]string{"repositoryName": name}, &r)
}

func (c *codeCommit) repositories(ctx context.Context, protocol string) ([]generator.Repository, error) {
	names, err := c.names(ctx)
	if err != nil {
		return nil, err
	}
	list := make([]codeCommitRepository, len(names))
	err = each(ctx, len(names), func(ctx context.Context, i int) (err error) {
		list[i], err = c.repository(ctx, names[i])
		return err
	})
	if err != nil {
		return nil, err
	}
	var out []generator.Repository
	for _, r := range list {
		m := r.Metadata
		if m.DefaultBranch == "" {
			continue // it is empty
		}
		address, err := codeCommitURL(protocol, m.SSH, m.HTTP)
		if err != nil {
			return nil, err
		}
		out = append(out, generator.Repository{
			Organization: m.Account, Repository: m.Name, URL: address, Branch: m.DefaultBranch,
			Labels: []string{}, ID: m.ID,
		})
	}
	return out, nil
}

func codeCommitURL(protocol, ssh, https string) (string, error) {
	if protocol != "https-fips" {
		return protocolURL(protocol, ssh, https)
	}
	const plain, fips = "https://git-codecommit.", "https://git-codecommit-fips."
	if strings.HasPrefix(https, fips) {
		return https, nil
	}
	rest, ok := strings.CutPrefix(https, plain)
	if !ok {
		return "", fmt.Errorf("cloneProtocol https-fips: %q has no FIPS endpoint", https)
	}
	return fips + rest, nil
}

func (c *codeCommit) branches(ctx context.Context, r generator.Repository) ([]generator.Branch, error) {
	if !c.AllBranches {
		now, err := c.repository(ctx, r.Repository)
		return []generator.Branch{{Name: now.Metadata.DefaultBranch}}, err
	}
	var out []generator.Branch
	err := tokens(func(token string) (string, error) {
		var list struct {
			NextToken string   `json:"nextToken"`
			Branches  []string `json:"branches"`
		}
		err := c.codeCommit(ctx, "ListBranches", withToken("nextToken", token, map[string]any{"repositoryName": r.Repository}), &list)
		for _, name := range list.Branches {
			out = append(out, generator.Branch{Name: name})
		}
		return list.NextToken, errors.Join(err, tooMany(len(out), maxBranches, "branches"))
	})
	return out, err
}

// hasPath looks into the folder above, which has files, folders, links and submodules.
func (c *codeCommit) hasPath(ctx context.Context, r generator.Repository, name string) (bool, error) {
	if !strings.HasPrefix(name, "/") {
		name = path.Join("/", name)
	}
	if name == "/" {
		return true, nil
	}
	name = strings.TrimSuffix(name, "/")
	type entries []struct {
		Path string `json:"relativePath"`
	}
	var folder struct {
		Modules entries `json:"subModules"`
		Folders entries `json:"subFolders"`
		Files   entries `json:"files"`
		Links   entries `json:"symbolicLinks"`
	}
	err := c.codeCommit(ctx, "GetFolder", map[string]string{
		"commitSpecifier": r.Branch, "folderPath": path.Dir(name),
		"repositoryName": r.Repository,
	}, &folder)
	var answered *AWSError
	if errors.As(err, &answered) && slices.Contains([]string{
		"RepositoryDoesNotExistException", "CommitDoesNotExistException",
		"FolderDoesNotExistException",
	}, answered.Code) {
		return false, nil
	}
	for _, e := range slices.Concat(folder.Modules, folder.Folders, folder.Files, folder.Links) {
		if e.Path == path.Base(name) {
			return true, err
		}
	}
	return false, err
}
