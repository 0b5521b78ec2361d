package kv

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/bench/jakiro"
	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/rdma"
)

// Schemes of published protocols to the letter (package jakiro). Their server threads poll;
// Config.Shards is their number, and each of the calls in flight is a client thread of its own.
const (
	Literal   = "literal"   // RFP's, beside fetch, which is Catfish's
	Indicator = "indicator" // HydraDB's messages, beside fast
)

// LiteralSchemes are all of these.
var LiteralSchemes = []string{Literal, Indicator}

func isLiteral(scheme string) bool { return slices.Contains(LiteralSchemes, scheme) }

// literalThreads is the number of server threads if none is given: the paper's Jakiro has four, which
// need as many cores.
const literalThreads = 1

// literalHeaders stand before a value in a response buffer: status and size, and the value's length.
const literalHeaders = 4

// checkLiteral checks what a literal protocol cannot have.
func (c Config) checkLiteral(scheme string) error {
	w := &c.Workload
	switch {
	case c.FetchRetries > 0 && scheme == Literal:
		return fmt.Errorf("%w: fetch-retries: scheme literal fetches until the answer is there, as the paper does", harness.ErrConfig)
	case c.Transport == catfish.TransportTCP:
		return fmt.Errorf("%w: scheme %q cannot run on transport tcp", harness.ErrConfig, scheme)
	case c.Table != 0 || c.Items != 0 && c.Items != cuckoo.MaxItems:
		return fmt.Errorf("%w: scheme %q has the default key index only", harness.ErrConfig, scheme)
	case c.Sync != "":
		return fmt.Errorf("%w: sync is %s: scheme %q keeps nothing", harness.ErrConfig, c.Sync, scheme)
	}
	return cmp.Or(
		harness.CheckRange("value-bytes of scheme "+scheme, max(w.ValueBytes, w.LargestValueBytes), 1, jakiro.MaxValue),
		harness.CheckRange("in-flight of scheme "+scheme+" times clients", c.inFlight(scheme)*c.Clients, 1, 1<<12),
	)
}

// literalTransport: auto is shared memory.
func literalTransport(t string) string {
	if t == catfish.TransportAuto {
		return catfish.TransportSHM
	}
	return t
}

type literalServer struct {
	*jakiro.Server
	m     *jakiro.Map
	dev   rdma.Device
	dir   string // of the socket of shm
	posts bool   // a Write for each request; else the threads post nothing
	began time.Time
}

func startLiteral(job ServerJob) (_ Server, err error) {
	s := &literalServer{began: time.Now()}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	transport, addr := literalTransport(job.Transport), "127.0.0.1:0"
	if s.dev, err = bench.OpenDevice(transport, job.Fabric); err != nil {
		return nil, err
	}
	if transport == catfish.TransportSHM {
		if s.dir, err = os.MkdirTemp("", "catfish-literal-"); err != nil {
			return nil, err
		}
		addr = filepath.Join(s.dir, "socket")
	}
	threads := max(job.Shards, literalThreads)
	if s.m, err = jakiro.NewMap(threads); err != nil {
		return nil, err
	}
	s.Server, err = jakiro.Listen(s.dev, jakiro.Config{Addr: addr, Threads: threads, Serve: s.m.Serve,
		MaxBody: jakiro.MaxBodyOf(job.ValueBytes), Indicators: job.Scheme == Indicator})
	s.posts = job.Scheme == Indicator
	return s, err
}

func (s *literalServer) Version() string               { return "" }
func (s *literalServer) Usage() (harness.Usage, error) { return harness.UsageSince(s.began) }
func (s *literalServer) Index() (Index, error)         { return IndexOf(s.m.Stats()), nil }

func (s *literalServer) Posts() Posts {
	p := Posts{Requests: s.Served()}
	if s.posts {
		p.Posted = p.Requests
	}
	return p
}

func (s *literalServer) Close() (err error) {
	if s.Server != nil {
		err = s.Server.Close()
	}
	if s.m != nil {
		err = errors.Join(err, s.m.Close())
	}
	if s.dev != nil {
		err = errors.Join(err, s.dev.Close())
	}
	if s.dir != "" {
		err = errors.Join(err, os.RemoveAll(s.dir))
	}
	return err
}

