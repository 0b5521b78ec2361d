package main

import (
	"slices"

	"github.com/spf13/cobra"
)

// What bench run, step, paper and replay have in common on the command line.

// typedFlag is a flag and whether its value is nothing.
type typedFlag struct {
	name string
	zero bool
}

// wantMore refuses flags whose value is nothing: package bench takes zeros
// for its defaults, but here they were typed on purpose.
func wantMore(flags ...typedFlag) error {
	for _, f := range flags {
		if f.zero {
			return badUsage("--%s is empty or 0, want more", f.name)
		}
	}
	return nil
}

// checkTransport refuses what is no transport of a measurement.
func checkTransport(name string) error {
	if !slices.Contains([]string{"auto", "shm", "soft", "ofi", "tcp"}, name) {
		return badUsage("--transport %q, want auto, shm, soft or ofi", name)
	}
	return nil
}

// coreFlags say where processes run; splitCores reads them.
func coreFlags(c *cobra.Command, server, client *string) {
	fs := c.Flags()
	fs.StringVar(server, "server-cpus", "", "cores of the server; empty: the first if there are two")
	fs.StringVar(client, "client-cpus", "", "cores of the clients; empty: all but the first")
}
