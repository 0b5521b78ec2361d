package cli

import (
	"fmt"
	"os"
	"os/exec"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/internal/affinity"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/engine"
)

// loadSpawner starts this program again as a client of --engine-load.
func loadSpawner() (child.Spawn, error) {
	exe, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("finding this program: %w", err)
	}
	return func(child.Role, affinity.Set) *exec.Cmd { return exec.Command(exe, "engine-client") }, nil
}

// newEngineClient is the command that loadSpawner starts.
func newEngineClient(a *App) *cobra.Command {
	return &cobra.Command{
		Use:    "engine-client",
		Short:  "Search for the engine room of serve --http",
		Hidden: true,
		Args:   Args(cobra.NoArgs),
		RunE: func(cmd *cobra.Command, _ []string) error {
			return engine.ClientMain(cmd.Context(), a.In, a.Out)
		},
	}
}
