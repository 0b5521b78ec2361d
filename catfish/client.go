package catfish

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/policy"
	"github.com/catfish-index/catfish/rdma"
)

// Client searches and changes one collection of a server. All methods
// are safe for any number of goroutines, which share one connection.
type Client struct {
	*core
	name string // collection
}

// core is what the Clients of all collections over one connection share.
type core struct {
	addr   string
	opts   Options
	scheme Scheme
	log    *slog.Logger
	engine *policy.Engine
	counters
	leave   func()        // the group that is counted
	yielded atomic.Uint64 // counters.reads by YieldReads, when others were let run

	mu      sync.Mutex
	cur     *session
	changed chan struct{}          // closed when cur changes or the client closes
	lastErr error                  // of the last connection attempt
	devs    map[string]rdma.Device // by transport, kept between sessions
	live    atomic.Pointer[session]

	ctx  context.Context
	stop context.CancelFunc
	wg   sync.WaitGroup
}

// Dial connects to the server at addr (host:port). When the server goes
// away later, the client reconnects with back-off; Dial itself tries once
// and fails with ErrNoServer within opts.DialTimeout.
func Dial(ctx context.Context, addr string, opts Options) (*Client, error) {
	opts.setDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	sch, err := SchemeByName(opts.Policy)
	if err != nil {
		return nil, err
	}
	if opts.Transport == TransportTCP && opts.Policy == "" && opts.Custom == nil {
		sch, _ = SchemeByName("tcp") // nothing to choose there
	}
	if err := compatible(sch, opts); err != nil {
		return nil, err
	}
	if opts.Seed == 0 {
		opts.Seed = rand.Uint64()
	}
	c := &core{
		addr: addr, opts: opts, scheme: sch, log: opts.Logger,
		devs: make(map[string]rdma.Device), changed: make(chan struct{}),
	}
	c.decideBy(opts.Custom)
	if opts.TrustCache && c.cacheBytes() == 0 {
		c.leave()
		return nil, fmt.Errorf("%w: TrustCache without a cache; set CacheBytes, or a policy that has one", ErrOption)
	}
	c.ctx, c.stop = context.WithCancel(context.Background())
	dctx, cancel := context.WithTimeout(ctx, opts.DialTimeout)
	defer cancel()
	s, err := c.connect(dctx)
	if err != nil {
		c.Close()
		return nil, err
	}
	c.set(s)
	c.openFirst(dctx, s)
	c.wg.Go(c.maintain)
	return &Client{core: c, name: opts.Collection}, nil
}

// compatible refuses ways that need rings over plain sockets. Policy tcp
// is plain sockets by its name, whatever the transport of the others.
func compatible(sch Scheme, opts Options) error {
	if opts.Transport == TransportTCP && (!sch.TCP || opts.Custom != nil) {
		return fmt.Errorf("%w: transport tcp has no one-sided reads and no heartbeats; it goes with policy tcp only, not %s",
			ErrOption, sch.Name)
	}
	return nil
}

// groups are the clients of this process by what they have to tell each
// other.
var groups policy.Groups

// groupKey is who has: what is worth offloading depends on the transport,
// and on whether nodes are kept.
type groupKey struct {
	addr, transport string
	fabric          Fabric
	cached          bool
}

// decideBy makes the engine, with the user's own policy if there is one.
func (c *core) decideBy(p Policy) {
	g, leave := groups.Join(groupKey{c.addr, c.opts.Transport, c.opts.Fabric, c.cacheBytes() > 0})
	if p == nil {
		p = c.scheme.New(c.opts.Seed, g)
	}
	c.engine = policy.NewEngine(p, c.opts.Seed, time.Now, g)
	c.leave = func() {
		c.engine.Close()
		leave()
	}
}

// Collection is a Client for another collection over the same connection.
// Whether it exists is told by its first operation.
func (c *Client) Collection(name string) (*Client, error) {
	if err := checkName(name); err != nil {
		return nil, err
	}
	return &Client{core: c.core, name: name}, nil
}

// ConnInfo says what a client talks to, and how.
type ConnInfo struct {
	Addr      string `json:"addr"`
	Transport string `json:"transport"`
	Reason    string `json:"transport_reason"`
	Device    string `json:"device,omitempty"` // what carries the transport
	Policy    string `json:"policy"`
	BootID    uint64 `json:"boot_id,string"`
	Version   string `json:"version"`
	NodeBytes int    `json:"node_bytes"`
}

