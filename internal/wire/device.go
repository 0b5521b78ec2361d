package wire

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/ofi"
	"github.com/catfish-index/catfish/internal/rdma/shm"
	"github.com/catfish-index/catfish/internal/rdma/soft"
)

// RdmaDevices lists this host's RDMA devices that fit f. A device that must be
// named, such as libfabric's tcp, counts if f names it.
func RdmaDevices(f model.Fabric) []ofi.Fabric {
	all, err := ofi.Discover()
	if err != nil {
		return nil // not built, or libfabric has nothing
	}
	return slices.DeleteFunc(all, func(d ofi.Fabric) bool {
		return f.Provider == "" && !d.RDMA() || f.Provider != "" && d.Provider != f.Provider ||
			f.Device != "" && d.Device != f.Device || f.Addr != "" && d.Addr != f.Addr ||
			d.Addr == "" // rdma_cm connects by address
	})
}

// HostID identifies the running kernel, where the system names it.
func HostID() string {
	b, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	if err != nil {
		return ""
	}
	return strings.TrimSpace(string(b))
}

// DeviceOptions open a device of any transport. A client's needs neither listen nor
// log.
type DeviceOptions struct {
	Fabric model.Fabric
	Shm    shm.Options
	Soft   soft.Options
	Listen func(string) (net.Listener, error)
	Log    *slog.Logger
	Spin   time.Duration // for which a wait spins at most; 0: the default, negative: not at all
}

// OpenDevice opens the provider of a transport.
func OpenDevice(transport string, o DeviceOptions) (rdma.Device, error) {
	dial := func(kind uint16) func(context.Context, string) (net.Conn, error) {
		return func(ctx context.Context, addr string) (net.Conn, error) {
			return DialStream(ctx, addr, kind)
		}
	}
	switch transport {
	case model.TransportSHM:
		o.Shm.SpinMax = o.Spin
		return shm.Open(o.Shm)
	case model.TransportOFI:
		return ofi.Open(ofi.Options{
			Provider: o.Fabric.Provider, Device: o.Fabric.Device, Addr: o.Fabric.Addr,
			Listen: o.Listen, Dial: dial(StreamOFI), Spin: o.Spin, Log: o.Log,
		})
	case model.TransportSoft:
		o.Soft.Listen, o.Soft.Dial, o.Soft.Detail = o.Listen, dial(StreamSoft), "the server's TCP port"
		o.Soft.Spin, o.Soft.Log = o.Spin, o.Log
		return soft.Open(o.Soft)
	}
	return nil, fmt.Errorf("%w: %q has no device", model.ErrTransport, transport)
}
