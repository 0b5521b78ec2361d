// Package cli has the commands of catfish. A program adds its own: catfish-bench those
// that measure.
//
//	root.go       the root command, and the helpers for flags that all commands share
//	elsewhere.go  commands of catfish-bench, which catfish hands over
//	errors.go     what is bad usage, hints, exit statuses
//	serve*.go     the server; http.go: its flags of HTTP; keys.go: its keys
//	client.go     the flags of all clients
//	progress*.go  bars
//
// All other files have one command each, or one concept of its flags.
package cli

import (
	"context"
	"io"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish/model"
)

// Program is a command line.
type Program struct {
	// Commands replace those of the same names, or are added.
	Commands func(*App) []*cobra.Command
	// BadUsage are errors of those commands about flags and arguments. Hint says what
	// the user can do about their other errors, if it is known.
	BadUsage []error
	Hint     func(error) string
}

// version is stamped by the build.
var version = ""

// Main runs a program whose build stamped a version, and exits.
func Main(stamped string, p Program) {
	if version = stamped; version != "" {
		model.Version = version // Handshakes and Stats report it.
	}
	os.Exit(p.Run(os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// Run is Main with its surroundings as parameters.
func (p Program) Run(args []string, in io.Reader, out, errOut io.Writer) int {
	ctx, stop := signal.NotifyContext(context.Background(),
		os.Interrupt, syscall.SIGTERM)
	defer stop()
	// The first signal requests an orderly end, a second one kills the process.
	context.AfterFunc(ctx, stop)
	root := p.Root(&App{In: in, Out: out, Err: errOut, given: args})
	root.SetArgs(args)
	cmd, err := root.ExecuteContextC(ctx)
	return p.exitCode(ctx, cmd, err, errOut)
}

// Root returns the root command.
func (p Program) Root(a *App) *cobra.Command {
	root := newRoot(a)
	if p.Commands != nil {
		own := p.Commands(a)
		for _, c := range root.Commands() {
			for _, o := range own {
				if c.Name() == o.Name() {
					root.RemoveCommand(c)
				}
			}
		}
		root.AddCommand(own...)
	}
	return root
}
