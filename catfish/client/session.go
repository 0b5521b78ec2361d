package client

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/heartbeat"
	"github.com/catfish-index/catfish/internal/feature"
	records "github.com/catfish-index/catfish/internal/kv/remote"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rstar/remote"
	"github.com/catfish-index/catfish/internal/wire"
)

// caller carries requests and answers: rings, or a plain socket.
type caller interface {
	Call(ctx context.Context, kind fastmsg.Kind, payload, dst []byte) ([]byte, fastmsg.Kind, error)
	Done() <-chan struct{}
	Close() error
}

// session is one connection to one incarnation of a server. When it
// breaks, the client makes a new one; nothing in it is repaired.
type session struct {
	server    string // its address
	hello     wire.Hello
	transport string
	reason    string       // why this transport
	fabric    model.Fabric // ofi's device
	dev       rdma.Device
	addr      string // where read channels dial
	caller    caller
	mailboxes [kinds]mailbox // each engine observes all heartbeats
	window    int
	shared    *Shared
	restart   *restartCheck   // the restart check; nil: none
	cacheKey  remote.CacheKey // of this session's caches, except the collection
	pointers  *records.PointerFile
	trust     time.Duration // slab.Trust
	lease     *memberLease  // nil: the server is in no group
	calls     *calls        // nil: the server is in no group
	epochs    *epochs       // nil: there is one group
	inSync    bool          // it is read as a secondary, too
	caughtUp  atomic.Uint64 // what it shows (readfrom.go)

	last     atomic.Pointer[openSlab] // the last one that open returned
	mu       sync.Mutex
	slabs    map[string]*openSlab
	channels channels // for trees
	// recordChannels are for records.
	recordChannels channels
	ended          bool // close was called
	gone           atomic.Bool
	left           chan struct{} // closed with gone: another member of the group is the primary
	renewals       sync.Once
	uploads        uploadNumbers
	watches        atomic.Uint64 // number of the last watch
	background     sync.WaitGroup
	nameLease      time.Duration // Options.nameLease

	// lanes to owners of shards, by worker; nil: not ready. An owner's number is
	// below the number of shards.
	lanes    [model.MaxShards]atomic.Pointer[lane]
	opening  map[int]*lane // all lanes, by worker
	dialLane func(worker int) (caller, error)
}

// slab is a collection's tree in the server's memory.
type slab = remote.Tree

// openSlab is a collection as this session knows it.
type openSlab struct {
	slab
	records *recordsAt // nil: it has boxes
	// features: the records are features, and the tree has their boxes.
	features bool
	space    feature.Space
	part     *openShard // the shard, nil: the collection is not divided
	name     string
	coll     uint32
	release  func() // gives the cache back
	// leaveCache is the part of release that is for features.
	leaveCache func()
	// outgrown: the session must ask the server again where the tree is.
	outgrown atomic.Bool
	// until is when the session must ask for the name again (swap.go), 0: never.
	until time.Duration
}

// connect makes a session with the only server, or the group's primary. ctx bounds it.
func (c *connection) connect(ctx context.Context) (*session, error) {
	found, err := c.servers.find(ctx)
	if err != nil {
		return nil, err
	}
	return c.connectTo(ctx, found)
}

// connectTo makes a session with a server that has said hello.
func (c *connection) connectTo(ctx context.Context, found helloAnswer) (_ *session, err error) {
	s, err := c.reach(ctx, found)
	if err != nil {
		return nil, err
	}
	// The collection is opened now, so that offloading needs no worker
	// later, and a wrong name is an error at once.
	// If the collection does not exist when a client reconnects, or is not
	// loaded, the client's calls return the error.
	_, err = s.open(ctx, c.opts.Collection)
	again := c.sessions.latest() != nil && errors.Is(err, model.ErrUnknownCollection)
	// A key for other collections need not permit the default one.
	again = again || c.opts.Collection == model.DefaultCollection && errors.Is(err, model.ErrNotPermitted)
	if err != nil && !again && !errors.Is(err, model.ErrNotReady) {
		s.close()
		return nil, err
	}
	return s, nil
}

// reach is connectTo without a collection.
func (c *connection) reach(ctx context.Context, found helloAnswer) (_ *session, err error) {
	server, h := found.addr, found.hello
	c.saw(&h)
	ticket := uint64(0)
	if h.Key {
		if ticket, err = wire.AskTicket(ctx, server, c.opts.Key); err != nil {
			return nil, err
		}
	}
	want := c.opts.Transport
	if c.scheme.TCP {
		want = model.TransportTCP
	}
	choices, err := wire.ChooseTransports(want, h, c.opts.Fabric)
	if err != nil {
		return nil, err
	}
	if c.scheme.TCP {
		choices[0].Reason = "policy tcp is plain sockets"
	}
	h.Ticket = ticket
	return c.connectByAny(ctx, server, h, choices)
}

