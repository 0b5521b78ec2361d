package groups

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/child"
	"github.com/catfish-index/catfish/internal/latency"
)

// ClientRole is the role of the child with the clients.
const ClientRole child.Role = "groups-client"

// clientJob is the first line of the child.
type clientJob struct {
	Addrs     string `json:"addrs"`
	Transport string `json:"transport"`
}

// command is a later line. Do says which; the answers are a Sample, or a Window.
type command struct {
	Do       string        `json:"do"`
	Kind     string        `json:"kind,omitempty"`
	Clients  int           `json:"clients,omitempty"`
	Duration time.Duration `json:"duration_ns,omitempty"`
	Objects  int           `json:"objects,omitempty"`
	Slot     uint16        `json:"slot,omitempty"`
}

// What commands say.
const (
	doMeasure = "measure" // Clients write Kind for a while
	doFill    = "fill"    // put Objects features
	doBegin   = "begin"   // writers write from now on
	doWindow  = "window"  // what they saw since the last window
	doEnd     = "end"     // they end
	doBeside  = "beside"  // writers write ids of Slot, and others other ids, from now on
	doBoth    = "both"    // what both saw since the last windows: two of them
)

// Sample is what clients measured.
type Sample struct {
	Elapsed time.Duration         `json:"elapsed_ns"`
	Latency *latency.Distribution `json:"latency"`
	CPU     time.Duration         `json:"cpu_ns"` // of the primary, which the parent adds
}

// clients are those of the child.
type clients struct {
	job   clientJob
	conns []*catfish.Client // of measurements
	next  atomic.Uint64     // number of the next object that is written
	going *writers
	slot  *writers // of ids of a slot
}

// ClientMain runs the child.
func ClientMain(ctx context.Context, in io.Reader, out io.Writer) error {
	return harness.ServerMain(ctx, in, out, func(ctx context.Context, j clientJob, _ func(string)) (h harness.Served[command], err error) {
		c := &clients{job: j}
		if err := c.create(ctx); err != nil {
			return h, err
		}
		return harness.Served[command]{Answer: c.answer, Close: c.close}, nil
	})
}

func (c *clients) answer(ctx context.Context, o command) (any, error) {
	switch o.Do {
	case doMeasure:
		return c.measure(ctx, o)
	case doFill:
		return struct{}{}, c.fill(ctx, o.Objects)
	case doBegin:
		return struct{}{}, c.begin(ctx)
	case doWindow:
		return c.going.window(), nil
	case doBeside:
		return struct{}{}, c.beside(ctx, o.Slot)
	case doBoth:
		return []Window{c.slot.window(), c.going.window()}, nil
	case doEnd:
		w := c.going.window()
		return w, c.going.end()
	}
	return nil, fmt.Errorf("groups: a child cannot %q", o.Do)
}

func (c *clients) close() {
	for _, w := range []*writers{c.going, c.slot} {
		if w != nil {
			_ = w.end() // All is measured already.
		}
	}
	closeAll(c.conns)
}

// dial opens a connection of its own. timeout also bounds how long a write is tried again.
func (c *clients) dial(ctx context.Context, timeout time.Duration) (*catfish.Client, error) {
	return catfish.Dial(ctx, c.job.Addrs, catfish.Options{
		Transport: c.job.Transport, Policy: "fast", DialTimeout: timeout, Logger: slog.New(slog.DiscardHandler),
	})
}

func (c *clients) create(ctx context.Context) error {
	one, err := c.dial(ctx, time.Minute)
	if err != nil {
		return err
	}
	err = one.CreateFeatures(ctx, Features, catfish.FeaturesOptions{})
	if err == nil {
		err = one.CreateRecords(ctx, Records, catfish.RecordsOptions{Keep: true})
	}
	return errors.Join(err, one.Close())
}

// writer writes a new object.
type writer func(ctx context.Context) error

func (c *clients) writer(conn *catfish.Client, kind string) (writer, error) {
	if kind == Features {
		f, err := conn.Features(Features)
		return func(ctx context.Context) error {
			_, _, err := f.Put(ctx, feature(c.next.Add(1)), catfish.Condition{})
			return err
		}, err
	}
	r, err := conn.Records(Records)
	return func(ctx context.Context) error {
		n := c.next.Add(1)
		_, err := r.Put(ctx, catfish.Record{Key: fmt.Appendf(nil, "%016d", n), Value: fmt.Appendf(nil, "%032d", n)}, catfish.Condition{})
		return err
	}, err
}

// feature is a point somewhere.
func feature(n uint64) catfish.Feature {
	return catfish.Feature{
		ID:         fmt.Sprintf("%016d", n),
		Geometry:   orb.Point{float64(n*7919%360_000)/1000 - 180, float64(n*104_729%160_000)/1000 - 80},
		Properties: fmt.Appendf(nil, `{"n":"%024d"}`, n), // 32 bytes
	}
}

// measure lets clients write, each one object after another.
func (c *clients) measure(ctx context.Context, o command) (*Sample, error) {
	if len(c.conns) != o.Clients {
		closeAll(c.conns)
		var err error
		// Dialing is not measured, and is slow on a busy machine.
		c.conns, err = harness.DialAll(o.Clients, func(int) (*catfish.Client, error) { return c.dial(ctx, time.Minute) })
		if err != nil {
			return nil, err
		}
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var group sync.WaitGroup
	parts := make([]*latency.Distribution, o.Clients)
	began := time.Now()
	for i, conn := range c.conns {
		write, err := c.writer(conn, o.Kind)
		if err != nil {
			return nil, err
		}
		parts[i] = latency.New()
		group.Go(func() {
			for at := time.Now(); at.Sub(began) < o.Duration; {
				if err := write(ctx); err != nil {
					cancel(fmt.Errorf("a write of %s: %w", o.Kind, err))
					return
				}
				now := time.Now()
				parts[i].Record(now.Sub(at))
				at = now
			}
		})
	}
	group.Wait()
	s := &Sample{Elapsed: time.Since(began), Latency: latency.New()}
	for _, p := range parts {
		s.Latency.Merge(p)
	}
	return s, context.Cause(ctx)
}

// fillAtOnce is how many features a call puts.
const fillAtOnce = 1000

func (c *clients) fill(ctx context.Context, n int) error {
	one, err := c.dial(ctx, time.Minute)
	if err != nil {
		return err
	}
	defer one.Close()
	f, err := one.Features(Features)
	if err != nil {
		return err
	}
	for n > 0 {
		some := make([]catfish.Feature, min(n, fillAtOnce))
		for i := range some {
			some[i] = feature(c.next.Add(1))
		}
		results, err := f.PutMany(ctx, some)
		if err != nil {
			return err
		}
		for _, r := range results {
			if r.Err != nil {
				return r.Err
			}
		}
		n -= len(some)
	}
	return nil
}

func closeAll(conns []*catfish.Client) {
	for _, c := range conns {
		_ = c.Close() // All is measured already.
	}
}
