package argo

import (
	"cmp"
	"regexp"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// Revision is the same for all spellings of one revision: none is HEAD, and a branch may have its full name.
func Revision(revision string) string {
	if revision = strings.TrimSpace(revision); revision == "" {
		return "HEAD"
	}
	return strings.TrimPrefix(revision, "refs/heads/")
}

// TargetRevision is the revision of a source in Git as it is written, HEAD if there is none. A branch keeps its full name: a tag may have
// the short one.
func TargetRevision(source map[string]any) string {
	return cmp.Or(manifest.String(source, "targetRevision"), "HEAD")
}

var commit = regexp.MustCompile(`^[0-9a-f]{40}$`)

// IsCommit reports whether a revision is the full ID of a commit, which never moves.
func IsCommit(revision string) bool { return commit.MatchString(revision) }

// Names of our plugins in sources.
const (
	PluginAppSet = "appset"
	PluginS3     = "s3"
)

var pluginVersion = regexp.MustCompile(`^-v[0-9][-.0-9A-Za-z]*$`)

// IsPlugin reports whether a source's name of a plugin is one of ours, alone or with its version: appset, appset-v2.
func IsPlugin(name, ours string) bool {
	version, ok := strings.CutPrefix(name, ours)
	return ok && (version == "" || pluginVersion.MatchString(version))
}

// PluginParameter returns a string parameter of the plugin of a source, "" if it is not set.
func PluginParameter(plugin map[string]any, name string) string {
	list, _ := plugin["parameters"].([]any)
	for _, p := range list {
		m, _ := p.(map[string]any)
		if n, _ := m["name"].(string); n == name {
			text, _ := m["string"].(string)
			return text
		}
	}
	return ""
}
