package micro

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/internal/affinity"
)

// Op is the kind of a request.
type Op string

// The operations of figure 9.
const (
	TCP   Op = "tcp"   // 1 byte out, n bytes back, over a socket
	Read  Op = "read"  // RDMA Read of n bytes
	Write Op = "write" // RDMA Write of n bytes, until its completion
	// OneWay is a Write in one direction: half of a ping-pong (oneway.go).
	OneWay Op = "write-oneway"
)

// Ops are all operations.
var Ops = []Op{TCP, Read, Write, OneWay}

const (
	// MaxBytes of a request: the paper's largest.
	MaxBytes = 8 << 20
	// DefaultDuration is how long one size is measured.
	DefaultDuration = 200 * time.Millisecond
	// least is the least number of measured requests, and of the warm-up
	// requests before them.
	least = 3
	// warmup is the share of a measurement's duration that precedes it:
	// congestion windows open, pages are mapped, spin budgets adapt.
	warmup = 5
	// patience bounds the wait for a request, without the time of its bytes:
	// far above rdma.PeerTimeout, after which a provider has given up.
	patience = 10 * time.Second
	// minDuration and maxDuration are limits against typing errors.
	minDuration = time.Millisecond
	maxDuration = time.Hour
)

// Sizes are those of the paper's figure 9, in bytes: 2 to 8 Mi by powers of
// two.
func Sizes() []int {
	var sizes []int
	for n := 2; n <= MaxBytes; n *= 2 {
		sizes = append(sizes, n)
	}
	return sizes
}

// FewSizes are one or two sizes of each part of the curve.
func FewSizes() []int { return []int{2, 64, 2 << 10, 64 << 10, 1 << 20, MaxBytes} }

// Config says what Run measures. Zero values are replaced by the defaults
// that the fields give.
type Config struct {
	Op        Op
	Transport string // tcp for op tcp; else shm, soft or ofi
	Sizes     []int  // bytes of the requests, 1 to MaxBytes, in this order; Sizes()
	Duration  time.Duration
	Repeat    int    // measurements of each size; the row is the one with the median mean; 1
	Listen    string // host:port of the server; 127.0.0.1:0
	Fabric    bench.Fabric
	// Rate of the network between the processes, in bits per second: it bounds
	// the time of a request. 0: no network.
	Rate int64

	ServerCPUs affinity.Set // empty: not pinned
	ClientCPUs affinity.Set // empty: not pinned
}

func (c Config) withDefaults() Config {
	if len(c.Sizes) == 0 {
		c.Sizes = Sizes()
	}
	harness.Default(&c.Duration, DefaultDuration)
	harness.Default(&c.Repeat, 1)
	harness.Default(&c.Listen, "127.0.0.1:0")
	return c
}

// Validate checks every value. Errors wrap harness.ErrConfig and name the value
// and the limit.
func (c Config) Validate() error {
	c = c.withDefaults()
	if !slices.Contains(Ops, c.Op) {
		return fmt.Errorf("%w: operation %q, want tcp, read, write or write-oneway", harness.ErrConfig, c.Op)
	}
	want := []string{"shm", "soft", "ofi"}
	if c.Op == TCP {
		want = []string{"tcp"}
	}
	if !slices.Contains(want, c.Transport) {
		return fmt.Errorf("%w: transport %q of operation %s, want one of %q", harness.ErrConfig, c.Transport, c.Op, want)
	}
	for _, n := range c.Sizes {
		if n < 1 || n > MaxBytes {
			return fmt.Errorf("%w: size is %d, want 1 to %d bytes", harness.ErrConfig, n, MaxBytes)
		}
	}
	if c.Duration < minDuration || c.Duration > maxDuration {
		return fmt.Errorf("%w: duration is %v, want %v to %v", harness.ErrConfig, c.Duration, minDuration, maxDuration)
	}
	if c.Rate < 0 {
		return fmt.Errorf("%w: rate is %d bit/s, want 0 or more", harness.ErrConfig, c.Rate)
	}
	return cmp.Or(harness.CheckRange("repeat", c.Repeat, 1, harness.MaxRepeat), harness.CheckCores(c.ServerCPUs, c.ClientCPUs))
}

// largest is the largest size.
func (c Config) largest() int { return slices.Max(c.Sizes) }

// patience is the timeout of one request of the largest size: four times its
// time at the network's rate, and a constant.
func (c Config) patience() time.Duration {
	if c.Rate == 0 {
		return patience
	}
	return patience + time.Duration(4*8*float64(c.largest())/float64(c.Rate)*float64(time.Second))
}

func (c Config) serverJob() serverJob {
	return serverJob{Op: c.Op, Transport: c.Transport, Fabric: c.Fabric, Listen: c.Listen,
		Bytes: c.largest(), Patience: c.patience()}
}

func (c Config) clientJob(s serverReady) clientJob {
	return clientJob{Op: c.Op, Transport: c.Transport, Fabric: c.Fabric, Addr: s.Addr, Remote: s.Remote,
		Sizes: c.Sizes, Bytes: c.largest(), Duration: c.Duration, Repeat: c.Repeat, Patience: c.patience()}
}
