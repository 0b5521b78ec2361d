package catfish

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/catfish-index/catfish/rdma"
	"github.com/catfish-index/catfish/rdma/ofi"
	"github.com/catfish-index/catfish/rdma/shm"
	"github.com/catfish-index/catfish/rdma/soft"
)

// deviceOptions open a device of any transport. A client's needs neither listen nor
// log.
type deviceOptions struct {
	fabric Fabric
	shm    shm.Options
	soft   soft.Options
	listen func(string) (net.Listener, error)
	log    *slog.Logger
	spin   time.Duration // for which a wait spins at most; 0: the default, negative: not at all
}

// openDevice opens the provider of a transport.
func openDevice(transport string, o deviceOptions) (rdma.Device, error) {
	dial := func(kind uint16) func(context.Context, string) (net.Conn, error) {
		return func(ctx context.Context, addr string) (net.Conn, error) {
			return dialStream(ctx, addr, kind)
		}
	}
	switch transport {
	case TransportSHM:
		o.shm.SpinMax = o.spin
		return shm.Open(o.shm)
	case TransportOFI:
		return ofi.Open(ofi.Options{
			Provider: o.fabric.Provider, Device: o.fabric.Device, Addr: o.fabric.Addr,
			Listen: o.listen, Dial: dial(streamOFI), Spin: o.spin, Log: o.log,
		})
	case TransportSoft:
		o.soft.Listen, o.soft.Dial, o.soft.Detail = o.listen, dial(streamSoft), "the server's TCP port"
		o.soft.Spin, o.soft.Log = o.spin, o.log
		return soft.Open(o.soft)
	}
	return nil, fmt.Errorf("%w: %q has no device", ErrTransport, transport)
}
