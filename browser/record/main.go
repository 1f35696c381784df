// Command record writes a recording of a boot that never happened, for pictures.
package main

import (
	"flag"
	"fmt"
	"os"

	"github.com/argosy-cd/argosy/browser/boot"
)

func main() {
	o := boot.Options{}
	flag.IntVar(&o.Apps, "apps", 100, "Applications")
	flag.IntVar(&o.Waves, "waves", 6, "waves")
	flag.IntVar(&o.Done, "done", 3, "waves that are healthy")
	flag.IntVar(&o.Fail, "fail", -1, "number of an Application that fails")
	flag.Parse()
	if err := boot.Write(os.Stdout, o); err != nil {
		fmt.Fprintln(os.Stderr, "error:", err)
		os.Exit(1)
	}
}
