package edit

import (
	"context"
	"io"
	"os"
	"slices"
	"time"

	"github.com/argosy-cd/argosy/internal/appset/convert"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/problem"
)

// Styles of the conversion.
const (
	StyleApplication = "application" // sets to Applications that use the plugin
	StyleFolder      = "folder"      // root Applications that deploy sets get the plugin
	StyleSet         = "set"         // sets to sets with Go templates
)

// Sets converts ApplicationSets in files into Applications that use the plugin, or back, as argosy appset convert does.
type Sets struct {
	convert.Options
	Style string
	// Reverse is the way back.
	Reverse bool
	// GoTemplate rewrites sets to Go templates, proven by Render.
	GoTemplate bool
	Render     convert.Render
	// InFolder returns the sets in the folder of a source, for StyleFolder.
	InFolder func(source map[string]any) ([]manifest.Object, error)
	// Write replaces the files; otherwise the result is printed.
	Write bool
	// Recursive reads subdirectories, too.
	Recursive bool
	Stdin     io.Reader
	Out       io.Writer
	// Note and Warn are called with notes and warnings for the user.
	Note, Warn func(line string)
}

// Check refuses files and settings that exclude each other. It does not need Render and the fields behind it.
func (s Sets) Check(args []string) error {
	switch {
	case len(args) == 0:
		return problem.Usagef("a file, a directory or - is needed")
	case s.Write && slices.Contains(args, "-"):
		return problem.Usagef("--write needs files; standard input cannot be replaced")
	case s.Reverse && s.GoTemplate:
		return problem.Usagef("--go-template and --reverse exclude each other")
	case s.Style == StyleFolder && (s.GoTemplate || s.Git):
		return problem.Usagef("--style folder does not change the sets, and excludes --go-template and --source git")
	case s.Style == StyleSet && !s.GoTemplate:
		return problem.Usagef("--style set requires --go-template")
	case s.Every < time.Second:
		return problem.Usagef("--every must be at least 1s")
	}
	for _, arg := range args {
		if info, err := os.Stat(arg); s.Style == StyleFolder && err == nil && info.IsDir() {
			return problem.Usagef("--style folder: %s is a directory; name the files of the root Applications", arg)
		}
	}
	return nil
}

// Run converts files and directories: all of them, or none and an error.
func (s Sets) Run(ctx context.Context, args []string) error {
	c := Conversion{Write: s.Write, Recursive: s.Recursive, Stdin: s.Stdin, Out: s.Out, Warn: s.Warn, Namespace: s.Namespace}
	switch {
	case s.Style == StyleFolder && s.Reverse:
		c.Change, c.Becomes, c.Already = convert.ReverseFolder, "without the plugin now", "without the plugin"
		c.Nothing = "no Application found that uses the plugin"
	case s.Style == StyleFolder:
		s.Note("if the controller renders these sets already, run argosy appset handover --folder before you commit this: a sync " +
			"would prune the sets, and their Applications with them")
		c.Change = func(file string, data []byte) (*convert.Result, error) { return convert.Folder(file, data, s.InFolder) }
		c.Becomes, c.Already = "rendered by the plugin now", "rendered by the plugin"
		c.Nothing = "no Application found that does not use the plugin yet"
	case s.Reverse:
		c.Change, c.Becomes, c.Already = convert.Reverse, "an ApplicationSet now", "an ApplicationSet"
		c.Nothing = "no Application found that has a set in the plugin's parameter"
	case s.Style == StyleSet:
		c.Change, c.Becomes, c.Already = s.WithGoTemplates(ctx, s.Render, true), "rewritten to Go templates", "a Go template"
		c.Nothing = "no ApplicationSet found in the older template mode"
	default:
		c.Change, c.Becomes, c.Already = s.File, "an Application now", "an Application that uses the plugin"
		c.Nothing, c.Unique = "no ApplicationSet found", true
		if s.GoTemplate {
			c.Change = s.WithGoTemplates(ctx, s.Render, false)
		}
	}
	return c.Run(args)
}
