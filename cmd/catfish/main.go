// Command catfish serves, loads, searches and measures spatial indexes.
// Run catfish --help.
//
// It exits with 0 for success, 1 for a failure and 2 for bad usage; the
// reason stands on standard error.
package main

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/catfish-index/catfish/catfish"
)

// version is stamped by the build.
var version = ""

func main() {
	if version != "" {
		catfish.Version = version // Handshakes and Stats report it.
	}
	os.Exit(run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// run is main with its surroundings as parameters.
func run(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(),
		os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal requests an orderly end, a second one kills the process.
	context.AfterFunc(ctx, stop)
	root := newRoot(&app{in: in, out: out, err: errOut})
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	return exitCode(ctx, cmd, err, errOut)
}
