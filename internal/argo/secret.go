package argo

import "github.com/argosy-cd/argosy/internal/manifest"

// SecretTypeLabel says what a Secret of Argo CD describes.
const SecretTypeLabel = "argocd.argoproj.io/secret-type"

// SecretType is a value of SecretTypeLabel. "" is that of any other Secret.
type SecretType string

// Types of Secrets.
const (
	SecretCluster    SecretType = "cluster"
	SecretRepository SecretType = "repository"
	SecretRepoCreds  SecretType = "repo-creds" // credentials of all repositories below a URL
	SecretSCMCreds   SecretType = "scm-creds"  // tokens of generators
)

// SecretTypeOf returns the type of a Secret.
func SecretTypeOf(o manifest.Object) SecretType {
	return SecretType(manifest.String(o, "metadata", "labels", SecretTypeLabel))
}
