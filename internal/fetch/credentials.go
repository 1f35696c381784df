package fetch

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"runtime"
	"strings"

	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/credentials"

	"github.com/argosy-cd/argosy/internal/environ"
	"github.com/argosy-cd/argosy/internal/giturl"
	"github.com/argosy-cd/argosy/internal/manifest"
	"github.com/argosy-cd/argosy/internal/secret"
)

// maxConfig bounds the user's own configuration files.
const maxConfig = 4 << 20

// environment knows where an environment has the files of other programs.
type environment struct{ environ.Environ }

func (e environment) home() string {
	if runtime.GOOS == "windows" {
		return e.Get("USERPROFILE")
	}
	return e.Get("HOME")
}

// helmConfig returns the path of one of Helm's configuration files, "" without a home.
func (e environment) helmConfig(variable string, name ...string) string {
	if e.Get(variable) != "" {
		return e.Get(variable)
	}
	var dir string
	switch {
	case e.Get("HELM_CONFIG_HOME") != "":
		dir = e.Get("HELM_CONFIG_HOME")
	case e.Get("XDG_CONFIG_HOME") != "":
		dir = filepath.Join(e.Get("XDG_CONFIG_HOME"), "helm")
	case runtime.GOOS == "windows" && e.Get("APPDATA") != "":
		dir = filepath.Join(e.Get("APPDATA"), "helm")
	case e.home() == "":
		return ""
	case runtime.GOOS == "darwin":
		dir = filepath.Join(e.home(), "Library", "Preferences", "helm")
	default:
		dir = filepath.Join(e.home(), ".config", "helm")
	}
	return filepath.Join(append([]string{dir}, name...)...)
}

func (e environment) dockerConfig() string {
	if e.Get("DOCKER_CONFIG") != "" {
		return filepath.Join(e.Get("DOCKER_CONFIG"), "config.json")
	}
	if e.home() == "" {
		return ""
	}
	return filepath.Join(e.home(), ".docker", "config.json")
}

// helmRepository is an entry of repositories.yaml.
type helmRepository struct {
	Name     string      `json:"name"`
	URL      string      `json:"url"`
	Username string      `json:"username"`
	Password secret.Text `json:"password"`
	CertFile string      `json:"certFile"`
	KeyFile  string      `json:"keyFile"`
	CAFile   string      `json:"caFile"`
	Insecure bool        `json:"insecure_skip_tls_verify"`
	PassAll  bool        `json:"pass_credentials_all"`
}

func (f *Fetcher) repositoriesPath() string {
	return f.env.helmConfig("HELM_REPOSITORY_CONFIG", "repositories.yaml")
}

func (f *Fetcher) readRepositories() ([]helmRepository, error) {
	path := f.repositoriesPath()
	data, err := readConfig(path)
	if err != nil || data == nil {
		return nil, err
	}
	var file struct {
		Repositories []helmRepository `json:"repositories"`
	}
	if manifest.Unmarshal(data, &file) != nil {
		// The decoder's own words may quote a password.
		return nil, fmt.Errorf("reading %s: not a list of Helm repositories", path)
	}
	return file.Repositories, nil
}

// readConfig reads a file of the user, nil if there is none.
func readConfig(path string) ([]byte, error) {
	if path == "" {
		return nil, nil
	}
	file, err := os.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, maxConfig+1))
	if err != nil {
		return nil, err
	}
	if len(data) > maxConfig {
		return nil, fmt.Errorf("reading %s: over the limit of %d MiB", path, maxConfig>>20)
	}
	return data, nil
}

// namedRepository finds a repository by its name in repositories.yaml.
func (f *Fetcher) namedRepository(name string) (*helmRepository, error) {
	all, err := f.repositories()
	if err != nil {
		return nil, err
	}
	for i := range all {
		if all[i].Name == name {
			return &all[i], nil
		}
	}
	return nil, fmt.Errorf(`repository %q is not in Helm's repositories.yaml; add it with "helm repo add"`, name)
}

// helmRepositoryFor finds the entry whose URL is that of a repository or above it, the longest one. Nil is none.
func (f *Fetcher) helmRepositoryFor(u *url.URL) (*helmRepository, error) {
	all, err := f.repositories()
	if err != nil {
		return nil, err
	}
	var best *helmRepository
	longest := -1
	for i := range all {
		e, err := url.Parse(all[i].URL)
		if err != nil || giturl.Origin(e) != giturl.Origin(u) {
			continue
		}
		prefix := strings.TrimRight(e.Path, "/")
		if (u.Path == prefix || strings.HasPrefix(u.Path, prefix+"/")) && len(prefix) > longest {
			best, longest = &all[i], len(prefix)
		}
	}
	return best, nil
}

// readNetrc reads the user's netrc: host to login. A file that cannot be read is none.
func (f *Fetcher) readNetrc() map[string]login {
	path := f.env.Get("NETRC")
	if path == "" && f.env.home() != "" {
		path = filepath.Join(f.env.home(), ".netrc")
	}
	data, err := readConfig(path)
	if err != nil {
		f.noteOnce(fmt.Sprintf("reading %s: %s", path, oneLine(err.Error())))
	}
	return parseNetrc(string(data))
}

// parseNetrc reads machines with their logins. The first entry of a host counts; "default" and macros are left out.
func parseNetrc(text string) map[string]login {
	out := map[string]login{}
	words := strings.Fields(text)
	host, l := "", login{}
	keep := func() {
		if _, known := out[host]; host != "" && !known && l != (login{}) {
			out[host] = l
		}
		host, l = "", login{}
	}
	for i := 0; i < len(words); i++ {
		value := ""
		if i+1 < len(words) {
			value = words[i+1]
		}
		switch words[i] {
		case "machine":
			keep()
			host = value
			i++
		case "default", "macdef":
			keep()
		case "login":
			l.user = value
			i++
		case "password":
			l.password = secret.New(value)
			i++
		case "account":
			i++
		}
	}
	keep()
	return out
}

// keychain is a configuration file of registries, with the credential helpers that it names.
type keychain struct {
	path  string
	store credentials.Store
}

func (f *Fetcher) openKeychains() []keychain {
	var out []keychain
	for _, path := range []string{f.env.helmConfig("HELM_REGISTRY_CONFIG", "registry", "config.json"), f.env.dockerConfig()} {
		if path == "" {
			continue
		}
		store, err := credentials.NewStore(path, credentials.StoreOptions{})
		if err != nil {
			f.noteOnce(fmt.Sprintf("reading %s: not a configuration of registries; it is ignored", path))
			continue
		}
		out = append(out, keychain{path, store})
	}
	return out
}

// registryCredential finds the credential of a registry: that of Helm, then that of Docker. A helper that does not work
// is no error, since most registries serve charts to everybody.
func (f *Fetcher) registryCredential(ctx context.Context, host string) (auth.Credential, error) {
	for _, k := range f.keychains() {
		c, err := credentials.Credential(k.store)(ctx, host)
		if err != nil {
			if ctx.Err() != nil {
				return auth.EmptyCredential, context.Cause(ctx)
			}
			f.noteOnce(fmt.Sprintf("reading the credentials of %s by way of %s: %s; trying without", host, k.path, oneLine(err.Error())))
			continue
		}
		if c != auth.EmptyCredential {
			return c, nil
		}
	}
	return auth.EmptyCredential, nil
}
