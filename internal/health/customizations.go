package health

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
)

// customizationsPrefix starts the keys of argocd-cm that say how kinds of objects are treated.
const customizationsPrefix = "resource.customizations."

// Customizations are health checks by "group/Kind", or "Kind" for the core group; * stands for any characters. A kind that is customized
// in another way has an empty script.
type Customizations map[string]Script

// FromData reads the data of argocd-cm. Errors start with the key; the customizations are never nil and have all that is right.
func FromData(data map[string]any) (Customizations, error) {
	c := Customizations{}
	var errs []error
	for _, key := range manifest.Keys(data) {
		err := c.add(key, data[key])
		errs = append(errs, problem.Wrap(err, func(e error) error { return fmt.Errorf("%s: %w", key, e) }))
	}
	return c, errors.Join(errs...)
}

// Check reports the scripts that are not Lua, each by its key. It runs none of them.
func (c Customizations) Check() error {
	var errs []error
	for _, key := range manifest.Keys(c) {
		if err := c[key].compile(); err != nil {
			errs = append(errs, fmt.Errorf("health check %s: %w", key, err))
		}
	}
	return errors.Join(errs...)
}

func (c Customizations) add(key string, v any) error {
	if key == strings.TrimSuffix(customizationsPrefix, ".") {
		return c.addOlder(v)
	}
	rest, ok := strings.CutPrefix(key, customizationsPrefix)
	kind, name, both := strings.Cut(rest, ".")
	if !ok || !both {
		return nil
	}
	if slices.Contains([]string{"actions", "ignoreDifferences", "ignoreResourceUpdates", "knownTypeFields"}, kind) {
		name, err := groupKind(name)
		if err == nil {
			s := c[name]
			c[name] = s
		}
		return err
	}
	if kind != "health" && kind != "useOpenLibs" {
		return nil
	}
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("must be a string, it is %s", manifest.TypeName(v))
	}
	name, err := groupKind(name)
	if err != nil {
		return err
	}
	s := c[name]
	if kind == "health" {
		s.Health = text
	} else if s.OpenLibs, err = strconv.ParseBool(text); err != nil {
		return errors.New("must be true or false")
	}
	c[name] = s
	return nil
}

// groupKind turns group_Kind, as keys of a ConfigMap have it, into group/Kind.
func groupKind(s string) (string, error) {
	if s == "all" {
		return "*/*", nil
	}
	switch parts := strings.Split(s, "_"); len(parts) {
	case 1:
		return s, nil
	case 2:
		return parts[0] + "/" + parts[1], nil
	default:
		return "", fmt.Errorf("%q must be GROUP_KIND or KIND", s)
	}
}

// addOlder reads the combined form: a YAML text of group/Kind to settings.
func (c Customizations) addOlder(v any) error {
	text, ok := v.(string)
	if !ok {
		return fmt.Errorf("must be a string, it is %s", manifest.TypeName(v))
	}
	inner, err := manifest.Value([]byte(text))
	if err != nil {
		return err
	}
	if inner == nil {
		return nil
	}
	all, ok := inner.(map[string]any)
	if !ok {
		return fmt.Errorf("must be an object as YAML, it is %s", manifest.TypeName(inner))
	}
	var errs []error
	for _, name := range manifest.Keys(all) {
		settings, ok := all[name].(map[string]any)
		if !ok {
			errs = append(errs, fmt.Errorf("%s must be an object, it is %s", name, manifest.TypeName(all[name])))
			continue
		}
		s := Script{Health: manifest.String(settings, "health.lua")}
		s.OpenLibs, _ = settings["health.lua.useOpenLibs"].(bool)
		// The newer keys come later, and win.
		if have := c[name]; have.Health == "" {
			c[name] = s
		}
	}
	return errors.Join(errs...)
}

// Names reports whether the settings customize an object's kind in any way, not by a pattern.
func (c Customizations) Names(o manifest.Object) bool {
	_, ok := c[Kind(o)]
	return ok
}

// Kind is an object's "group/Kind", or "Kind".
func Kind(o manifest.Object) string {
	kind := manifest.String(o, "kind")
	if group := manifest.Group(o); group != "" {
		return group + "/" + kind
	}
	return kind
}

// Covers returns the key of the script for an object, "" if there is none.
func (c Customizations) Covers(o manifest.Object) (string, error) {
	key, _, err := c.find(o)
	return key, err
}

// find returns the script for an object: by its kind, or by the one pattern that matches.
func (c Customizations) find(o manifest.Object) (string, Script, error) {
	key := Kind(o)
	if s := c[key]; s.Health != "" {
		return key, s, nil
	}
	var matching []string
	for _, pattern := range manifest.Keys(c) {
		if c[pattern].Health != "" && wildcard(pattern, key) {
			matching = append(matching, pattern)
		}
	}
	matching = slices.Compact(matching)
	switch len(matching) {
	case 0:
		return "", Script{}, nil
	case 1:
		return matching[0], c[matching[0]], nil
	default:
		return "", Script{}, fmt.Errorf("%s: several patterns match, and Argo CD takes any of them: %s", key, strings.Join(matching, ", "))
	}
}

// wildcard matches * and ?, which also stand for slashes.
func wildcard(pattern, s string) bool {
	star, from := -1, 0 // the last * and what it stood for
	p, i := 0, 0
	for i < len(s) {
		switch {
		case p < len(pattern) && pattern[p] == '*':
			star, from = p, i
			p++
		case p < len(pattern) && (pattern[p] == '?' || pattern[p] == s[i]):
			p++
			i++
		case star >= 0:
			from++
			p, i = star+1, from
		default:
			return false
		}
	}
	return strings.Trim(pattern[p:], "*") == ""
}
