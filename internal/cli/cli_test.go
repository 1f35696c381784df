package cli_test

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/argo/versions"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/problem"
)

func TestSettings(t *testing.T) {
	table := cli.Table([][3]string{{"timeout", "X_TIMEOUT", "give up"}, {"argocd-version", "X_VERSION", "`VERSION`"}, {"timeout", "Y_TIMEOUT", ""}, {"hosts", "X_HOSTS", ""}})
	if got, want := table.Usage("timeout"), "give up ($X_TIMEOUT)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	for name, c := range map[string]struct {
		env  map[string]string
		args []string
		want time.Duration
		err  string
	}{
		"nothing":          {want: time.Minute},
		"a variable":       {env: map[string]string{"X_TIMEOUT": "5s"}, want: 5 * time.Second},
		"a flag wins":      {env: map[string]string{"X_TIMEOUT": "5s"}, args: []string{"--timeout", "7s"}, want: 7 * time.Second},
		"no duration":      {env: map[string]string{"X_TIMEOUT": "soon"}, err: `variable X_TIMEOUT: "soon" is not a duration such as 45s`},
		"no known version": {env: map[string]string{"X_VERSION": "1.0"}, err: `variable X_VERSION: "1.0" is not a version of Argo CD that is known, ` + versions.Range()},
	} {
		t.Run(name, func(t *testing.T) {
			var flags pflag.FlagSet
			var version versions.Flag
			timeout := flags.Duration("timeout", time.Minute, "")
			flags.Var(&version, "argocd-version", "")
			flags.StringSlice("hosts", nil, "")
			if err := flags.Parse(c.args); err != nil {
				t.Fatal(err)
			}
			err := table.Fill(&flags, func(name string) string { return c.env[name] })
			var usage problem.UsageError
			switch {
			case c.err != "":
				if !errors.As(err, &usage) || err.Error() != c.err {
					t.Errorf("got %v, want %s", err, c.err)
				}
			case err != nil || *timeout != c.want:
				t.Errorf("got %s, %v", *timeout, err)
			}
		})
	}
}

// TestSettingsLists: variables have lists as Argo CD's settings have them.
func TestSettingsLists(t *testing.T) {
	table := cli.Table([][3]string{{"hosts", "X_HOSTS", ""}})
	for value, want := range map[string]string{
		"": "[default]", " , ": "[default]", "a": "[a]", "a,b": "[a b]", "a, b": "[a b]", " a ,\n b,\n": "[a b]", "team-*,": "[team-*]",
	} {
		var flags pflag.FlagSet
		hosts := flags.StringSlice("hosts", []string{"default"}, "")
		if err := table.Fill(&flags, func(string) string { return value }); err != nil || fmt.Sprint(*hosts) != want {
			t.Errorf("%q: got %q, %v, want %s", value, *hosts, err, want)
		}
	}
}

// TestLine is the command again, for a shell and for others to see.
func TestLine(t *testing.T) {
	cmd := &cobra.Command{Use: "plan"}
	cmd.Flags().String("output", "", "")
	cmd.Flags().Bool("all", false, "")
	cmd.Flags().StringArray("repo", nil, "")
	cmd.Flags().String("diff", "", "")
	if err := cmd.ParseFlags([]string{"--output", "markdown", "--all", "--repo", "https://me:pass@git.example.com/x=a b", "--diff", "main"}); err != nil {
		t.Fatal(err)
	}
	got := cli.Line(cmd, []string{"root.yaml"}, []string{"output"}, []string{"--manifests"})
	if want := `plan --all --diff=main --repo 'https://git.example.com/x=a b' --manifests root.yaml`; got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if got := cli.Line(cmd, make([]string, 3000), nil, nil); got != "" {
		t.Errorf("too long: %d bytes", len(got))
	}
}

func TestDumb(t *testing.T) {
	for term, want := range map[string]bool{"TERM=xterm": false, "TERM=dumb": true, "TERM=": true, "OTHER=xterm": true} {
		if got := (cli.Std{Env: environ.New(term)}).Dumb(); got != want {
			t.Errorf("%s: %v", term, got)
		}
	}
}
