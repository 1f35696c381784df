package render

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	helmchart "helm.sh/helm/v4/pkg/chart/v2"
	chartutil "helm.sh/helm/v4/pkg/chart/v2/util"

	"github.com/argosy-cd/argosy/internal/tree"
)

// CheckLock refuses a lock file that was not made for the dependencies of its chart, as "helm dependency build" does.
func CheckLock(files []tree.File) error {
	c, err := readChart(files, plainOptions)
	if err != nil || c.Lock == nil {
		return err
	}
	// Only the settings of Argo CD know what a named repository is.
	named := func(d *helmchart.Dependency) bool {
		return strings.HasPrefix(d.Repository, "@") || strings.HasPrefix(d.Repository, "alias:")
	}
	if slices.ContainsFunc(c.Metadata.Dependencies, named) {
		return nil
	}
	if digest([2][]*helmchart.Dependency{c.Metadata.Dependencies, c.Lock.Dependencies}) == c.Lock.Digest {
		return nil
	}
	if c.Metadata.APIVersion != helmchart.APIVersionV1 {
		return errors.New("the lock file (Chart.lock) is out of sync with the dependencies; run \"helm dependency update\"")
	}
	if digest(map[string][]*helmchart.Dependency{"dependencies": c.Metadata.Dependencies}) != c.Lock.Digest {
		return errors.New("the lock file (requirements.lock) is out of sync with requirements.yaml; run \"helm dependency update\"")
	}
	return nil
}

// plainOptions call files by their names.
var plainOptions = Options{URL: func(name string) string { return name }}

func digest(v any) string {
	data, err := json.Marshal(v)
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(data)
	return "sha256:" + hex.EncodeToString(sum[:])
}

// CheckVersion refuses a chart that is not of the wanted version, which may be a constraint.
func CheckVersion(files []tree.File, version string) error {
	c, err := readChart(files, plainOptions)
	if err != nil {
		return err
	}
	if !chartutil.IsCompatibleRange(version, c.Metadata.Version) {
		return fmt.Errorf("the chart there has version %s", c.Metadata.Version)
	}
	return nil
}
