package gitsource

import "github.com/argosy-cd/argosy/internal/giturl"

// Key is giturl.Key.
func Key(repoURL string) string { return giturl.Key(repoURL) }

// Redact is giturl.Redact.
func Redact(repoURL string) string { return giturl.Redact(repoURL) }