// literalStore is a client: its client threads are those of its calls in flight.
type literalStore struct {
	dev  rdma.Device
	free chan *literalThread
	all  []*literalThread
	job  ClientJob
}

// literalThread is a client thread, and its counters, which Counters reads while calls are under way.
type literalThread struct {
	*jakiro.Store
	counts lockedCounters
}

func dialLiteral(ctx context.Context, job ClientJob) (_ Store, err error) {
	s := &literalStore{free: make(chan *literalThread, job.InFlight), job: job}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.dev, err = bench.OpenDevice(literalTransport(job.Transport), job.Fabric); err != nil {
		return nil, err
	}
	for range job.InFlight {
		c, err := s.dial(ctx)
		if err != nil {
			return nil, fmt.Errorf("dialling %s: %w", job.Addr, err)
		}
		t := &literalThread{Store: c}
		s.all = append(s.all, t)
		s.free <- t
	}
	return s, nil
}

// dial connects a client thread.
func (s *literalStore) dial(ctx context.Context) (*jakiro.Store, error) {
	w, threads := &s.job.Workload, max(s.job.Shards, literalThreads)
	if s.job.Scheme == Indicator {
		return jakiro.DialIndicatorStore(ctx, s.dev, s.job.Addr, threads, jakiro.MaxBodyOf(max(w.ValueBytes, w.LargestValueBytes)))
	}
	return jakiro.DialStore(ctx, s.dev, s.job.Addr, threads, cmp.Or(s.job.FetchBytes, literalHeaders+w.ValueBytes))
}

// do runs a call of one of the client threads.
func (s *literalStore) do(ctx context.Context, gets uint64, call func(c *jakiro.Store) error) error {
	select {
	case t := <-s.free:
		err := call(t.Store)
		t.counts.set(t.Counts(), gets)
		s.free <- t
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *literalStore) Get(ctx context.Context, key, dst []byte) (_ []byte, err error) {
	err = s.do(ctx, 1, func(c *jakiro.Store) (err error) {
		dst, err = c.Get(ctx, key, dst)
		return err
	})
	return dst, literalError(err)
}

func literalError(err error) error {
	if errors.Is(err, jakiro.ErrNotFound) {
		err = fmt.Errorf("%w: %w", ErrNotFound, err)
	}
	return err
}

// GetMany gets one key after the other: the protocol has a call for one.
func (s *literalStore) GetMany(ctx context.Context, rs []Request) error {
	for i := range rs {
		value, err := s.Get(ctx, rs[i].Key[:], rs[i].Value[:0])
		if err != nil && !errors.Is(err, ErrNotFound) {
			return err
		}
		rs[i].Value, rs[i].Found = value, err == nil
	}
	return nil
}

func (s *literalStore) Put(ctx context.Context, key, value []byte) error {
	return s.do(ctx, 0, func(c *jakiro.Store) error { return c.Put(ctx, key, value) })
}

func (s *literalStore) Delete(ctx context.Context, key []byte) error {
	return literalError(s.do(ctx, 0, func(c *jakiro.Store) error { return c.Delete(ctx, key) }))
}

func (s *literalStore) Counters() (sum Counters) {
	for _, t := range s.all {
		sum = sum.Add(t.counts.get())
	}
	return sum
}

func (s *literalStore) Info() bench.Info {
	i := s.dev.Info()
	return bench.Info{Transport: literalTransport(s.job.Transport), Device: i.Provider + ", " + i.Detail, Policy: s.job.Scheme}
}

func (s *literalStore) Close() (err error) {
	for _, t := range s.all {
		err = errors.Join(err, t.Close())
	}
	if s.dev != nil {
		err = errors.Join(err, s.dev.Close())
	}
	return err
}

// lockedCounters are the counters of a client thread, for other goroutines.
type lockedCounters struct {
	mu sync.Mutex
	n  Counters
}

// set takes the totals after a call; gets is 1 if that was a Get.
func (a *lockedCounters) set(c jakiro.Counts, gets uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	gets += a.n.Fast
	a.n = Counters{Counters: bench.Counters{Fast: gets, RoundTrips: gets, Bytes: c.Sent + c.Fetched + c.Received, AnswerReads: c.Reads, AnswersMissed: c.Vain}}
}

func (a *lockedCounters) get() Counters {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.n
}
