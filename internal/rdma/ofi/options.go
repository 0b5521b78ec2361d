package ofi

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"time"
)

// Errors of Open and Discover.
var (
	// ErrNotBuilt is the error of a binary without libfabric.
	ErrNotBuilt = errors.New("ofi: this build has no libfabric; install gcc, libfabric-dev and libibverbs-dev, then: CGO_ENABLED=1 go build -tags ofi ./cmd/catfish")
	// ErrNoDevice: libfabric has no device that fits the Options.
	ErrNoDevice = errors.New("ofi: no such fabric device")
	// ErrFabric is a failure of libfabric itself.
	ErrFabric = errors.New("ofi: libfabric")
	// ErrOptions is a value in Options that cannot work.
	ErrOptions = errors.New("ofi: bad option")
)

// Providers of libfabric that work here, best first.
const (
	Verbs = "verbs" // InfiniBand, RoCE
	TCP   = "tcp"   // for tests: never chosen unless named
)

// Options configures Open. The zero value opens the first RDMA device.
type Options struct {
	// Provider is libfabric's: Verbs or TCP; empty means Verbs.
	Provider string
	// Device is the domain's name as Discover lists it; empty: the first.
	Device string
	// Addr is the local IP address that peers connect to over the fabric, and
	// determines the device and GID; empty: the device's first.
	Addr string

	// Dial and Listen make the control connections; nil means TCP.
	Dial   func(ctx context.Context, addr string) (net.Conn, error)
	Listen func(addr string) (net.Listener, error)

	// HandshakeTimeout bounds Dial and Accept; 0: 5 s, as package soft.
	HandshakeTimeout time.Duration
	// Spin bounds how long a Wait spins before it sleeps. 0 means
	// spin.WakeCost, negative not at all.
	Spin time.Duration
	// Log receives errors that cannot be returned to any caller. Nil discards it.
	Log *slog.Logger
}

// defaultHandshake is package soft's, for the same reasons.
const defaultHandshake = 5 * time.Second

func (o Options) withDefaults() (Options, error) {
	if o.Provider == "" {
		o.Provider = Verbs
	}
	if o.Provider != Verbs && o.Provider != TCP {
		return o, errors.Join(ErrOptions, errors.New("provider \""+o.Provider+
			"\", want verbs or tcp: others have no connected endpoints (FI_EP_MSG)"))
	}
	if o.HandshakeTimeout == 0 {
		o.HandshakeTimeout = defaultHandshake
	}
	if o.Dial == nil {
		o.Dial = func(ctx context.Context, addr string) (net.Conn, error) {
			var d net.Dialer
			return d.DialContext(ctx, "tcp", addr)
		}
	}
	if o.Listen == nil {
		o.Listen = func(addr string) (net.Listener, error) { return net.Listen("tcp", addr) }
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	return o, nil
}

// Fabric is one device that libfabric offers, with what the system reports
// about it.
type Fabric struct {
	Provider string `json:"provider"` // verbs, tcp
	Device   string `json:"device"`   // domain: mlx5_0, rxe0, eth0
	Name     string `json:"fabric"`   // network: IB-0xfe80..., 10.0.0.0/24
	Addr     string `json:"addr"`     // IP address for connections
	Port     int    `json:"port,omitempty"`
	GID      string `json:"gid,omitempty"`       // of Addr
	GIDIndex int    `json:"gid_index,omitempty"` // of GID
	Link     string `json:"link,omitempty"`      // InfiniBand, Ethernet
	State    string `json:"state,omitempty"`     // ACTIVE, DOWN
	Rate     string `json:"rate,omitempty"`      // 100 Gb/sec (4X EDR)
	MaxReads int    `json:"max_reads,omitempty"` // outstanding per queue pair
	Inline   int    `json:"inline_bytes"`        // writes up to here are copied at once
	Emulated bool   `json:"emulated"`            // a CPU does the work: Soft-RoCE, siw, tcp
}

// RDMA distinguishes hardware (or its emulation in the kernel) from tcp.
func (f Fabric) RDMA() bool { return f.Provider == Verbs }
