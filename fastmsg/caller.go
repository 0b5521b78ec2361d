package fastmsg

import (
	"context"
	"fmt"
	"math"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/fetch"
	"github.com/catfish-index/catfish/internal/rdma"
)

// Caller is the client's end of a connection. Any number of goroutines may
// Call; their requests share the ring. The Caller's own goroutine (poller.go)
// or one of the callers (lead.go) distributes the answers. All methods are
// safe for concurrent use.
//
// Locks: mu guards the request ring and the queue of calls that wait for room
// in it; a slot's mu guards its answer, and is locked after mu if both are.
// Neither is held during Post.
type Caller struct {
	cq     rdma.CompletionQueue
	qp     rdma.QueuePair
	region rdma.Region // mailbox page, then response ring
	hello  []byte

	maxPayload, maxAnswer int

	slots []slot
	free  *freeSlots

	mu       sync.Mutex
	out      sendRing
	queue    []uint32 // calls that wait for room, oldest first
	flushing bool     // a goroutine is in flushLocked
	idle     sync.Cond
	stalled  bool // Post found the queue full, or flushLocked stopped early
	wrs      [maxWRs]rdma.WorkRequest
	err      error

	lost         atomic.Bool // err is set
	lead         lead
	lastAnswered atomic.Int32 // calls that the poller's last batch answered
	done         chan struct{}
	in           recvRing // owned by the goroutine that leads, as comps, credit and fetch
	fetch        *fetcher // nil: answers are written
	comps        []rdma.Completion
	credit       [1]rdma.WorkRequest
	stopped      chan struct{} // the poller has returned
	closing      sync.Once
}

// CallerConfig configures a Caller. The zero value works.
type CallerConfig struct {
	// RingBytes is the size of the response ring (0: DefaultRingBytes).
	RingBytes int
	// Hello reaches the server's handler; at most MaxHello bytes.
	Hello []byte
	// MaxInFlight bounds the unanswered calls; further ones wait (0: 1024).
	MaxInFlight int
	// MaxAnswerBytes bounds the answer to one call, in case a server never
	// ends it (0: 1 GiB).
	MaxAnswerBytes int
	// InMemory announces requests in the memory of the server's ring, by
	// plain Writes, in place of events: the paper's polling variant (section
	// III-A, figure 6a). The worker polls as long as the Caller is open.
	InMemory bool
	// Placed is the paper's polling variant to the letter, as FaRM has it: a request
	// is one plain Write, and both sides poll the messages themselves (placed.go). Not
	// with InMemory or Fetch. The device must declare rdma.Info.InOrder. The
	// Caller polls while calls wait.
	Placed bool
	// Fetch makes the Caller fetch answers, as RFP does, where that is faster
	// than letting the server write them: the Caller compares both (package fetch).
	Fetch bool
	// FetchCounts, if not nil, counts what is fetched; Callers may share it.
	FetchCounts *fetch.Counts
	// FetchBytes is how much a first Read of an answer brings, in whole lines of 64
	// bytes, at most MaxFetchBytes (0: the Caller chooses by the answers that came).
	FetchBytes int
	// FetchRetries is how many Reads in a row find nothing until the server is asked to
	// write the answer, at most MaxFetchRetries (0: fetch.Retries, or over devices that
	// do all work in Post as many as take the time of a wake-up).
	FetchRetries int
	// FetchAlways fetches all answers that are not late, and compares nothing.
	FetchAlways bool

	clock func() time.Duration // measures calls; nil: the monotonic one
}

const (
	// defaultInFlight is the number of flights: with more calls, requests
	// that are posted one by one would wait for flights.
	defaultInFlight = maxFlights
	// defaultAnswer: 20 million items of 48 bytes.
	defaultAnswer = 1 << 30
)

func (c *CallerConfig) setDefaults() error {
	if c.RingBytes == 0 {
		c.RingBytes = DefaultRingBytes
	}
	if c.MaxInFlight == 0 {
		c.MaxInFlight = defaultInFlight
	}
	if c.MaxAnswerBytes == 0 {
		c.MaxAnswerBytes = defaultAnswer
	}
	if c.MaxInFlight < 0 || c.MaxInFlight > math.MaxInt32 {
		return fmt.Errorf("%w: MaxInFlight %d, allowed are 1 to %d",
			ErrConfig, c.MaxInFlight, math.MaxInt32)
	}
	if c.MaxAnswerBytes < 0 {
		return fmt.Errorf("%w: MaxAnswerBytes %d, must be positive",
			ErrConfig, c.MaxAnswerBytes)
	}
	if c.Placed && (c.InMemory || c.Fetch) {
		return fmt.Errorf("%w: Placed with InMemory %t, Fetch %t, want neither", ErrConfig, c.InMemory, c.Fetch)
	}
	if c.FetchBytes < 0 || c.FetchBytes > MaxFetchBytes {
		return fmt.Errorf("%w: FetchBytes %d, want 0 to %d", ErrConfig, c.FetchBytes, MaxFetchBytes)
	}
	if c.FetchRetries < 0 || c.FetchRetries > MaxFetchRetries {
		return fmt.Errorf("%w: FetchRetries %d, want 0 to %d", ErrConfig, c.FetchRetries, MaxFetchRetries)
	}
	return checkRing(c.RingBytes)
}

// Dial connects to a Worker's listener. Errors wrap those of
// rdma.Device.Dial; ErrVersion and ErrProtocol mean that the peer does not
// speak this protocol. The device must outlive the Caller.
func Dial(ctx context.Context, dev rdma.Device, addr string, cfg CallerConfig) (*Caller, error) {
	c, err := dial(ctx, dev, addr, cfg)
	if err != nil {
		return nil, fmt.Errorf("fastmsg: dial %s: %w", addr, err)
	}
	go c.poll()
	return c, nil
}

