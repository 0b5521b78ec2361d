package rdmaprobe

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/soft"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func openSoft() (rdma.Device, error) { return soft.Open(soft.Options{}) }

func config(open func() (rdma.Device, error)) Config {
	return Config{Open: open, Addr: "127.0.0.1:0", Sizes: []int{1, 64, 2048, 100_000},
		Duration: 5 * time.Millisecond}
}

func run(t *testing.T, cfg Config) ([]Row, error) {
	t.Helper()
	var rows []Row
	err := Run(t.Context(), cfg, func(r Row) error {
		rows = append(rows, r)
		return nil
	})
	return rows, err
}

func testAll(t *testing.T, cfg Config, transport string) {
	rows, err := run(t, cfg)
	if err != nil {
		t.Fatal(err)
	}
	if len(rows) != 3*len(cfg.Sizes) {
		t.Errorf("%d rows, want %d", len(rows), 3*len(cfg.Sizes))
	}
	for _, r := range rows {
		if r.Transport != transport || r.Op == "" || r.Checked < Outstanding || r.Samples < 1 ||
			r.P50Us <= 0 || r.P99Us < r.P50Us || r.PerSecond <= 0 || r.MiBPerS <= 0 {
			t.Errorf("row %+v", r)
		}
	}
}

func TestSoft(t *testing.T) { testAll(t, config(openSoft), "soft") }

// badDevice makes queue pairs that change every request.
type badDevice struct {
	rdma.Device
	change func(*rdma.WorkRequest)
}

type badQP struct {
	rdma.QueuePair
	change func(*rdma.WorkRequest)
}

func (d badDevice) Dial(ctx context.Context, addr string, cfg rdma.QPConfig, private []byte) (rdma.QueuePair, error) {
	q, err := d.Device.Dial(ctx, addr, cfg, private)
	return badQP{q, d.change}, err
}

func (q badQP) Post(wrs []rdma.WorkRequest) (int, error) {
	changed := append([]rdma.WorkRequest(nil), wrs...)
	for i := range changed {
		q.change(&changed[i])
	}
	return q.QueuePair.Post(changed)
}

func TestFaults(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*rdma.WorkRequest)
		want   error
		says   string
	}{
		"misplaced": {func(w *rdma.WorkRequest) { w.Remote.Addr++ }, ErrCorrupt, "request 0, byte 0 of"},
		"too long":  {func(w *rdma.WorkRequest) { w.Local.Len++ }, ErrCorrupt, "behind the request's bytes"},
		"too short": {func(w *rdma.WorkRequest) { w.Local.Len-- }, ErrCorrupt, "byte 63 of"},
		"bad key":   {func(w *rdma.WorkRequest) { w.Remote.Key++ }, rdma.ErrCompletion, "remote key"},
	} {
		t.Run(name, func(t *testing.T) {
			cfg := config(func() (rdma.Device, error) {
				d, err := openSoft()
				return badDevice{d, c.change}, err
			})
			cfg.Sizes = []int{64}
			_, err := run(t, cfg)
			if !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%v, want %v with %q", err, c.want, c.says)
			}
		})
	}
	// The immediate must arrive, too.
	p, err := open(t.Context(), config(func() (rdma.Device, error) {
		d, err := openSoft()
		return badDevice{d, func(w *rdma.WorkRequest) { w.Imm++ }}, err
	}), 64)
	if err != nil {
		t.Fatal(err)
	}
	defer p.close()
	if _, err := p.check(t.Context(), rdma.OpWriteImm, 64); !errors.Is(err, ErrCorrupt) ||
		!strings.Contains(err.Error(), "immediate 1") {
		t.Errorf("wrong immediate: %v", err)
	}
}

func TestErrors(t *testing.T) {
	noDevice := errors.New("no device")
	for name, c := range map[string]struct {
		change func(*Config)
		want   error
	}{
		"no sizes":    {func(c *Config) { c.Sizes = nil }, ErrConfig},
		"size 0":      {func(c *Config) { c.Sizes = []int{0} }, ErrConfig},
		"large":       {func(c *Config) { c.Sizes = []int{64, MaxSize + 1} }, ErrConfig},
		"no duration": {func(c *Config) { c.Duration = 0 }, ErrConfig},
		"no device":   {func(c *Config) { c.Open = func() (rdma.Device, error) { return nil, noDevice } }, noDevice},
		"no address": {func(c *Config) {
			c.Open = func() (rdma.Device, error) {
				d, err := openSoft()
				return noListener{d, noDevice}, err
			}
		}, noDevice},
	} {
		cfg := config(openSoft)
		c.change(&cfg)
		if _, err := run(t, cfg); !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}

type noListener struct {
	rdma.Device
	err error
}

func (d noListener) Listen(string) (rdma.Listener, error) { return nil, d.err }

// After Ctrl-C a user does not wait for the rest.
func TestCancel(t *testing.T) {
	cfg := config(openSoft)
	cfg.Duration = time.Hour
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if err := Run(ctx, cfg, func(Row) error { return nil }); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("%v, want %v", err, context.DeadlineExceeded)
	}
}
