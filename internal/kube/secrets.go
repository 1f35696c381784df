package kube

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/gitremote"
	"github.com/argosy-cd/argosy/internal/manifest"
)

// Clusters implements generator.Clusters by Argo CD's Secrets.
func (c *Client) Clusters(ctx context.Context) ([]generator.Cluster, error) {
	list, err := c.secrets(ctx, argo.SecretCluster)
	if err != nil {
		return nil, err
	}
	docs := make([]manifest.Document, len(list))
	for i, o := range list {
		docs[i] = manifest.Document{Object: o, Position: manifest.Position{File: "Secret " + manifest.String(o, "metadata", "name")}}
	}
	return generator.SecretClusters(docs)
}

// Credentials returns Argo CD's credentials of repositories.
func (c *Client) Credentials(ctx context.Context) ([]gitremote.Credential, error) {
	list, err := c.secrets(ctx, argo.SecretRepository, argo.SecretRepoCreds)
	if err != nil {
		return nil, err
	}
	return gitremote.ParseCredentials(list), nil
}

// maxSecrets bounds a list. Argo CD itself becomes slow before.
const maxSecrets = 20_000

// secrets reads Argo CD's Secrets of some kinds.
func (c *Client) secrets(ctx context.Context, kinds ...argo.SecretType) ([]manifest.Object, error) {
	doing := "reading Argo CD's Secrets of " + join(kinds, " and ")
	if c.named == nil {
		out, err := c.listSecrets(ctx, doing, kinds)
		if errors.Is(err, ErrForbidden) {
			err = fmt.Errorf("%w; the right comes with deploy/kustomize/cmp-secrets", err)
		}
		return out, err
	}
	var out []manifest.Object
	for _, name := range c.named {
		o, err := c.api.Resource(secrets).Namespace(c.Namespace).Get(ctx, name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			continue
		}
		if err != nil {
			return nil, explain(doing, err)
		}
		if slices.Contains(kinds, argo.SecretTypeOf(o.Object)) {
			out = append(out, o.Object)
		}
	}
	return out, nil
}

func (c *Client) listSecrets(ctx context.Context, doing string, kinds []argo.SecretType) ([]manifest.Object, error) {
	options := metav1.ListOptions{LabelSelector: fmt.Sprintf("%s in (%s)", argo.SecretTypeLabel, join(kinds, ",")), Limit: 500}
	var out []manifest.Object
	for {
		list, err := c.api.Resource(secrets).Namespace(c.Namespace).List(ctx, options)
		if err != nil {
			return nil, explain(doing, err)
		}
		for _, o := range list.Items {
			out = append(out, o.Object)
		}
		options.Continue = list.GetContinue()
		if options.Continue == "" {
			return out, nil
		}
		if len(out) > maxSecrets {
			return nil, fmt.Errorf("there are more than %d Secrets of Argo CD", maxSecrets)
		}
	}
}

func join(kinds []argo.SecretType, separator string) string {
	var names []string
	for _, kind := range kinds {
		names = append(names, string(kind))
	}
	return strings.Join(names, separator)
}

// KnownHosts returns the keys of SSH servers that Argo CD trusts.
func (c *Client) KnownHosts(ctx context.Context) ([]byte, error) {
	data, err := c.configMap(ctx, "argocd-ssh-known-hosts-cm")
	return []byte(data["ssh_known_hosts"]), err
}

// CA returns the certificates that Argo CD trusts for a host; none is the system's.
func (c *Client) CA(ctx context.Context, host string) ([]byte, error) {
	data, err := c.configMap(ctx, "argocd-tls-certs-cm")
	return []byte(data[host]), err
}

func (c *Client) configMap(ctx context.Context, name string) (map[string]string, error) {
	o, err := c.api.Resource(configMaps).Namespace(c.Namespace).Get(ctx, name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, explain("reading ConfigMap "+name, err)
	}
	out := map[string]string{} // not nil: it is there
	for key, value := range manifest.Map(o.Object, "data") {
		out[key], _ = value.(string)
	}
	return out, nil
}
