package option

import (
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/argo"
	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/kube"
	"github.com/argosy-cd/argosy/internal/sidecar"
)

// AppSetPlugin are the flags of the appset plugin, however it is run.
type AppSetPlugin struct {
	Engine
	Cluster
	admins []string
	APIs   APIs
}

// Register adds the flags.
func (o *AppSetPlugin) Register(flags *pflag.FlagSet) {
	o.Engine.Register(flags)
	flags.StringSliceVar(&o.admins, "admin-projects", []string{argo.DefaultProject}, Usage("admin-projects"))
	o.Cluster.Register(flags)
	o.APIs.Register(flags)
}

// ArgoCD is the installation that plugins work for, in a cluster; nil is none.
func (o *AppSetPlugin) ArgoCD(api *kube.Client) sidecar.ArgoCD {
	return sidecar.ArgoCD{API: api, Namespace: api.ArgoCD(o.Namespace), Admins: o.admins}
}

// PluginConfig returns the configuration of the plugin. If it is not served, its engine is not opened.
func (o *AppSetPlugin) PluginConfig(std cli.Std, served bool) (cfg sidecar.AppSetConfig, err error) {
	cfg = sidecar.AppSetConfig{Version: o.Version.Version, APIs: o.APIs.config(std), Env: std.Env, Now: std.Now}
	if !served {
		return cfg, nil
	}
	cfg.Server, cfg.Installed, err = o.OpenPlugin(std.Getenv(TokenVariable))
	return cfg, err
}
