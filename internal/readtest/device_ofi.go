//go:build ofi

package readtest

import (
	"os"
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/ofi"
)

// The tests run over libfabric's tcp, which exists everywhere, or over the provider
// that the environment names where there is a card or Soft-RoCE, as catfish's do.
func openDevice() (rdma.Device, error) {
	if p := os.Getenv("CATFISH_OFI_PROVIDER"); p != "" {
		return ofi.Open(ofi.Options{Provider: p})
	}
	return ofi.Open(ofi.Options{Provider: ofi.TCP, Addr: "127.0.0.1"})
}

func address(testing.TB) string { return "127.0.0.1:0" }
