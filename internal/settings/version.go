package settings

import (
	"path"
	"regexp"
	"strings"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// imageName is the name of Argo CD's own image, in any registry.
const imageName = "argocd"

// VersionOf returns the version of Argo CD that an object deploys, such as v3.4.2: by the image of a Deployment or a StatefulSet, or by an
// ArgoCD resource of the operator. It is "" for other objects, and for an image without a version in its tag.
func VersionOf(o manifest.Object) string {
	switch kind := manifest.String(o, "kind"); {
	case manifest.Group(o) == "apps" && (kind == "Deployment" || kind == "StatefulSet"):
		return VersionOfPod(manifest.Map(o, "spec", "template", "spec"))
	case manifest.Group(o) == argo.Group && kind == "ArgoCD":
		return tag(manifest.String(o, "spec", "version"))
	}
	return ""
}

// VersionOfPod returns the version of Argo CD that the spec of a Pod runs, by the images of its containers; "" is not known.
func VersionOfPod(spec map[string]any) string {
	for _, container := range manifest.Maps(spec["containers"]) {
		if v := imageVersion(manifest.String(container, "image")); v != "" {
			return v
		}
	}
	return ""
}

// imageVersion returns the version in the tag of an image of Argo CD.
func imageVersion(image string) string {
	image, _, _ = strings.Cut(image, "@")
	name, version, _ := strings.Cut(path.Base(image), ":")
	if name != imageName {
		return ""
	}
	return tag(version)
}

var tagPattern = regexp.MustCompile(`^v?\d+\.\d+(\.\d+)?([-+].*)?$`)

// tag returns a tag that is a version, or "".
func tag(s string) string {
	if tagPattern.MatchString(s) {
		return s
	}
	return ""
}

// VersionOfValues returns the version of Argo CD in values of the chart argo-cd, or of one that depends on it; "" if they leave it to the
// chart.
func VersionOfValues(values map[string]any) string {
	for _, v := range []map[string]any{values, manifest.Map(values, chartName), manifest.Map(values, "argocd")} {
		if t := tag(manifest.String(v, "global", "image", "tag")); t != "" {
			return t
		}
	}
	return ""
}

// VersionOfApplication returns the version of Argo CD that an Application names: in its values for the chart argo-cd, or as the revision of
// Argo CD's own repository. Value files are not read.
func VersionOfApplication(app manifest.Object) string {
	for _, source := range argo.Deployed(app) {
		if repositoryPattern.MatchString(manifest.String(source, "repoURL")) {
			if v := tag(manifest.String(source, "targetRevision")); v != "" {
				return v
			}
		}
		if !isChart(source) {
			continue
		}
		helm := manifest.Map(source, "helm")
		parameters, _ := helm["parameters"].([]any)
		for _, item := range parameters {
			if p, _ := item.(map[string]any); manifest.String(p, "name") == "global.image.tag" {
				return tag(manifest.String(p, "value"))
			}
		}
		values, _ := inline(helm) // the renderer reports the error
		if v := VersionOfValues(values); v != "" {
			return v
		}
	}
	return ""
}

var (
	repositoryPattern = regexp.MustCompile(`^(https://|ssh://git@|git@)github\.com[/:]argoproj/argo-cd(\.git)?/?$`)
	basePattern       = regexp.MustCompile(`github\.com[/:]argoproj/argo-cd(?:\.git)?(?:/[^\s?]*)?\?(?:\S*&)?(?:ref|version)=([^&\s"':,]+)`)
	rawPattern        = regexp.MustCompile(`raw\.githubusercontent\.com/argoproj/argo-cd/(?:refs/tags/)?([^/\s]+)/manifests/`)
)

// VersionOfBase returns the version of Argo CD in a text that names a remote base of a Kustomization in Argo CD's own repository.
func VersionOfBase(text string) string {
	for _, pattern := range []*regexp.Regexp{basePattern, rawPattern} {
		if m := pattern.FindStringSubmatch(text); m != nil {
			return tag(m[1])
		}
	}
	return ""
}