// Info describes the present connection, or the last one.
func (c *Client) Info() ConnInfo {
	s := c.live.Load()
	i := ConnInfo{
		Addr: c.addr, Transport: s.transport, Reason: s.reason, Policy: c.engine.Policy(),
		BootID: s.hello.BootID, Version: s.hello.Version,
	}
	if s.dev != nil {
		i.Device = s.dev.Info().Detail
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if o := s.slabs[c.name]; o != nil {
		i.NodeBytes = int(o.NodeBytes)
	}
	return i
}

// Close ends the connection. Calls under way return errors.
func (c *core) Close() error {
	c.stop()
	c.wg.Wait()
	c.leave()
	c.mu.Lock()
	s, devs := c.cur, c.devs
	c.cur, c.devs = nil, nil
	c.mu.Unlock()
	if s != nil {
		s.retire()
		s.close()
		<-s.channels.drained
	}
	var err error
	for _, d := range devs {
		err = errors.Join(err, d.Close())
	}
	return err
}

// set publishes a session, nil when there is none.
func (c *core) set(s *session) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.cur = s
	if s != nil {
		c.live.Store(s)
		c.lastErr = nil
	}
	close(c.changed)
	c.changed = make(chan struct{})
}

// Reconnection back-off: from quick enough for a restart to go unnoticed
// to slow enough that a thousand clients do not hammer a dead server.
const (
	firstPause = 10 * time.Millisecond
	lastPause  = time.Second
)

// maintain replaces sessions that broke until the client is closed.
func (c *core) maintain() {
	for {
		s := c.live.Load()
		select {
		case <-s.caller.Done():
		case <-c.ctx.Done():
			return
		}
		c.set(nil)
		s.retire()
		s.close()
		// Reads under way use memory of the device: Close waits for them.
		c.wg.Go(func() { <-s.channels.drained })
		c.log.Warn("connection lost, reconnecting", "addr", c.addr, "transport", s.transport)
		if !c.reconnect(s) {
			return
		}
	}
}

func (c *core) reconnect(old *session) bool {
	for pause := firstPause; ; pause = min(2*pause, lastPause) {
		ctx, cancel := context.WithTimeout(c.ctx, c.opts.DialTimeout)
		s, err := c.connect(ctx)
		cancel()
		if err == nil {
			c.log.Info("reconnected", "addr", c.addr, "transport", s.transport,
				"restarted", s.hello.BootID != old.hello.BootID)
			c.reconnects.Add(1)
			c.set(s)
			c.openFirst(c.ctx, s)
			return true
		}
		c.mu.Lock()
		c.lastErr = err
		c.mu.Unlock()
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
func (c *core) session(ctx context.Context) (*session, error) {
	if s := c.live.Load(); s != nil {
		select {
		case <-s.caller.Done():
		default:
			return s, nil
		}
	}
	var timeout <-chan time.Time
	for {
		c.mu.Lock()
		s, changed := c.cur, c.changed
		c.mu.Unlock()
		if c.ctx.Err() != nil {
			return nil, fmt.Errorf("%w: %w", ErrNotSent, ErrClosed)
		}
		if s != nil {
			select {
			case <-s.caller.Done():
			default:
				return s, nil
			}
		}
		if timeout == nil {
			t := time.NewTimer(c.opts.DialTimeout)
			defer t.Stop()
			timeout = t.C
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, fmt.Errorf("%w: %w while reconnecting to %s", ErrNotSent, ctx.Err(), c.addr)
		case <-c.ctx.Done():
		case <-timeout:
			c.mu.Lock()
			last := c.lastErr
			c.mu.Unlock()
			if last == nil {
				last = errors.New("the first attempt to reconnect is still under way")
			}
			return nil, fmt.Errorf("%w at %s for %v: %w", ErrNoServer, c.addr, c.opts.DialTimeout, last)
		}
	}
}

// device opens a transport's device once per client.
func (c *core) device(s *session) (rdma.Device, string, error) {
	addr, transport := c.addr, s.transport
	if transport == TransportSHM {
		addr = s.hello.Socket
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ctx.Err() != nil {
		return nil, "", ErrClosed
	}
	if d := c.devs[transport]; d != nil {
		return d, addr, nil
	}
	d, err := openDevice(transport, nil, 0, s.fabric)
	if err != nil {
		return nil, "", fmt.Errorf("%w: %s: %w", ErrTransport, transport, err)
	}
	if c.opts.wrap != nil {
		d = c.opts.wrap(d)
	}
	c.devs[transport] = d
	return d, addr, nil
}