// openFirst opens a read channel for a session that is in use, if searches
// may be offloaded and no client that it shares channels with has opened one.
// Later, a search that fast messaging could have answered would wait for the
// channel, and a policy would count the wait as the cost of offloading. If it
// takes too long here, the first offloaded search tries again.
func (c *connection) openFirst(ctx context.Context, s *session) {
	if path, always := c.engines[ofBoxes].Always(); !s.canOffload() || always && path == FastMessaging {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, c.opts.DialTimeout/4)
	defer cancel()
	if err := s.channels.openFirst(ctx); err != nil && c.ctx.Err() == nil {
		c.log.Warn("no read channel to offload by yet", "server", s.server, "err", err)
	}
}

// connectByAny makes the session's connection over the first of choices that
// works. The reason of a later choice says why the earlier ones failed.
func (c *connection) connectByAny(ctx context.Context, server string, h wire.Hello, choices []wire.Choice) (*session, error) {
	why := choices[0].Reason
	for i, ch := range choices {
		ch.Reason = why
		last := i+1 == len(choices)
		s, err := c.connectBy(ctx, server, h, ch, !last)
		switch {
		case err == nil:
			return s, nil
		case last && i > 0:
			return nil, fmt.Errorf("%w; before it: %s", err, why)
		case last || !triesNext(err) || ctx.Err() != nil:
			return nil, err
		}
		why = fmt.Sprintf("%s; %s failed: %v", why, ch.Transport, err)
		c.log.Warn("transport failed, trying the next", "transport", ch.Transport,
			"next", choices[i+1].Transport, "err", err)
	}
	return nil, model.ErrTransport // choices are never empty
}

// triesNext reports whether another transport may work: this one could not be
// opened or reached, did not answer in time, or refused, for example for want of
// room.
func triesNext(err error) bool {
	for _, e := range []error{
		rdma.ErrDial, rdma.ErrRegister, rdma.ErrRejected, rdma.ErrTimeout, model.ErrTransport, context.DeadlineExceeded,
	} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// connectBy makes the session's connection over one transport. It leaves
// half of the time for the next one: a network that drops packets returns no
// error.
func (c *connection) connectBy(ctx context.Context, server string, h wire.Hello, ch wire.Choice, next bool) (*session, error) {
	if end, ok := ctx.Deadline(); ok && next {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Until(end)/2)
		defer cancel()
	}
	s := &session{
		server: server, hello: h, transport: ch.Transport, reason: ch.Reason, fabric: ch.Fabric,
		slabs: make(map[string]*openSlab), left: make(chan struct{}), uploads: newUploadNumbers(), window: c.opts.Window, shared: c.opts.Shared,
		nameLease: c.opts.hooks.NameLease,
		cacheKey:  remote.CacheKey{Addr: server, BootID: h.BootID, Bytes: c.cacheBytes()}, pointers: c.pointers,
	}
	if c.opts.TrustCache {
		s.trust = c.opts.HeartbeatInterval
		if s.trust == 0 {
			s.trust = model.DefaultHeartbeatInterval
		}
	}
	if c.scheme.Single {
		s.window = 1
	}
	if c.part != nil {
		s.epochs = newEpochs(c.part.cluster)
	}
	s.lease = newMemberLease(s, s.inSync)
	if h.Group != nil {
		s.calls = new(calls)
	}
	s.channels.init()
	s.recordChannels.init()
	if err := s.dial(ctx, c); err != nil {
		s.close()
		return nil, err
	}
	c.log.Debug("connected", "server", server, "transport", s.transport, "reason", s.reason)
	return s, nil
}

func (s *session) dial(ctx context.Context, c *connection) error {
	if s.transport == model.TransportTCP {
		t, err := dialTCP(ctx, s.server, s.hello.Ticket)
		if err != nil {
			return err
		}
		s.caller = t
		return nil
	}
	var err error
	key := s.deviceKey()
	if s.dev, err = c.devices.get(key, c.opts.hooks.Wrap); err != nil {
		return err
	}
	if s.addr = s.server; s.transport == model.TransportSHM {
		s.addr = s.hello.Socket
	}
	c.joinChannels(s, key)
	s.dialLane = func(worker int) (caller, error) { return c.dialWorker(s, worker) }
	fc, err := c.dialRing(ctx, s, wire.AppendClientHello(nil, s.hello.BootID, c.opts.HeartbeatInterval, c.scheme.Poll))
	if err != nil {
		if errors.Is(err, rdma.ErrDial) && !errors.Is(err, model.ErrTransport) {
			err = fmt.Errorf("%w at %s: %w", model.ErrNoServer, s.server, err)
		}
		return fmt.Errorf("catfish: transport %s: %w", s.transport, err)
	}
	s.caller = fc
	for k := range s.mailboxes {
		if s.mailboxes[k].slot, err = heartbeat.NewMailbox(fc.Mailbox()); err != nil {
			return err
		}
	}
	return nil
}

// call sends a request and turns a failure answer into an error.
func (s *session) call(ctx context.Context, kind fastmsg.Kind, payload, dst []byte) ([]byte, error) {
	return s.callBy(ctx, s.caller, kind, payload, dst)
}

