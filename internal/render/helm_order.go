package render

import (
	"cmp"
	"slices"
	"strings"

	releaseutil "helm.sh/helm/v4/pkg/release/v1/util"

	"github.com/argosy-cd/argosy/internal/manifest"
)

// order brings the objects of templates into the order of helm template: hooks behind the others, each by kind, then by file.
func order(docs []manifest.Document) {
	place := func(d manifest.Document) (int, string) {
		kind := manifest.String(d.Object, "kind")
		if i := slices.Index(releaseutil.InstallOrder, kind); i >= 0 {
			return i, ""
		}
		return len(releaseutil.InstallOrder), kind
	}
	slices.SortStableFunc(docs, func(a, b manifest.Document) int {
		if isHook(a) != isHook(b) {
			if isHook(a) {
				return 1
			}
			return -1
		}
		i, kind := place(a)
		j, other := place(b)
		return cmp.Or(cmp.Compare(i, j), cmp.Compare(kind, other))
	})
}

// checkHeads refuses metadata of an object that helm template cannot read.
func checkHeads(docs []manifest.Document) error {
	for _, d := range docs {
		annotations := manifest.Map(d.Object, "metadata", "annotations")
		for _, name := range manifest.Keys(annotations) {
			switch v := annotations[name].(type) {
			case map[string]any, []any:
				return d.Errorf("metadata.annotations.%s: must be a string, it is %s", name, manifest.TypeName(v))
			}
		}
	}
	return nil
}

func isHook(d manifest.Document) bool {
	_, ok := manifest.Map(d.Object, "metadata", "annotations")["helm.sh/hook"].(string)
	return ok
}

// hookEvents are the hooks that helm template knows.
var hookEvents = []string{
	"pre-install", "post-install", "pre-delete", "post-delete", "pre-upgrade", "post-upgrade", "pre-rollback", "post-rollback", "test",
	"test-success",
}

// unknownHook reports whether helm template drops an object for its hook, such as crd-install of Helm 2.
func unknownHook(d manifest.Document) bool {
	events, ok := manifest.Map(d.Object, "metadata", "annotations")["helm.sh/hook"].(string)
	return ok && d.Item == "" && slices.ContainsFunc(strings.Split(events, ","), func(e string) bool {
		return !slices.Contains(hookEvents, strings.ToLower(strings.TrimSpace(e)))
	})
}

// isTest reports whether an object is a hook for "helm test" only.
func isTest(d manifest.Document) bool {
	for event := range strings.SplitSeq(manifest.String(d.Object, "metadata", "annotations", "helm.sh/hook"), ",") {
		switch strings.ToLower(strings.TrimSpace(event)) {
		case "test", "test-success":
			return true
		}
	}
	return false
}
