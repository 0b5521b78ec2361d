package cli

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/rstar"
)

// App is the state that the commands share.
type App struct {
	In       io.Reader
	Out, Err io.Writer
	verbose  bool
	given    []string // the arguments of the program
	stamp    bool     // the output beside the log has the time, too
}

// logger writes warnings, or everything with --verbose, to standard error.
func (a *App) logger() *slog.Logger {
	level := slog.LevelWarn
	if a.verbose {
		level = slog.LevelDebug
	}
	return slog.New(slog.NewTextHandler(a.Err, &slog.HandlerOptions{Level: level}))
}

// json writes one object on one line.
func (a *App) json(v any) error {
	if err := json.NewEncoder(a.Out).Encode(v); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

// Printf writes to standard output.
func (a *App) Printf(format string, args ...any) error {
	if _, err := fmt.Fprintf(a.Out, format, args...); err != nil {
		return fmt.Errorf("writing the answer: %w", err)
	}
	return nil
}

func newRoot(a *App) *cobra.Command {
	root := &cobra.Command{
		Use:   "catfish",
		Short: "An adaptive spatial index over RDMA",
		Long: `Catfish serves places (features: an id, a geometry, properties), or rectangles
with numbers (boxes), in an R*-tree, and records by key. Clients search by
messages to the server, or by reading its memory themselves with one-sided RDMA
reads, and choose per search. Without RDMA hardware it runs over shared memory
(shm) or a software RNIC on TCP (soft), and says so.`,
		Example: `  catfish demo
  catfish serve --data-dir data --http localhost:8080
  catfish load cafes.geojson --collection cafes
  catfish nearest --collection cafes --point 1.52,42.51 -k 5`,
		Version:       release(),
		SilenceErrors: true,
		SilenceUsage:  true,
	}
	Group(root)
	root.SetIn(a.In)
	root.SetOut(a.Out)
	root.SetErr(a.Err)
	root.PersistentFlags().BoolVarP(&a.verbose, "verbose", "v", false,
		"log what happens to standard error")
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error {
		return usageError{explainFlag(err)}
	})
	root.SetGlobalNormalizationFunc(aliases)
	root.AddCommand(
		newServe(a), newConfig(a), newLoad(a), newSearch(a), newNearest(a), newCount(a),
		newInsert(a), newDelete(a), newUpdate(a), newStatus(a), newCollections(a), newKV(a), newKeys(a), newCheck(a),
		newFeatures(a), newFeatureGet(a), newFeaturePut(a), newWatch(a), newExport(a), newBackup(a), newRestore(a),
		newGen(a), newEngineClient(a),
		newCluster(a),
		newElsewhere(a, "coordinator", "coordinator", "Run the coordinator of groups of servers"),
		newElsewhere(a, "bench", "demo", "Show on this machine how clients choose"),
		newElsewhere(a, "bench", "bench", "Measure"),
		newElsewhere(a, "bench", "replay", "Load a file, ask the queries of another, each exactly once"),
		newFabric(a), newVersion(a),
	)
	return root
}

// explainFlag says which values a flag takes, when its value could not be parsed:
// the parser's own error names the function of the library that failed.
func explainFlag(err error) error {
	var bad *pflag.InvalidValueError
	if !errors.As(err, &bad) {
		return err
	}
	want := bad.GetFlag().Value.Type()
	switch want {
	case "uint64":
		want = "a whole number from 0 to 18446744073709551615"
	case "int", "int64":
		want = "a whole number"
	case "bytes":
		want = "a number of bytes, such as 1073741824, 512MiB or 1GiB"
	case "duration":
		want = "a duration such as 500ms or 5s"
	case "float64":
		want = "a number"
	case "strategy":
		want = "one of " + strings.Join(rstar.Strategies(), ", ")
	case "bool":
		want = "true or false"
	}
	return fmt.Errorf("--%s is %q, want %s", bad.GetFlag().Name, bad.GetValue(), want)
}

// aliases lets flags go by a second name: --rect is --bbox, and --addr is
// --server.
func aliases(_ *pflag.FlagSet, name string) pflag.NormalizedName {
	switch name {
	case "rect":
		name = "bbox"
	case "addr":
		name = "server"
	case "polygon":
		name = "within"
	case "after":
		name = "cursor"
	}
	return pflag.NormalizedName(name)
}

// Group makes c a command that only holds others: without a subcommand it
// shows its help; an unknown subcommand is bad usage.
func Group(c *cobra.Command) {
	c.Args = cobra.ArbitraryArgs
	c.RunE = func(c *cobra.Command, args []string) error {
		if len(args) == 0 {
			return c.Help()
		}
		did := ""
		if c.SuggestionsMinimumDistance == 0 {
			c.SuggestionsMinimumDistance = 2 // cobra's own default
		}
		if s := c.SuggestionsFor(args[0]); len(s) > 0 {
			did = ", did you mean " + strings.Join(s, " or ") + "?"
		}
		return BadUsage("unknown command %q for %q%s", args[0], c.CommandPath(), did)
	}
}

// Args turns cobra's complaints about arguments into bad usage.
func Args(check cobra.PositionalArgs) cobra.PositionalArgs {
	return func(c *cobra.Command, given []string) error {
		err := check(c, given)
		switch {
		case err == nil:
			return nil
		case len(given) > 0 && check(c, nil) == nil && check(c, given[:1]) != nil:
			return BadUsage("unexpected argument %q: %s takes none; a value with blanks wants quotes", given[0], c.CommandPath())
		case len(c.ValidArgs) > 0:
			return usageError{err} // It lists the existing ones.
		}
		return BadUsage("arguments: %d, want %s %s", len(given), c.Parent().CommandPath(), c.Use)
	}
}

// Complete offers fixed values for a flag.
func Complete(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(
		values, cobra.ShellCompDirectiveNoFileComp)); err != nil {
		panic(err) // The flag does not exist: every test would hit it.
	}
}

// CompleteList offers fixed values for a flag that takes a comma list.
func CompleteList(c *cobra.Command, flag string, values ...string) {
	if err := c.RegisterFlagCompletionFunc(flag, func(_ *cobra.Command,
		_ []string, typed string) ([]string, cobra.ShellCompDirective) {
		before := typed[:strings.LastIndexByte(typed, ',')+1]
		offers := make([]string, len(values))
		for i, v := range values {
			offers[i] = before + v
		}
		return offers, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveNoSpace
	}); err != nil {
		panic(err) // As above.
	}
}

// dataSets offers the generators, and files where no generator matches.
func dataSets(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{"uniform", "skewed", "rea02-like", "california"},
		cobra.ShellCompDirectiveDefault
}

// CompleteData offers data sets for a flag.
func CompleteData(c *cobra.Command, flag string) {
	if err := c.RegisterFlagCompletionFunc(flag, dataSets); err != nil {
		panic(err) // As above.
	}
}

// Policies returns all policies with a description each, for completion.
func Policies() []string {
	var values []string
	for _, p := range catfish.Schemes() {
		values = append(values, cobra.CompletionWithDesc(p, catfish.DescribeScheme(p)))
	}
	return values
}