func (s *session) callBy(ctx context.Context, by caller, kind fastmsg.Kind, payload, dst []byte) ([]byte, error) {
	if s.calls != nil {
		s.calls.begun.Add(1)
		defer s.calls.ended.Add(1)
	}
	if s.epochs != nil && (wire.ByMap(kind) || kind == wire.KindOpen) {
		if err := s.epochs.send(ctx, s, by, false); err != nil {
			return dst, err
		}
	}
	base := len(dst)
	dst, k, err := by.Call(ctx, kind, payload, dst)
	switch {
	case err != nil:
		return dst, err
	case k == wire.KindReply:
		return dst, nil
	case k == wire.KindFailure:
		return dst[:base], wire.GetFailure(dst[base:])
	}
	return dst[:base], fmt.Errorf("%w: answer of kind %d", model.ErrProtocol, k)
}

// open resolves a collection's name, once per session.
func (s *session) open(ctx context.Context, name string) (*openSlab, error) {
	if o := s.last.Load(); o != nil && o.name == name && !o.stale() {
		return o, nil
	}
	s.mu.Lock()
	o := s.slabs[name]
	s.mu.Unlock()
	if o != nil && !o.stale() {
		s.last.Store(o)
		return o, nil
	}
	asked := time.Now()
	b, err := s.call(ctx, wire.KindOpen, []byte(name), nil)
	if err != nil {
		return nil, err
	}
	switch len(b) {
	case wire.OpenRecordsBytes, wire.OpenShardBytes:
		r, err := wire.GetOpenRecords(b)
		if err != nil {
			return nil, err
		}
		return s.openedRecords(name, &r, nil, asked)
	case wire.OpenFeaturesBytes:
		f, err := wire.GetOpenFeatures(b)
		if err != nil {
			return nil, err
		}
		return s.openedRecords(name, &f.OpenRecords, &f, asked)
	}
	r, err := wire.GetOpenReply(b)
	if err != nil {
		return nil, err
	}
	// A server may have restarted between its hello and this connection.
	if r.BootID != s.hello.BootID {
		return nil, fmt.Errorf("%w: boot id %#x, said hello with %#x", remote.ErrServerChanged, r.BootID, s.hello.BootID)
	}
	if r.NodeBytes > wire.MaxNode {
		return nil, fmt.Errorf("%w: node of %d bytes, want at most %d", model.ErrProtocol, r.NodeBytes, wire.MaxNode)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch old := s.slabs[name]; {
	case old == nil:
		o := &openSlab{name: name, coll: r.Coll, release: func() {}, slab: slab{
			Base: r.Base, Bytes: r.SlabBytes, NodeBytes: r.NodeBytes, BootID: s.hello.BootID,
			Trust: s.trust, KnownRoot: s.window == 1,
		}}
		if s.canOffload() && !s.ended {
			k := s.cacheKey
			k.Tree, k.NodeBytes = r.Coll, r.NodeBytes
			o.Cache, o.release = s.shared.caches.Share(k)
		}
		s.slabs[name] = o
	case old.outgrown.Load() && old.coll == r.Coll:
		s.slabs[name] = old.grown(r.Base, r.SlabBytes)
	}
	return s.slabs[name], nil
}

// grown returns the same tree with more memory.
func (o *openSlab) grown(base rdma.Remote, bytes uint64) *openSlab {
	return &openSlab{name: o.name, coll: o.coll, release: o.release, slab: slab{
		Base: base, Bytes: bytes, NodeBytes: o.NodeBytes, BootID: o.BootID, Cache: o.Cache, Trust: o.Trust, KnownRoot: o.KnownRoot,
	}}
}

// openChecked is open with the restart check, which may refuse a request of
// this kind.
func (s *session) openChecked(ctx context.Context, name string, kind fastmsg.Kind) (*openSlab, error) {
	o, err := s.open(ctx, name)
	if err == nil && s.restart != nil {
		err = s.restart.check(ctx, s, o, kind)
	}
	return o, err
}

// canOffload is false over plain sockets, which have no one-sided reads.
func (s *session) canOffload() bool { return s.dev != nil }

// alive reports whether the session exists, and has neither ended nor been left.
func (s *session) alive() bool {
	if s == nil || s.gone.Load() {
		return false
	}
	select {
	case <-s.caller.Done():
		return false
	default:
		return true
	}
}

// close ends the session. A second call does nothing.
func (s *session) close() {
	s.retire()
	if s.caller != nil {
		s.caller.Close()
	}
	s.channels.close()
	s.recordChannels.close()
	defer s.closeLanes()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ended {
		return
	}
	s.ended = true
	for _, o := range s.slabs {
		o.release()
	}
}

// retire detaches the mailboxes before their memory is released.
func (s *session) retire() {
	for k := range s.mailboxes {
		s.mailboxes[k].retire()
	}
}

// drained waits for the in-flight reads of a closed session: they use memory of
// its device.
func (s *session) drained() {
	<-s.channels.drained
	<-s.recordChannels.drained
	s.background.Wait()
}
