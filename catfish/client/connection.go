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
	records "github.com/catfish-index/catfish/internal/kv/remote"
	"github.com/catfish-index/catfish/internal/policy"
)

// connection is what the Clients of all collections share: successive sessions with one
// server, or with the primaries of a group, and the state that outlives a session. Each part owns its state:
//
//	engines    which path a search takes (package policy), by kind of collection
//	servers    where the next session goes
//	cluster    the connections to the groups, if there are several (cluster.go)
//	sessions   which session is the present one
//	devices    the transports' devices, shared with other clients
//	counters   what was done
type connection struct {
	addr   string // as the caller gave it: one address, or several
	opts   Options
	scheme Scheme
	log    *slog.Logger

	engines  [kinds]*policy.Engine // all one, if the policy is the user's own
	leave    func()                // the groups of clients
	servers  servers
	others   *secondaries  // nil: features are read at the primary, too
	looks    chan struct{} // look
	cluster  *cluster      // nil: there is one group, or it is a part of one that several have
	part     *ofCluster    // nil: it is the whole
	sessions sessions
	devices  devices
	pointers *records.PointerFile // Options.SharedPointers, nil: none
	counters counters
	id       uint64        // random: of the names of writes (repeat.go)
	numbers  atomic.Uint64 // of the last write that has a name
	seen     atomic.Uint64 // a revision of the group that readers have seen
	yielded  atomic.Uint64 // counters.reads by policy.YieldReads, when other goroutines were let run

	leavePointers func() // nil with pointers

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
	all, err := newServers(addr)
	if err != nil {
		return nil, err
	}
	c := &connection{addr: addr, opts: opts, scheme: sch, log: opts.Logger, servers: all, looks: make(chan struct{}, 1), id: max(rand.Uint64(), 1)}
	if opts.TrustCache && c.cacheBytes() == 0 {
		return nil, fmt.Errorf("%w: TrustCache without a cache; set CacheBytes, or a policy that has one", model.ErrOption)
	}
	if opts.Pointers == PointersAnswers && c.cacheBytes() == 0 {
		return nil, fmt.Errorf("%w: Pointers by answers without a cache; set CacheBytes, or a policy that has one", model.ErrOption)
	}
	if err := c.openPointerFile(); err != nil {
		return nil, err
	}
	c.others = newSecondaries(c)
	c.sessions.init()
	c.devices.shared = &opts.Shared.devices
	c.ctx, c.stop = context.WithCancel(context.Background())
	c.decideBy(opts.Custom)
	return c, nil
}

// decideBy makes the engines, or one with the user's own policy.
func (c *connection) decideBy(p Policy) {
	c.leave = func() {}
	for k := range kinds {
		if p != nil && k > 0 {
			c.engines[k] = c.engines[0]
			continue
		}
		g, leave := c.opts.Shared.groups.Join(groupKey{c.addr, c.opts.Transport, c.opts.Fabric, c.cacheBytes() > 0, k})
		of := p
		if of == nil {
			of = c.scheme.New(c.opts.Seed, g, c.opts.Backoff)
		}
		e, before := policy.NewEngine(of, c.opts.Seed, time.Now, g), c.leave
		c.engines[k] = e
		c.leave = func() {
			e.Close()
			leave()
			before()
		}
	}
}

// start makes the first session, and starts maintain.
func (c *connection) start(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, c.opts.DialTimeout)
	defer cancel()
	s, err := c.connect(ctx)
	for pauses := (pauses{}); errors.Is(err, errNoPrimary) && pauses.atMost(longestSearch).wait(ctx); {
		next, failed := c.connect(ctx)
		if end, _ := ctx.Deadline(); failed == nil || ctx.Err() == nil && time.Now().Before(end) {
			s, err = next, failed
		} // Else the time has ended the attempt; a socket may say so before ctx.
	}
	if err != nil {
		return err
	}
	c.sessions.set(s)
	c.openFirst(ctx, s)
	c.wg.Go(c.maintain)
	if c.others != nil && s.lease != nil {
		c.wg.Go(c.others.run)
	}
	return nil
}

// close ends the client. A second call does nothing.
func (c *connection) close() error {
	c.stop()
	var err error
	if c.cluster != nil {
		err = c.cluster.close()
	}
	c.wg.Wait()
	c.leave()
	if s := c.sessions.latest(); s != nil {
		s.close()
		s.drained()
	}
	if c.pointers != nil {
		c.leavePointers()
	}
	return errors.Join(err, c.devices.close())
}

// maintain replaces sessions that broke until the client is closed.
func (c *connection) maintain() {
	for {
		s := c.sessions.latest()
		left, still := c.over(s)
		if c.ctx.Err() != nil {
			return
		}
		c.wg.Go(func() {
			if left && !still {
				c.linger(s)
			}
			s.close()
			// In-flight reads use memory of the device: close waits for them.
			s.drained()
		})
		if left {
			c.log.Info("another member is the primary, reconnecting", "addr", c.addr, "was", s.server)
		} else {
			c.log.Warn("connection lost, reconnecting", "addr", c.addr, "transport", s.transport)
		}
		if !c.reconnect(s) {
			return
		}
	}
}

func (c *connection) reconnect(old *session) bool {
	var pauses pauses
	for {
		ctx, cancel := context.WithTimeout(c.ctx, c.opts.DialTimeout)
		s, err := c.connect(ctx)
		cancel()
		if err == nil {
			c.meet(old, s)
			c.log.Info("reconnected", "addr", s.server, "transport", s.transport,
				"restarted", s.hello.BootID != old.hello.BootID && !sameGroup(old, s))
			c.counters.reconnects.Add(1)
			c.sessions.set(s)
			c.openFirst(c.ctx, s)
			return true
		}
		c.sessions.failed(err)
		if c.part != nil {
			c.part.refresh(c)
		}
		if errors.Is(err, errNoPrimary) {
			pauses.atMost(longestSearch)
		}
		if !pauses.wait(c.ctx) {
			return false
		}
	}
}

// session returns the session for the next attempt of a request, waiting up to
// DialTimeout for one. Every request, read, write or watch, gets its session here.
func (c *connection) session(ctx context.Context) (*session, error) {
	if s := c.sessions.latest(); s.alive() {
		return s, nil
	}
	if c.cluster != nil {
		return nil, model.ErrSeveralGroups
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

// mailbox returns that of the latest session, for boxes.
func (c *connection) mailbox() policy.Mailbox { return &c.sessions.latest().mailboxes[ofBoxes] }
