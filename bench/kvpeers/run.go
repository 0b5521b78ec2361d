//go:build linux

package kvpeers

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/datasets/ycsb"
)

// outcome is what one run measured of one peer.
type outcome struct {
	latency [kinds]*bench.Latency // by ycsb.Kind
	opsPerS float64
	// Cores that were busy: of the server, of the clients.
	serverCores, clientCores float64
}

const kinds = ycsb.ReadModifyWrite + 1

func newOutcome() *outcome {
	o := new(outcome)
	for k := range o.latency {
		o.latency[k] = bench.NewLatency()
	}
	return o
}

// Run starts and loads all peers, then measures them in rounds, every other
// one backwards. It returns a row for each peer, in their order. note gets a
// line for each step.
func Run(ctx context.Context, c Config, note func(string)) ([]Row, error) {
	if err := c.Validate(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	servers := make([]*Server, len(c.Peers))
	for i, name := range c.Peers {
		note("starting and loading " + name)
		s, err := Start(ctx, name, c.Transport, c.ServerCPUs, c.bytes())
		if err != nil {
			return nil, err
		}
		defer s.Stop()
		if err := load(ctx, s, &c.Workload); err != nil {
			return nil, fmt.Errorf("loading %s: %w", name, err)
		}
		servers[i] = s
	}
	outcomes := make([][]*outcome, len(servers))
	for round := range c.Repeat {
		order := make([]int, len(servers))
		for i := range order {
			order[i] = i
		}
		if round%2 == 1 {
			slices.Reverse(order)
		}
		for _, i := range order {
			note(fmt.Sprintf("round %d of %d: %s", round+1, c.Repeat, c.Peers[i]))
			o, err := measure(ctx, servers[i], &c, round)
			if err != nil {
				return nil, fmt.Errorf("%s: %w", c.Peers[i], err)
			}
			outcomes[i] = append(outcomes[i], o)
		}
	}
	rows := make([]Row, len(servers))
	for i, s := range servers {
		rows[i] = newRow(&c, c.Peers[i], s.version, outcomes[i])
	}
	return rows, nil
}

// load puts in what is there beforehand, over one connection.
func load(ctx context.Context, s *Server, w *ycsb.Config) error {
	conn, err := s.Dial(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	rs := make([]Request, 256)
	for from := uint64(0); from < w.Keys; from += uint64(len(rs)) {
		rs = rs[:min(uint64(len(rs)), w.Keys-from)]
		for i := range rs {
			op := w.Load(from + uint64(i))
			rs[i] = Request{Key: op.Key, Value: op.AppendValue(rs[i].Value[:0]), Set: true}
		}
		if err := conn.Do(ctx, rs); err != nil {
			return err
		}
	}
	return nil
}

// measure is one run of one peer. All clients begin at once, and count what
// begins and ends within the measured time.
func measure(ctx context.Context, s *Server, c *Config, round int) (*outcome, error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	perConn, atOnce := 1, c.InFlight
	if s.peer.shared {
		perConn, atOnce = c.InFlight, 1
	}
	var clients []*client
	for i := range c.Clients {
		conn, err := s.Dial(ctx)
		if err != nil {
			return nil, err
		}
		defer conn.Close()
		for j := range perConn {
			// Each run has streams of its own: what it inserts is new.
			number := (round*c.Clients+i)*perConn + j
			cl, err := newClient(c, conn, number, max(atOnce, c.Batch))
			if err != nil {
				return nil, err
			}
			clients = append(clients, cl)
		}
	}
	from := time.Now().Add(c.Warmup)
	to := from.Add(c.Duration)
	var wg sync.WaitGroup
	for _, cl := range clients {
		wg.Go(func() {
			if err := cl.run(ctx, from, to); err != nil {
				cancel(err) // The first says why, the others only that it ended.
			}
		})
	}
	server, own, wall, err := usage(ctx, s, from, to)
	if err != nil {
		cancel(err)
	}
	wg.Wait()
	if ctx.Err() != nil {
		return nil, context.Cause(ctx)
	}
	o := newOutcome()
	o.serverCores, o.clientCores = server/wall, own/wall
	for _, cl := range clients {
		for k, l := range cl.latency {
			o.latency[k].Merge(l)
		}
	}
	ops := int64(0)
	for _, l := range o.latency {
		ops += l.Count()
	}
	if ops == 0 {
		return nil, fmt.Errorf("%w: nothing was done within %v", ErrConfig, c.Duration)
	}
	o.opsPerS = float64(ops) / c.Duration.Seconds()
	return o, nil
}

// usage waits, and returns the processor seconds of the server and of this
// process, and how long it was between the readings.
func usage(ctx context.Context, s *Server, from, to time.Time) (server, own, wall float64, err error) {
	read := func(at time.Time) (server, own time.Duration, when time.Time, err error) {
		select {
		case <-ctx.Done():
			return 0, 0, when, context.Cause(ctx)
		case <-time.After(time.Until(at)):
		}
		var ru syscall.Rusage
		_ = syscall.Getrusage(syscall.RUSAGE_SELF, &ru) // Fails for bad arguments only.
		server, err = s.cpuTime()
		return server, time.Duration(ru.Utime.Nano() + ru.Stime.Nano()), time.Now(), err
	}
	s0, o0, t0, err0 := read(from)
	s1, o1, t1, err1 := read(to)
	return (s1 - s0).Seconds(), (o1 - o0).Seconds(), t1.Sub(t0).Seconds(), errors.Join(err0, err1)
}
