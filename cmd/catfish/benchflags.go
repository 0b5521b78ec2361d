package main

import (
	"slices"

	"github.com/spf13/cobra"
)

// Flags that bench run, step, paper and replay share

// typedFlag is a flag and whether its value is zero.
type typedFlag struct {
	name string
	zero bool
}

// wantMore refuses typed flags whose value is zero: package bench replaces zeros
// by its defaults, but the user typed them on purpose.
func wantMore(flags ...typedFlag) error {
	for _, f := range flags {
		if f.zero {
			return badUsage("--%s is empty or 0, want more", f.name)
		}
	}
	return nil
}

// checkTransport refuses a name that is no transport of a measurement.
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
