package main

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/health"
)

const versionsHead = `# Versions of Argo CD

Argosy knows Argo CD %s to %s. Where they differ, the answer differs. ` + "`--argocd-version`" + ` chooses one for ` +
	"`plan`, `lint`, `simulate`, `app render`,\n`demo`, `board`, `boot`, `appset generate`, `appset handover`, `health check` and `cmp`" + `.

| for | without the flag |
|---|---|
| ` + "`plan`, `lint`, `simulate`, `app render`, `demo`, `board`" +
	` | the version that the tree deploys into Argo CD's own namespace: by the image of a Deployment or StatefulSet, an ArgoCD resource, values of the argo-cd chart, or the address of a base in Argo CD's repository; else the newest. ` + "`-o json`" + ` says which, and where from. |
| ` + "`boot`" + ` | the version in the images of Argo CD's workloads; else as for ` + "`plan`" + ` |
| ` + "`appset generate` with files, `appset handover`, `health check`" + ` | the newest |
| ` + "`cmp`" + `, the sidecar | the version that the Argo CD API server reports, if ` + "`--argocd-server`" +
	` is set; until it has answered, that of ` + "`--argocd-version`" + `, else the newest. The log and the metric ` +
	"`argosy_cmp_argocd_version_info`" + ` say which. |

A version of Argo CD that is older or newer than these is treated as the nearest one, and a finding or the log says so. ` + "`--argocd-version` and `ARGOSY_ARGOCD_VERSION`" + ` accept only these versions.

## What is tested with what

| version | how |
|---|---|
| 3.2 | 3.2.11: its own code is compared with ours in ` + "`conformance/`" + `, its answers to all cases are held by ` + "`make test`" +
	`, and the end-to-end tests run on it |
| 3.3, 3.4 | the differences were read in the source of 3.3.18 and 3.4.12. The live tests ran on 3.3.14 and 3.4.7, and passed |
| 3.5 | 3.5.1: its answers to all cases are held by ` + "`make test`" + `. The live tests ran on it, and passed. The other end-to-end tests ran on it once, earlier. The list of health checks is that of 3.5.6. |

The live tests are those of ` + "`boot`, `why`, `status`, `wait` and `install`" + `: ` + "`TestBootCommand`, `TestBootCommandStops`, `TestBootUnwedge`, " +
	"`TestBootInstall`, `TestWhy`, `TestWhyPods`,\n`TestWhyHoldout`, `TestWhyUnseen`, `TestInstall` and `TestHealthScript`" + `. ` + "`make e2e-versions ARGOCD=DIR`" +
	` runs them with the Argo CD of a checkout of its repository. What differs there: since 3.5 Argo CD
has a health check for GatewayClass, so the lab accepts that of the example as its controller would.

## Differences
`

// TestReferenceVersions holds docs/versions.md to the differences. UPDATE=1 writes it.
func TestReferenceVersions(t *testing.T) {
	const file = "../../docs/versions.md"
	var b strings.Builder
	fmt.Fprintf(&b, versionsHead, versions.Oldest, versions.Newest)
	for _, area := range []string{"ApplicationSets", "health", "sync"} {
		fmt.Fprintf(&b, "\n### %s%s\n\n| since | what is so since then | what was so before | rule |\n|---|---|---|---|\n",
			strings.ToUpper(area[:1]), area[1:])
		for _, d := range versions.Differences() {
			if d.Area == area {
				fmt.Fprintf(&b, "| %s | %s | %s | `%s` |\n", d.Since, d.Means, d.Before, d.Name)
			}
		}
	}
	b.WriteString("\n### Health checks that Argo CD brings along\n\nA wave waits for objects of these kinds. Argosy knows which kinds they are, and does not run the scripts. `_` stands for any characters.\n\n| version | kinds | new | gone |\n|---|---|---|---|\n")
	var before []string
	for _, v := range versions.All() {
		now := health.BundledKinds(v)
		var added, gone []string
		if before != nil {
			added, gone = without(now, before), without(before, now)
		}
		fmt.Fprintf(&b, "| %s | %d | %s | %s |\n", v, len(now), strings.Join(added, ", "), strings.Join(gone, ", "))
		before = now
	}
	b.WriteString(`
### Not told apart

- The order of clusters in a list is random since 3.4; here it is that of their Secrets, with the local cluster last.
- Settings of a tool in the dry source of a hydrator, which Argo CD honours since 3.3, are honoured in all versions.
- Helm and Kustomize are those of this program, in all versions.
`)
	writtenPage(t, file, b.String())
}

// without returns what is in a and not in b.
func without(a, b []string) []string {
	var out []string
	for _, s := range a {
		if !slices.Contains(b, s) {
			out = append(out, "`"+s+"`")
		}
	}
	return out
}
