package option

import (
	"time"

	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/cli"
	"github.com/argosy-cd/argosy/internal/serve"
)

// Server are the flags of a server.
type Server struct {
	listen, cert, key string
	// Log is the format of the log.
	Log cli.Choice
}

// Register adds the flags, with the address to listen on by default.
func (o *Server) Register(flags *pflag.FlagSet, address string) {
	flags.StringVar(&o.listen, "listen", address, "`ADDRESS` to listen on")
	flags.StringVar(&o.cert, "tls-cert", "", "`FILE` with a certificate, to speak TLS; it is read again when it is renewed")
	flags.StringVar(&o.key, "tls-key", "", "`FILE` with the key of --tls-cert")
	RegisterLog(flags, &o.Log)
}

// RegisterLog adds the flag for how a server writes its log.
func RegisterLog(flags *pflag.FlagSet, format *cli.Choice) {
	*format = cli.OneOf("text", "json")
	flags.Var(format, "log-format", "format of the log, "+format.Usage())
}

// Config says where and how to serve; running requests may take so long when the server stops.
func (o *Server) Config(grace time.Duration) serve.Config {
	return serve.Config{Address: o.listen, Cert: o.cert, Key: o.key, Grace: grace}
}
