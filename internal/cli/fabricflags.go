package cli

import (
	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
)

// FabricFlags register the flags that choose ofi's device.
func FabricFlags(c *cobra.Command, f *catfish.Fabric) {
	fs := c.Flags()
	fs.StringVar(&f.Provider, "fabric-provider", "",
		"libfabric provider of transport ofi: verbs, or tcp for tests; empty: verbs, or the server's")
	fs.StringVar(&f.Device, "fabric-device", "", "device of transport ofi, as 'catfish fabric' lists it; empty: the first")
	fs.StringVar(&f.Addr, "fabric-addr", "", "IP address on the fabric of transport ofi; empty: the device's")
	Complete(c, "fabric-provider", "verbs", "tcp")
}
