package main

import (
	"slices"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/cli"
	"github.com/catfish-index/catfish/rstar"
)

// Flags that bench run, step, paper and replay share

// checkTransport refuses a name that is no transport of a measurement.
func checkTransport(name string) error {
	if !slices.Contains([]string{"auto", "shm", "soft", "ofi", "tcp"}, name) {
		return cli.BadUsage("--transport %q, want auto, shm, soft or ofi", name)
	}
	return nil
}

// coreFlags say where processes run; splitCores reads them.
func coreFlags(c *cobra.Command, server, client *string) {
	fs := c.Flags()
	fs.StringVar(server, "server-cpus", "", "cores of the server; empty: the first if there are two")
	fs.StringVar(client, "client-cpus", "", "cores of the clients; empty: all but the first")
}

// treeFlags say how a benchmark builds its tree.
func treeFlags(c *cobra.Command, s *rstar.Strategy, inserted *bool) {
	cli.StrategyFlag(c, s)
	c.Flags().BoolVar(inserted, "insert", false, "insert the objects one by one, as the paper did, instead of loading them at once")
}

func isGenerator(dataset string) bool {
	return slices.Contains([]string{"uniform", "skewed", "rea02-like"}, dataset)
}

// noObjects: only generators take a number of objects.
func noObjects(fs *pflag.FlagSet, dataset string) error {
	if isGenerator(dataset) {
		return nil
	}
	return cli.NoUse(fs, "with "+dataset+", which is no generator", "objects")
}

// noTransport is about the transport of measured schemes.
func noTransport(fs *pflag.FlagSet, transport string, schemes []string) error {
	if slices.Equal(schemes, []string{"tcp"}) {
		errs := cli.NoUse(fs, "with scheme tcp alone", append([]string{"worker-per-connection"}, cli.FabricFlagNames...)...)
		if transport != catfish.TransportTCP {
			errs = cli.FirstOf(errs, cli.NoUse(fs, "with scheme tcp alone", "transport"))
		}
		return errs
	}
	if transport != catfish.TransportAuto && transport != catfish.TransportOFI {
		return cli.NoUse(fs, "with --transport "+transport, cli.FabricFlagNames...)
	}
	return nil
}

// noWrites: the flags of inserts only matter for a mix with inserts.
func noWrites(fs *pflag.FlagSet, mix bench.Mix) error {
	if mix[bench.Insert]+mix[bench.Delete]+mix[bench.Update] > 0 {
		return nil
	}
	return cli.NoUse(fs, "with --mix "+mix.String(), "inserts")
}

// noBatch: only searches are batched.
func noBatch(fs *pflag.FlagSet, mix bench.Mix) error {
	if mix[bench.Search] > 0 {
		return nil
	}
	return cli.NoUse(fs, "with --mix "+mix.String(), "batch")
}
