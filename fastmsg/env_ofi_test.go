//go:build ofi

package fastmsg

import (
	"os"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/ofi"
)

// In builds with the tag, the tests run over libfabric alone: its tcp, which exists
// everywhere, or the provider that the environment names where there is a card or
// Soft-RoCE.
func init() {
	runsPlaced = false
	providers = []provider{{
		name: "ofi",
		open: func(t testing.TB) rdma.Device {
			o := ofi.Options{Provider: os.Getenv("CATFISH_OFI_PROVIDER")}
			if o.Provider == "" {
				o.Provider, o.Addr = ofi.TCP, "127.0.0.1"
			}
			dev, err := ofi.Open(o)
			return opened(t, dev, err)
		},
		addr: func(testing.TB) string { return "127.0.0.1:0" },
	}}
}
