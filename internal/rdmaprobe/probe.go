package rdmaprobe

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

const (
	// Outstanding is the number of requests in flight when a rate is
	// measured; most cards run 16 reads of a queue pair at once.
	Outstanding = 16
	// MaxSize bounds a request: Outstanding of them are registered on either
	// side, and memory that cards lock is scarce.
	MaxSize = 1 << 20
	// patience bounds the wait for a completion: far above
	// rdma.PeerTimeout, after which a provider itself has given up.
	patience = 10 * time.Second
)

// Config configures a test.
type Config struct {
	// Open opens a device; it is called once for each side.
	Open func() (rdma.Device, error)
	// Addr is where one side listens.
	Addr string
	// Sizes of requests in bytes, 1 to MaxSize each.
	Sizes []int
	// Duration of each of the measurements, two for a row.
	Duration time.Duration
}

// Row is the result for one operation and size.
type Row struct {
	Transport string  `json:"transport"` // rdma.Info's
	Detail    string  `json:"detail"`
	Op        string  `json:"op"` // read, write, write-with-imm
	Bytes     int     `json:"bytes"`
	Checked   int     `json:"checked"` // requests whose bytes were compared, all right
	Samples   int64   `json:"latency_samples"`
	P50Us     float64 `json:"p50_us"`
	P99Us     float64 `json:"p99_us"`
	Window    int     `json:"outstanding"` // for what follows
	PerSecond float64 `json:"per_s"`
	MiBPerS   float64 `json:"mib_per_s"`
}

// Errors of Run, besides those of package rdma.
var (
	// ErrConfig is a value in Config that cannot work.
	ErrConfig = errors.New("rdmaprobe: bad option")
	// ErrCorrupt: the provider lost, invented or misplaced bytes.
	ErrCorrupt = errors.New("rdmaprobe: wrong bytes arrived")
)

func (c *Config) check() error {
	if len(c.Sizes) == 0 {
		return fmt.Errorf("%w: no sizes", ErrConfig)
	}
	for _, n := range c.Sizes {
		if n < 1 || n > MaxSize {
			return fmt.Errorf("%w: size %d, want 1 to %d bytes", ErrConfig, n, MaxSize)
		}
	}
	if c.Duration <= 0 {
		return fmt.Errorf("%w: duration %v, want more than 0", ErrConfig, c.Duration)
	}
	return nil
}

// Run tests all operations in all sizes and passes on each row as soon as it
// is available.
func Run(ctx context.Context, cfg Config, row func(Row) error) error {
	if err := cfg.check(); err != nil {
		return err
	}
	largest := 0
	for _, n := range cfg.Sizes {
		largest = max(largest, n)
	}
	p, err := open(ctx, cfg, largest)
	if err != nil {
		return err
	}
	defer p.close()
	info := p.near.dev.Info()
	for _, op := range []rdma.Op{rdma.OpRead, rdma.OpWrite, rdma.OpWriteImm} {
		for _, size := range cfg.Sizes {
			r := Row{Transport: info.Provider, Detail: info.Detail,
				Op: op.String(), Bytes: size, Window: Outstanding}
			if err := p.run(ctx, op, size, cfg.Duration, &r); err != nil {
				return fmt.Errorf("%s of %d bytes: %w", op, size, err)
			}
			if err := row(r); err != nil {
				return err
			}
		}
	}
	return nil
}

func (p *pair) run(ctx context.Context, op rdma.Op, size int, d time.Duration, r *Row) (err error) {
	if r.Checked, err = p.check(ctx, op, size); err != nil {
		return err
	}
	hist, err := p.latency(ctx, op, size, d)
	if err != nil {
		return err
	}
	r.Samples = hist.Count()
	r.P50Us = float64(hist.Quantile(0.5)) / 1e3
	r.P99Us = float64(hist.Quantile(0.99)) / 1e3
	if r.PerSecond, err = p.rate(ctx, op, size, d); err != nil {
		return err
	}
	r.MiBPerS = r.PerSecond * float64(size) / (1 << 20)
	return nil
}
