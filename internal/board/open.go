package board

import (
	"strings"

	"github.com/argosy-cd/argosy/internal/problem"
)

// Who are the flags that say who may look. At most one of TokenFile, Header and ArgoCD may be set.
type Who struct {
	// TokenFile has a token that viewers must know.
	TokenFile string
	// Header is set by a proxy that is in one of the networks Proxies.
	Header  string
	Proxies []string
	// ArgoCD is the URL of an Argo CD whose login and rights count.
	ArgoCD string
}

// Access is nil if nothing is set.
func (w Who) Access(secure bool, argocd func(url string) (Access, error)) (Access, error) {
	var set []string
	for _, flag := range [][2]string{{"--token-file", w.TokenFile}, {"--trusted-header", w.Header}, {"--argocd", w.ArgoCD}} {
		if flag[1] != "" {
			set = append(set, flag[0])
		}
	}
	switch {
	case len(set) > 1:
		return nil, problem.Usagef("%s exclude each other", strings.Join(set, ", "))
	case len(w.Proxies) > 0 && w.Header == "":
		return nil, problem.Usagef("--trusted-proxies goes with --trusted-header")
	case w.TokenFile != "":
		return WithToken(w.TokenFile, secure)
	case w.Header != "":
		return WithHeader(w.Header, w.Proxies)
	case w.ArgoCD != "":
		return argocd(w.ArgoCD)
	}
	return nil, nil
}
