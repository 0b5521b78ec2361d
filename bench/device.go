package bench

import (
	"fmt"
	"log/slog"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/ofi"
	"github.com/catfish-index/catfish/internal/rdma/shm"
	"github.com/catfish-index/catfish/internal/rdma/soft"
)

// OpenDevice opens the device of a real transport.
func OpenDevice(transport string, f Fabric) (rdma.Device, error) {
	switch transport {
	case "shm":
		return shm.Open(shm.Options{})
	case "soft":
		return soft.Open(soft.Options{})
	case "ofi":
		return ofi.Open(ofi.Options{Provider: f.Provider, Device: f.Device, Addr: f.Addr,
			Log: slog.New(slog.DiscardHandler)})
	}
	return nil, fmt.Errorf("%w: transport %q has no device", harness.ErrConfig, transport)
}
