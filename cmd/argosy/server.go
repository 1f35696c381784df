package main

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/serve"
)

// serverOptions are the flags of a server.
type serverOptions struct {
	listen, cert, key string
	log               formatFlag
}

func (o *serverOptions) register(flags *pflag.FlagSet, address string) {
	flags.StringVar(&o.listen, "listen", address, "`ADDRESS` to listen on")
	flags.StringVar(&o.cert, "tls-cert", "", "`FILE` with a certificate, to speak TLS; it is read again when it is renewed")
	flags.StringVar(&o.key, "tls-key", "", "`FILE` with its key")
	registerLog(flags, &o.log)
}

// registerLog adds the flag for how a server writes its log.
func registerLog(flags *pflag.FlagSet, format *formatFlag) {
	*format = formatFlag{value: "text", allowed: []string{"text", "json"}}
	flags.Var(format, "log-format", "format of the log, "+format.usage())
}

// config says where and how to serve; running requests may take so long when the server stops.
func (o *serverOptions) config(grace time.Duration) serve.Config {
	return serve.Config{Address: o.listen, Cert: o.cert, Key: o.key, Grace: grace}
}
