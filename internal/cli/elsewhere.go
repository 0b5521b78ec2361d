package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// newElsewhere is a command of another program, catfish-bench, which gets the same
// arguments. It links what only measuring needs, so it is a module of its own.
func newElsewhere(a *App, name, short string) *cobra.Command {
	c := &cobra.Command{
		Use: name, Short: short,
		DisableFlagParsing: true,
		RunE:               func(*cobra.Command, []string) error { return a.handOver(name) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			_ = a.handOver(name) // Without that program there is nothing to offer.
			return nil, cobra.ShellCompDirectiveError
		},
	}
	c.SetHelpFunc(func(*cobra.Command, []string) { fmt.Fprintln(a.Out, a.handOver(name)) })
	return c
}

// handOver turns this process into one of catfish-bench: streams, signals and the exit
// status need no forwarding. It returns only with an error.
func (a *App) handOver(command string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	path, err := benchProgram(self)
	if err != nil {
		return fmt.Errorf("'catfish %s' needs the program catfish-bench, which is neither in %s nor in $PATH:\n"+
			"'make build' in the source of Catfish builds it, or: cd bench && go build -o %[2]s ./cmd/catfish-bench",
			command, filepath.Dir(self))
	}
	if err := syscall.Exec(path, append([]string{path}, a.given...), os.Environ()); err != nil {
		return fmt.Errorf("starting %s: %w", path, err)
	}
	return nil
}

// benchProgram finds catfish-bench, beside this program or in $PATH. That of a build of
// another name, such as catfish-ofi, is catfish-ofi-bench.
func benchProgram(self string) (path string, err error) {
	for _, name := range []string{self + "-bench", filepath.Join(filepath.Dir(self), "catfish-bench"), "catfish-bench"} {
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", err
}
