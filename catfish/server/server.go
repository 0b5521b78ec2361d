package server

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"net"
	"os"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/heartbeat"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/quietlog"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/ofi"
	"github.com/catfish-index/catfish/internal/recording"
	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// Server hosts named collections and answers clients over the transports of
// its options. All methods are safe for concurrent use.
type Server struct {
	opts    Options
	log     *slog.Logger
	quiet   *quietlog.Handler // log's handler: peers cannot fill the log
	bootID  uint64            // random at each start, so that clients notice a restart
	started time.Time

	ln      net.Listener
	mux     *mux
	streams *streamBudgets
	fabrics []*fabric
	shm     shmBudgets
	store   *store.Store // of all collections; nil until open has made it

	backingUp sync.Mutex // held while a backup is made
	// clientColls counts the collections that clients created, by source.
	clientColls *limits.Budget
	monitor     *heartbeat.Monitor

	budgets budgets
	memory  memory
	turns   *limits.Slots
	checks  checks
	uploads sets[*uploadSet] // in flight

	watchSets   sets[*watchSet]
	watchBudget *limits.Budget // areas that clients watch

	rec    *recording.Recorder // nil: nothing is recorded
	access *gatekeeper         // nil: clients need no key
	meters map[string]*meter   // by transport; nil: nothing is counted

	tcpRequests  atomic.Uint64
	tcpWork      sync.Pool // of *tcpWork
	mu           sync.Mutex
	tcpConns     map[net.Conn]bool
	otherBudgets []func() []model.BudgetStats
	closed       bool
	served       bool // Serve was called; Close waits for it

	stop   context.CancelFunc
	ctx    context.Context
	closer sync.Once
	// closeErr is what Close returns.
	closeErr error
	group    atomic.Pointer[func() *wire.GroupHello]
	// clusterOf says which groups have the store together (SetCluster); boundLease: BoundLeases.
	clusterOf  atomic.Pointer[func() *wire.Cluster]
	loadBy     atomic.Pointer[wire.Cluster]
	placedBy   atomic.Pointer[placed] // the latest map that has judged boxes
	boundLease atomic.Pointer[func(replica.Lease) replica.Lease]
	rings      atomic.Pointer[func(rdma.Device, string, rdma.ConnRequest) error] // AnswerRings
	serving    sync.WaitGroup                                                    // Serve; memory is released after it has ended
}

// NewServer binds the address and opens the transports. The server answers no
// client before Serve, but its collections can be filled. Always Close it.
func NewServer(opts Options) (*Server, error) {
	opts.setDefaults()
	if err := opts.validate(); err != nil {
		return nil, err
	}
	var rec *recording.Recorder
	if opts.Record.File != "" {
		var err error
		if rec, err = recording.New(recording.Options(opts.Record), opts.Logger); err != nil {
			return nil, err
		}
	}
	s, err := newServer(opts)
	if opts.maybeOFI && (errors.Is(err, rdma.ErrRegister) || errors.Is(err, ofi.ErrFabric)) {
		// If the card cannot be used, or the limit on locked memory is too
		// low, the server serves the other transports. The log says so, and the
		// hello lists the available transports.
		opts.Logger.Warn("serving without ofi", "err", err)
		opts.Transports = slices.DeleteFunc(opts.Transports, func(t string) bool { return t == model.TransportOFI })
		s, err = newServer(opts)
	}
	if rec != nil {
		if err != nil {
			// Without the file, which is empty, the next start succeeds.
			return nil, errors.Join(err, rec.Discard())
		}
		s.record(rec)
	}
	return s, err
}

func newServer(opts Options) (*Server, error) {
	s := &Server{
		opts: opts, started: time.Now(),
		tcpConns: make(map[net.Conn]bool), shm: newSHMBudgets(opts.MemoryLimit, opts.member.on),
		streams:     newStreamBudgets(opts.MemoryLimit),
		clientColls: newClientCollections(opts.ClientCollections),
		budgets:     newBudgets(opts.MemoryLimit), turns: limits.NewLongSlots(), checks: newChecks(), watchBudget: limits.NewWatchBudget("watched areas", opts.Watch.Areas),
		meters: newMeters(&opts),
		quiet:  quietlog.New(opts.Logger.Handler(), time.Now),
	}
	s.access = newGatekeeper(opts.Keys, s.tickSoon)
	s.log = slog.New(s.quiet)
	for s.bootID == 0 {
		s.bootID = rand.Uint64()
	}
	// Requests that the end interrupts fail by ErrClosed, so that a client of a group repeats
	// them at another member.
	ctx, stop := context.WithCancelCause(context.Background())
	s.ctx, s.stop = ctx, func() { stop(model.ErrClosed) }
	if err := s.open(); err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Server) open() (err error) {
	s.ln, err = net.Listen("tcp", s.opts.Listen)
	if err != nil {
		if errors.Is(err, syscall.EADDRINUSE) {
			return fmt.Errorf("%w: %s: %w", model.ErrInUse, s.opts.Listen, err)
		}
		return fmt.Errorf("catfish: cannot listen on %q: %w", s.opts.Listen, err)
	}
	s.mux = newMux(s.ln, s.streams)
	s.mux.hello = s.hello
	s.mux.tcp, s.mux.access = s.serveTCP, s.access
	s.mux.reject = func(c net.Conn, err error) {
		s.log.Warn("connection refused", "peer", c.RemoteAddr(), "err", err)
	}
	s.mux.failed = func(err error) { s.log.Warn("accept failed", "err", err) }
	if s.opts.member.on {
		s.mux.streams[wire.StreamReplica] = newChanListener(s.ln.Addr())
	}
	if s.monitor, err = newMonitor(s); err != nil {
		return err
	}
	if err := s.openFabrics(); err != nil {
		return err
	}
	return s.openStore()
}

