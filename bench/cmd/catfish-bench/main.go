// Command catfish-bench is catfish with the commands that measure: bench, replay, demo.
// 'catfish bench' runs it.
package main

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/paper"
	"github.com/catfish-index/catfish/internal/cli"
)

// version is stamped by the build.
var version = ""

// app has the methods of these commands.
type app struct{ *cli.App }

var program = cli.Program{
	Commands: func(a *cli.App) []*cobra.Command {
		mine := &app{a}
		return []*cobra.Command{newBench(mine), newDemo(mine), newReplay(mine)}
	},
	BadUsage: []error{
		harness.ErrConfig, paper.ErrFigure, paper.ErrSeries, paper.ErrNetwork,
	},
	Hint: func(err error) string {
		if errors.Is(err, paper.ErrSettings) {
			return "\nTake the same settings, another directory with --out, or --fresh to discard those points."
		}
		return ""
	},
}

func main() { cli.Main(version, program) }
