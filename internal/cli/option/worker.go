package option

import (
	"github.com/spf13/pflag"

	"github.com/argosy-cd/argosy/internal/sidecar"
)

// RegisterWorkers adds the flags about workers.
func RegisterWorkers(o *sidecar.Workers, flags *pflag.FlagSet) {
	o.Args = []string{"argosy", WorkerCommand}
	flags.IntVar(&o.Number, "workers", -1,
		"number of worker processes for templates, manifests and charts; 0: none, and one bad request can end the sidecar for all. "+
			"Default: twice --parallel, or four for each processor, as far as the memory of the container allows")
	flags.Int64Var(&o.Memory, "worker-memory", 0,
		"stop a worker that needs more memory than this, in `MIB`; default: its share of 60% of the container's memory, at most 512")
}

// WorkerCommand is the argument that starts this program as a worker. It is not for users.
const WorkerCommand = "worker"