// Serve answers clients until ctx is done or the Server is closed, and then
// returns nil. Call it once.
func (s *Server) Serve(ctx context.Context) error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.served = true
	s.serving.Add(1)
	s.mu.Unlock()
	defer s.serving.Done()
	stop := context.AfterFunc(ctx, s.stop)
	defer stop()
	context.AfterFunc(s.ctx, func() { s.ln.Close() })
	var wg sync.WaitGroup
	errs := make(chan error, 1)
	run := func(f func(context.Context) error) {
		wg.Go(func() {
			if err := f(s.ctx); err != nil && s.ctx.Err() == nil {
				select {
				case errs <- err:
				default:
				}
				s.stop()
			}
		})
	}
	for _, f := range s.fabrics {
		for i, w := range f.workers.all() {
			run(s.runWorker(i, w))
		}
		run(f.accept)
		run(f.reapReadChannels)
	}
	run(s.mux.run)
	run(s.guardMemory)
	run(s.tidyStore)
	if s.access != nil {
		wg.Go(func() { s.access.keys.Watch(s.ctx) })
	}
	<-s.ctx.Done()
	s.closeTCP()
	wg.Wait()
	select {
	case err := <-errs:
		return err
	default:
		return nil
	}
}

// Close ends Serve and releases everything, including the trees of the
// collections. The error is that of the recording, if there is one, and wraps
// ErrRecord.
func (s *Server) Close() error {
	s.closer.Do(func() {
		s.stop()
		if s.ln != nil {
			s.ln.Close()
		}
		s.closeTCP()
		s.serving.Wait()
		// First the collections, which wait for searches in this process. Then the
		// devices, in reverse: the first one owns the memory that the others
		// read while they run.
		if s.store != nil {
			if err := s.store.Close(); err != nil {
				s.log.Error("the store did not close well", "err", err)
			}
		}
		for _, f := range slices.Backward(s.fabrics) {
			f.close()
		}
		s.access.close()
		if s.monitor != nil {
			s.monitor.Close()
		}
		s.closeErr = s.endRecord()
		s.quiet.Flush()
	})
	return s.closeErr
}

// Addr is the TCP address that clients dial.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// MaxResults is the largest answer in objects.
func (s *Server) MaxResults() int { return s.opts.MaxResults }

// MemoryLimit is the memory that the server is to hold at most, in bytes.
func (s *Server) MemoryLimit() int64 { return s.opts.MemoryLimit }

// BootID is random at each start.
func (s *Server) BootID() uint64 { return s.bootID }

// Transports lists the transports that clients can use, best first.
func (s *Server) Transports() []string {
	var t []string
	for _, f := range s.fabrics {
		t = append(t, f.name)
	}
	return append(t, model.TransportTCP)
}

// SocketPath is the unix socket of shm, empty if shm is not served.
func (s *Server) SocketPath() string {
	for _, f := range s.fabrics {
		if f.name == model.TransportSHM {
			return f.ln.Addr()
		}
	}
	return ""
}

// Collection returns the tree of a collection, for use in this process
// concurrently with remote clients. The Server owns it: do not Close it.
// ErrNotPermitted: it is kept; use Kept for its writes.
func (s *Server) Collection(name string) (*rstar.Tree, error) {
	c, err := s.store.Lookup(name)
	if err != nil {
		return nil, err
	}
	return ownTree(c)
}

// CreateCollection adds a collection of boxes, unless one of that name exists, and
// returns its tree. ErrKind: the existing one is of another kind. ErrNotPermitted:
// it is kept.
func (s *Server) CreateCollection(name string) (*rstar.Tree, error) {
	c, err := s.create(name, store.Spec{Kind: store.KindBoxes})
	if err != nil {
		return nil, err
	}
	return ownTree(c)
}

// Collections lists the names of the collections, sorted.
func (s *Server) Collections() []string {
	var names []string
	for _, c := range s.store.All() {
		names = append(names, c.Name)
	}
	return names
}

func (s *Server) hello() wire.Hello {
	h := wire.Hello{
		Version: model.Version, Protocol: wire.ProtocolVersion, BootID: s.bootID, Host: wire.HostID(),
		Transports: s.Transports(), Socket: s.SocketPath(), Polling: s.opts.Polling,
		Requests: wire.LastRequest, Replaces: true, KeepsRecords: true, LimitsRecords: true, LeasesRecords: true, Key: s.access != nil, Group: s.groupHello(), Cluster: s.cluster().Hello(),
	}
	if h.Socket != "" {
		uid := uint32(os.Geteuid())
		h.UID = &uid
	}
	for _, f := range s.fabrics {
		if at := f.hello(); at != nil {
			h.Fabric = at
		}
	}
	return h
}

// PauseWorkers keeps the workers from handling requests until ResumeWorkers.
// Searches that clients offload are not affected, since they are one-sided
// reads; tests use this to show it.
func (s *Server) PauseWorkers() {
	for _, f := range s.fabrics {
		f.workers.pause()
	}
}

// ResumeWorkers ends PauseWorkers.
func (s *Server) ResumeWorkers() {
	for _, f := range s.fabrics {
		f.workers.resume()
	}
}

func (s *Server) track(c net.Conn) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.tcpConns[c] = true
	return true
}

func (s *Server) untrack(c net.Conn) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.tcpConns, c)
}

func (s *Server) closeTCP() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	for c := range s.tcpConns {
		c.Close()
	}
}