func dial(ctx context.Context, dev rdma.Device, addr string, cfg CallerConfig) (_ *Caller, err error) {
	if err := cfg.setDefaults(); err != nil {
		return nil, err
	}
	if cfg.Placed && !dev.Info().InOrder {
		return nil, notInOrder(dev.Info())
	}
	c := &Caller{
		maxAnswer: cfg.MaxAnswerBytes,
		slots:     make([]slot, cfg.MaxInFlight),
		free:      newFreeSlots(cfg.MaxInFlight),
		queue:     make([]uint32, 0, cfg.MaxInFlight),
		comps:     make([]rdma.Completion, batchEvents),
		done:      make(chan struct{}),
		stopped:   make(chan struct{}),
	}
	c.idle.L = &c.mu
	c.initLead(dev.Info().SynchronousOps)
	defer func() {
		if err != nil {
			c.release()
		}
	}()
	if c.region, err = dev.Register(MailboxBytes+cfg.RingBytes, rdma.RemoteWrite); err != nil {
		return nil, err
	}
	private, err := handshake{cfg.RingBytes, c.region.Remote(), cfg.Hello, cfg.InMemory, cfg.Fetch, cfg.Placed}.encode()
	if err != nil {
		return nil, err
	}
	// The size of the server's ring is not known before there is a queue
	// pair, so the send depth is that for the largest ring.
	if c.cq, err = dev.CreateCQ(recvDepth(cfg.RingBytes, false)); err != nil {
		return nil, err
	}
	c.qp, err = dev.Dial(ctx, addr, rdma.QPConfig{
		SendCQ: c.cq, RecvCQ: c.cq,
		SendDepth: callerDepth(cfg.Fetch),
		RecvDepth: recvDepth(cfg.RingBytes, false),
	}, private)
	if err != nil {
		return nil, dialError(err)
	}
	server, err := decodeHandshake(c.qp.PrivateData(), "server", "client")
	if err != nil {
		return nil, err
	}
	if server.inMemory != cfg.InMemory {
		return nil, protocolError("announcements in memory: the client wants %t, the server %t",
			cfg.InMemory, server.inMemory)
	}
	if server.fetch != cfg.Fetch {
		return nil, protocolError("answers that are fetched: the client wants %t, the server %t",
			cfg.Fetch, server.fetch)
	}
	if server.placed != cfg.Placed {
		return nil, protocolError("messages that announce themselves: the client wants %t, the server %t",
			cfg.Placed, server.placed)
	}
	if cfg.Fetch {
		if c.fetch, err = newFetcher(dev, cfg); err != nil {
			return nil, err
		}
		c.fetch.look = c.lookForAnswers
	}
	mirror, err := dev.Register(mirrorBytes(server.ringBytes, cfg.InMemory), 0)
	if err != nil {
		return nil, err
	}
	c.hello = server.hello
	c.maxPayload = maxMessage(server.ringBytes) - headerBytes
	c.in = newRecvRing(c.region.Bytes()[MailboxBytes:MailboxBytes+cfg.RingBytes], false)
	c.in.where = cfg.Fetch
	c.in.mailbox = true
	c.out = newSendRing(mirror, server.region, server.ringBytes, cfg.InMemory)
	if cfg.Placed {
		c.in.becomePlaced()
		c.out.becomePlaced()
		c.maxPayload -= unitBytes // for the last byte
	}
	return c, nil
}

// release frees everything, the queue pair first.
func (c *Caller) release() {
	if c.qp != nil {
		c.qp.Close()
	}
	if c.cq != nil {
		c.cq.Close()
	}
	if c.region != nil {
		c.region.Close()
	}
	if c.out.mirror != nil {
		c.out.mirror.Close()
	}
	if c.fetch != nil {
		c.fetch.region.Close()
	}
}

// Mailbox is the page that the server may write to at any time: read it with
// lines.Copy. It must not be used after Close.
func (c *Caller) Mailbox() []byte {
	return c.region.Bytes()[:MailboxBytes:MailboxBytes]
}

// Hello is the server's answer to the hello of the dial.
func (c *Caller) Hello() []byte { return c.hello }

// Peer names the server, for error messages and logs.
func (c *Caller) Peer() string { return c.qp.Peer() }

// QueuePair returns the queue pair, whose Err the owner may call. Posting is
// not allowed: the completions belong to the Caller.
func (c *Caller) QueuePair() rdma.QueuePair { return c.qp }

// MaxPayload is the size of the largest request in bytes.
func (c *Caller) MaxPayload() int { return c.maxPayload }

// Done is closed when the connection is lost or closed.
func (c *Caller) Done() <-chan struct{} { return c.done }

// Err is nil while the connection works, and then the reason why it ended.
func (c *Caller) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close ends the connection; calls in progress fail with ErrClosed.
func (c *Caller) Close() error {
	c.closing.Do(func() {
		c.fail(ErrClosed)
		c.cq.Wake()
		<-c.stopped
		c.mu.Lock()
		for c.flushing {
			c.idle.Wait()
		}
		c.mu.Unlock()
		c.release()
	})
	return nil
}

func (c *Caller) fail(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.failLocked(err)
}

func (c *Caller) failLocked(err error) {
	if c.err == nil {
		c.err = err
		c.lost.Store(true)
		close(c.done)
	}
}
