package client

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/policy"
)

// connection is what the Clients of all collections share: successive sessions with one
// server, and the state that outlives a session. Each part owns its state:
//
//	engine     which path a search takes (package policy); records have their
//	           own, since what their reads cost has nothing to do with a tree's
//	sessions   which session is the present one
//	devices    the transports' devices, shared with other clients
//	counters   what was done
type connection struct {
	addr   string
	opts   Options
	scheme Scheme
	log    *slog.Logger

	engine   *policy.Engine
	records  *policy.Engine // engine, if the policy is the user's own
	features *policy.Engine // as records
	leave    func()         // the group of clients
	sessions sessions
	devices  devices
	counters counters
	yielded  atomic.Uint64 // counters.reads by policy.YieldReads, when other goroutines were let run

	ctx  context.Context // done when the client is closed
	stop context.CancelFunc
	wg   sync.WaitGroup // maintain, and in-flight reads of ended sessions
}

// newConnection checks the options. It does not connect yet.
func newConnection(addr string, opts Options) (*connection, error) {
	opts.setDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	sch, err := SchemeByName(opts.Policy)
	if err != nil {
		return nil, err
	}
	if opts.Transport == model.TransportTCP && opts.Policy == "" && opts.Custom == nil {
		sch, _ = SchemeByName("tcp") // plain sockets leave no choice
	}
	if err := compatible(sch, opts); err != nil {
		return nil, err
	}
	if opts.Seed == 0 {
		opts.Seed = rand.Uint64()
	}
	c := &connection{addr: addr, opts: opts, scheme: sch, log: opts.Logger}
	if opts.TrustCache && c.cacheBytes() == 0 {
		return nil, fmt.Errorf("%w: TrustCache without a cache; set CacheBytes, or a policy that has one", model.ErrOption)
	}
	c.sessions.init()
	c.devices.shared = &opts.Shared.devices
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.decideBy(opts.Custom)
	return c, nil
}

// decideBy makes the engine, with the user's own policy if there is one.
func (c *connection) decideBy(p Policy) {
	var leave, leaveRecords, leaveFeatures func()
	c.engine, leave = c.newEngine(p, model.KindBoxes)
	c.records, leaveRecords = c.engine, func() {}
	c.features, leaveFeatures = c.engine, func() {}
	if p == nil {
		c.records, leaveRecords = c.newEngine(nil, model.KindRecords)
		c.features, leaveFeatures = c.newEngine(nil, model.KindFeatures)
	}
	c.leave = func() {
		leaveFeatures()
		leaveRecords()
		leave()
	}
}

func (c *connection) newEngine(p Policy, kind string) (*policy.Engine, func()) {
	g, leave := c.opts.Shared.groups.Join(groupKey{c.addr, c.opts.Transport, c.opts.Fabric, c.cacheBytes() > 0, kind})
	if p == nil {
		p = c.scheme.New(c.opts.Seed, g, c.opts.Backoff)
	}
	e := policy.NewEngine(p, c.opts.Seed, time.Now, g)
	return e, func() {
		e.Close()
		leave()
	}
}

// start makes the first session, and starts maintain.
func (c *connection) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.opts.DialTimeout)
	defer cancel()
	s, err := c.connect(ctx)
	if err != nil {
		return err
	}
	c.sessions.set(s)
	c.openFirst(ctx, s)
	c.wg.Go(c.maintain)
	return nil
}

// close ends the client. A second call does nothing.
func (c *connection) close() error {
	c.stop()
	c.wg.Wait()
	c.leave()
	if s := c.sessions.latest(); s != nil {
		s.close()
		s.drained()
	}
	return c.devices.close()
}

// Reconnection back-off: the shortest pause lets a restart go unnoticed, the longest
// keeps a thousand clients from hammering a dead server.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// maintain replaces sessions that broke until the client is closed.
func (c *connection) maintain() {
	for {
		s := c.sessions.latest()
		select {
		case <-s.caller.Done():
		case <-c.ctx.Done():
			return
		}
		s.close()
		// In-flight reads use memory of the device: close waits for them.
		c.wg.Go(s.drained)
		c.log.Warn("connection lost, reconnecting", "addr", c.addr, "transport", s.transport)
		if !c.reconnect(s) {
			return
		}
	}
}

func (c *connection) reconnect(old *session) bool {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		ctx, cancel := context.WithTimeout(c.ctx, c.opts.DialTimeout)
		s, err := c.connect(ctx)
		cancel()
		if err == nil {
			c.meet(old, s)
			c.log.Info("reconnected", "addr", c.addr, "transport", s.transport,
				"restarted", s.hello.BootID != old.hello.BootID)
			c.counters.reconnects.Add(1)
			c.sessions.set(s)
			c.openFirst(c.ctx, s)
			return true
		}
		c.sessions.failed(err)
		t := time.NewTimer(pause/2 + rand.N(pause))
		select {
		case <-t.C:
		case <-c.ctx.Done():
			t.Stop()
			return false
		}
	}
}

// session returns the present session, waiting up to DialTimeout for one.
func (c *connection) session(ctx context.Context) (*session, error) {
	if s := c.sessions.latest(); s.alive() {
		return s, nil
	}
	timeout := time.NewTimer(c.opts.DialTimeout)
	defer timeout.Stop()
	for {
		s, changed := c.sessions.watch()
		if c.ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", model.ErrNotSent, model.ErrClosed)
		}
		if s.alive() {
			return s, nil
		}
		if last := c.sessions.lastError(); errors.Is(last, model.ErrUnauthenticated) {
			return nil, fmt.Errorf("%w: %w", model.ErrNotSent, last) // Waiting does not help.
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w while reconnecting to %s", model.ErrNotSent, ctx.Err(), c.addr)
		case <-c.ctx.Done():
		case <-timeout.C:
			last := c.sessions.lastError()
			if last == nil {
				last = errors.New("the first attempt to reconnect is still under way")
			}
			return nil, fmt.Errorf("%w at %s for %v: %w", model.ErrNoServer, c.addr, c.opts.DialTimeout, last)
		}
	}
}

// cacheBytes bounds the cache of each collection, 0: none.
func (c *connection) cacheBytes() int64 {
	switch b := c.opts.CacheBytes; {
	case b != 0:
		return max(b, 0)
	case c.opts.Custom == nil && c.scheme.Cached:
		return DefaultCacheBytes
	}
	return 0
}

// mailbox returns that of the latest session.
func (c *connection) mailbox() policy.Mailbox { return &c.sessions.latest().mailbox }
