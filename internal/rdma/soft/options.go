package soft

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"time"

	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/rdma"
)

// Defaults of Options.
const (
	// DefaultMaxRequest exceeds any node, ring message or bulk read of
	// Catfish many times over.
	DefaultMaxRequest = 16 << 20

	// DefaultHandshakeTimeout covers three TCP SYN retries (1 + 2 s)
	// and a slow TLS handshake.
	DefaultHandshakeTimeout = 5 * time.Second

	// DefaultFrameTimeout is the time that a peer has to complete a frame
	// that it began, in addition to the time that limits.LeastRate allows for its
	// payload.
	DefaultFrameTimeout = limits.FrameTimeout

	// DefaultStallTimeout bounds how long a peer may leave limits.WriteChunk
	// bytes unread. Bytes sent at once must be taken within that time plus
	// their time at limits.LeastRate.
	DefaultStallTimeout = limits.StallTimeout

	// DefaultKeepAlive is the silence after which an idle connection is
	// probed: 1,000 of them cost 200 small frames a second.
	DefaultKeepAlive = 5 * time.Second

	// DefaultMaxHandshakes bounds the connections of one Listener that have
	// not sent their hello yet: a goroutine and a descriptor each. With 10,000
	// silent ones a second, each has 100 ms to speak.
	DefaultMaxHandshakes = 1024
)

// limit of the sizes in Options: frame lengths travel as 32 bits.
const maxBytes = 1 << 30

// Options configures Open. The zero value works: plain TCP, the defaults
// above.
type Options struct {
	// Dial and Listen make the streams; nil means TCP. They are the place for
	// TLS, and for sharing a port with other protocols. A Listener's Accept
	// must not wait for the peer (a TLS handshake belongs in the connection's
	// first Read, as crypto/tls does it).
	Dial   func(ctx context.Context, addr string) (net.Conn, error)
	Listen func(addr string) (net.Listener, error)
	// Detail names the stream in rdma.Info. Default: "TCP", or "custom
	// stream" with Dial or Listen.
	Detail string

	MaxRequest  int // bytes of one request, 1 to 2^30
	ReadWindow  int // bytes of a peer's Reads in flight; default MaxRequest
	QueuedBytes int // bytes posted and not sent; default MaxRequest

	HandshakeTimeout time.Duration // the whole of Dial; the hello in Accept
	FrameTimeout     time.Duration // for a frame that has begun to arrive
	StallTimeout     time.Duration // for a peer that does not read; more by limits.LeastRate
	KeepAlive        time.Duration // probes idle connections; negative: never
	// PeerTimeout is the time within which a silent peer's outstanding
	// requests are flushed. Default rdma.PeerTimeout, which the verbs
	// promise; a greater value gives peers on bad networks longer.
	PeerTimeout time.Duration

	// MaxHandshakes bounds, per Listener, the streams whose hello has not
	// arrived. Beyond it the oldest of the host that has most of them is
	// closed, so a dialer that speaks at once is served. The same number
	// may wait for Accept.
	MaxHandshakes int

	// QueuePairs bounds the queue pairs that listeners accept, by the dialers'
	// hosts. Queue pairs beyond it are rejected with a text that names the
	// limit. Nil: no bound.
	QueuePairs *limits.Budget
	// Unsent bounds the bytes that accepted queue pairs hold for peers that do
	// not take them. A queue pair that exceeds it, or has most when others
	// need the room, ends with an error that wraps limits.ErrExceeded. Nil: no
	// bound but QueuedBytes and ReadWindow for each.
	Unsent *limits.Budget

	// Spin bounds how long a Wait spins before it sleeps. 0 means
	// spin.WakeCost, negative not at all.
	Spin time.Duration

	// Log receives errors that cannot be returned to any caller, such as
	// refused handshakes. Nil discards it.
	Log *slog.Logger
}

// withDefaults sets defaults for zeros and refuses values that cannot work.
func (o Options) withDefaults() (Options, error) {
	if o.Detail == "" {
		o.Detail = "TCP"
		if o.Dial != nil || o.Listen != nil {
			o.Detail = "custom stream"
		}
	}
	if o.Dial == nil {
		o.Dial = dialTCP
	}
	if o.Listen == nil {
		o.Listen = func(addr string) (net.Listener, error) {
			return net.Listen("tcp", addr)
		}
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	setDefault(&o.MaxRequest, DefaultMaxRequest)
	setDefault(&o.ReadWindow, o.MaxRequest)
	setDefault(&o.QueuedBytes, o.MaxRequest)
	setDefault(&o.MaxHandshakes, DefaultMaxHandshakes)
	setDefault(&o.HandshakeTimeout, DefaultHandshakeTimeout)
	setDefault(&o.FrameTimeout, DefaultFrameTimeout)
	setDefault(&o.StallTimeout, DefaultStallTimeout)
	setDefault(&o.KeepAlive, DefaultKeepAlive)
	setDefault(&o.PeerTimeout, rdma.PeerTimeout)

	for _, l := range []struct {
		name   string
		v, max int
	}{
		{"MaxRequest", o.MaxRequest, maxBytes},
		{"ReadWindow", o.ReadWindow, maxBytes},
		{"QueuedBytes", o.QueuedBytes, maxBytes},
		{"MaxHandshakes", o.MaxHandshakes, 1 << 20},
	} {
		if l.v < 1 || l.v > l.max {
			return o, fmt.Errorf("%w: %s is %d, allowed 1 to %d",
				ErrOptions, l.name, l.v, l.max)
		}
	}
	for _, d := range []struct {
		name string
		v    time.Duration
	}{
		{"HandshakeTimeout", o.HandshakeTimeout},
		{"FrameTimeout", o.FrameTimeout},
		{"StallTimeout", o.StallTimeout},
		{"PeerTimeout", o.PeerTimeout},
	} {
		// The monitor divides PeerTimeout by ticksPerTimeout.
		if d.v < time.Millisecond {
			return o, fmt.Errorf("%w: %s is %v, allowed 1ms and more",
				ErrOptions, d.name, d.v)
		}
	}
	return o, nil
}

func setDefault[T int | time.Duration](v *T, def T) {
	if *v == 0 {
		*v = def
	}
}

// dialTCP keeps TCP_NODELAY on, which is Go's default: frames are batched
// here, where it is known which ones belong together.
func dialTCP(ctx context.Context, addr string) (net.Conn, error) {
	var d net.Dialer
	return d.DialContext(ctx, "tcp", addr)
}
