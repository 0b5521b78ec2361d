package cli

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"
)

// newElsewhere is a command of another program, which gets the same arguments: that of
// catfish-bench, which links what only measuring needs, or of catfish-coordinator, which
// links etcd. They are modules of their own.
func newElsewhere(a *App, module, name, short string) *cobra.Command {
	c := &cobra.Command{
		Use: name, Short: short,
		DisableFlagParsing: true,
		RunE:               func(*cobra.Command, []string) error { return a.handOver(module, name) },
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			_ = a.handOver(module, name) // Without that program there is nothing to offer.
			return nil, cobra.ShellCompDirectiveError
		},
	}
	c.SetHelpFunc(func(*cobra.Command, []string) { fmt.Fprintln(a.Out, a.handOver(module, name)) })
	return c
}

// handOver turns this process into one of catfish-MODULE: streams, signals and the exit
// status need no forwarding. It returns only with an error.
func (a *App) handOver(module, command string) error {
	self, err := os.Executable()
	if err != nil {
		return fmt.Errorf("finding this program: %w", err)
	}
	path, err := otherProgram(self, module)
	if err != nil {
		return fmt.Errorf("'catfish %s' needs the program catfish-%s, which is neither in %s nor in $PATH:\n"+
			"'make build' in the source of Catfish builds it, or: cd %[2]s && go build -o %[3]s ./cmd/catfish-%[2]s",
			command, module, filepath.Dir(self))
	}
	if err := syscall.Exec(path, append([]string{path}, a.given...), os.Environ()); err != nil {
		return fmt.Errorf("starting %s: %w", path, err)
	}
	return nil
}

// otherProgram finds catfish-MODULE, beside this program or in $PATH. That of a build of
// another name, such as catfish-ofi, is catfish-ofi-bench.
func otherProgram(self, module string) (path string, err error) {
	for _, name := range []string{self + "-" + module, filepath.Join(filepath.Dir(self), "catfish-"+module), "catfish-" + module} {
		if path, err = exec.LookPath(name); err == nil {
			return path, nil
		}
	}
	return "", err
}
