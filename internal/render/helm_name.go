package render

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/argosy-cd/argosy/internal/appset/template"
)

// ErrName says that the template of a release's name uses a function whose result depends on the machine or differs each time.
var ErrName = errors.New("its functions are not available here")

// ReleaseName evaluates the name of a release as helm's --name-template: a template without parameters.
func ReleaseName(ctx context.Context, text string) (string, error) {
	if !strings.Contains(text, "{{") {
		return text, nil
	}
	engine, err := template.New(template.Config{Go: true})
	if err != nil {
		return "", err
	}
	compiled, err := engine.Compile("release name", text)
	if err == nil {
		text, err = compiled.RenderString(ctx, map[string]any{})
	}
	var cause *template.Error
	if errors.As(err, &cause) && (cause.Cause == template.Undefined || cause.Cause == template.Different) {
		return "", fmt.Errorf("%w; %w", err, ErrName)
	}
	return text, err
}
