package scm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/argosy-cd/argosy/internal/appset/generator"
	"github.com/argosy-cd/argosy/internal/secret"
)

// plugin asks a plugin (applicationset/generators/plugin.go and services/plugin, v3.2.11).
type plugin struct{ *host }

// maxPluginTimeout bounds requestTimeout of a ConfigMap.
const maxPluginTimeout = 5 * time.Minute

type pluginSpec struct {
	ConfigMap  string          `json:"configMap"`
	Parameters json.RawMessage `json:"parameters"`
}

// openPlugin reads the ConfigMap and the token of a plugin, both in Argo CD's namespace.
func (a *Asker) openPlugin(ctx context.Context, q generator.Question) (service, error) {
	var s pluginSpec
	if err := json.Unmarshal(q.Spec, &s); err != nil {
		return nil, errors.New("the question is not valid")
	}
	if err := a.allow(Target{Resource: "configmap/" + s.ConfigMap, Namespace: a.Namespace}); err != nil {
		return nil, err
	}
	data, err := a.configMap(ctx, a.Namespace, s.ConfigMap)
	if err != nil {
		return nil, err
	}
	for _, key := range []string{"baseUrl", "token"} {
		if data[key] == "" {
			return nil, fmt.Errorf("the ConfigMap %s has no %s", s.ConfigMap, key)
		}
	}
	conn := connection{base: data["baseUrl"]}
	if text, ok := data["requestTimeout"]; ok {
		seconds, err := strconv.Atoi(text)
		if err != nil || seconds < 0 {
			return nil, fmt.Errorf("the ConfigMap %s: requestTimeout must be a number of seconds, it is %q", s.ConfigMap, text)
		}
		conn.timeout = min(time.Duration(seconds)*time.Second, maxPluginTimeout)
	}
	token, err := a.pluginToken(ctx, s.ConfigMap, data["token"])
	if err != nil {
		return nil, err
	}
	h, err := a.Client.host(conn)
	if err != nil {
		return nil, fmt.Errorf("the ConfigMap %s: baseUrl: %w", s.ConfigMap, err)
	}
	h.authorize("Authorization", "Bearer ", token)
	return &plugin{h}, nil
}

// pluginToken reads the token that a ConfigMap refers to: $SECRET:KEY, or $KEY of the Secret argocd-secret.
func (a *Asker) pluginToken(ctx context.Context, configMap, ref string) (secret.Text, error) {
	text, ok := strings.CutPrefix(ref, "$")
	if !ok {
		return secret.Text{}, fmt.Errorf("the ConfigMap %s: token must refer to a key of a Secret, as in $secret:key", configMap)
	}
	name, key, ok := strings.Cut(text, ":")
	if !ok {
		name, key = "argocd-secret", text
	}
	s, err := a.secret(ctx, a.Namespace, name)
	if err != nil {
		return secret.Text{}, err
	}
	token, ok := s.Data[key]
	if !ok {
		return secret.Text{}, fmt.Errorf("the Secret %s has no key %q", name, key)
	}
	return secret.New(strings.TrimSpace(token.Reveal())), nil
}

func (p *plugin) answer(ctx context.Context, q generator.Question) (*generator.Answer, error) {
	var s pluginSpec
	if err := json.Unmarshal(q.Spec, &s); err != nil {
		return nil, errors.New("the question is not valid")
	}
	input := map[string]any{}
	if len(s.Parameters) > 0 {
		input["parameters"] = s.Parameters
	}
	body, err := json.Marshal(map[string]any{"applicationSetName": q.Set.Name, "input": input})
	if err != nil {
		return nil, err
	}
	u, err := p.at("api/v1/getparams.execute", nil)
	if err != nil {
		return nil, err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, u.String(), bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", "application/json")
	_, data, err := p.send(req, false)
	if err != nil {
		return nil, err
	}
	var out struct {
		Output struct {
			Parameters []map[string]any `json:"parameters"`
		} `json:"output"`
	}
	if len(bytes.TrimSpace(data)) > 0 {
		if err := p.decode(u.Path, data, &out); err != nil {
			return nil, err
		}
	}
	return &generator.Answer{Parameters: out.Output.Parameters}, tooMany(len(out.Output.Parameters), maxParameters, "sets of parameters")
}
