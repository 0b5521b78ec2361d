//go:build ofi

package rdmaprobe

import (
	"testing"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/ofi"
)

// libfabric's tcp, which every machine has; Soft-RoCE is tested by the
// command in the virtual machine of tools/rdmavm.
func TestOFI(t *testing.T) {
	cfg := config(func() (rdma.Device, error) {
		return ofi.Open(ofi.Options{Provider: ofi.TCP, Addr: "127.0.0.1"})
	})
	testAll(t, cfg, "ofi")
}
