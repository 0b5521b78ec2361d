package jakiro

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// ErrConfig is wrapped by errors about arguments.
var ErrConfig = errors.New("jakiro: bad configuration")

// ErrProtocol is wrapped by errors about what a peer sent.
var ErrProtocol = errors.New("jakiro: protocol violated")

// Handler executes a request at a server thread, and appends the result to dst: at most as many
// bytes as a body may have. Each thread calls it one request at a time.
type Handler func(thread int, dst, body []byte) []byte

// Config configures a Server.
type Config struct {
	Addr    string // to listen at
	Threads int
	// MaxBody bounds the bodies of requests and results.
	MaxBody int
	Serve   Handler
	// Indicators: HydraDB's messages both ways (indicator.go), for clients of DialIndicators.
	Indicators bool
}

// Server has threads that poll the request buffers of their clients.
type Server struct {
	cfg     Config
	proto   protocol
	dev     rdma.Device
	cq      rdma.CompletionQueue
	ln      rdma.Listener
	threads []thread
	ctx     context.Context
	stop    context.CancelFunc
	group   sync.WaitGroup
	served  atomic.Uint64
}

// thread owns the buffers of the clients that dialled it.
type thread struct {
	mu     sync.Mutex // of additions
	slots  atomic.Pointer[[]*slot]
	result []byte
}

// slot is one client thread at one server thread.
type slot struct {
	qp       rdma.QueuePair
	requests rdma.Region
	answers  rdma.Region
	dead     bool

	responses responses // RFP's, in answers

	// With indicators: answers is where one is put together, and at the client's buffer.
	at  rdma.Remote
	cq  rdma.CompletionQueue
	wr  [1]rdma.WorkRequest
	got [1]rdma.Completion
}

// close frees connection and buffers, as far as they were made.
func (c *slot) close() (err error) {
	if c.qp != nil {
		err = c.qp.Close()
	}
	if c.cq != nil {
		err = errors.Join(err, c.cq.Close())
	}
	for _, r := range []rdma.Region{c.requests, c.answers} {
		if r != nil {
			err = errors.Join(err, r.Close())
		}
	}
	return err
}

// remoteBytes is a place in a peer's memory.
const remoteBytes = 16

func appendRemote(b []byte, r rdma.Region) []byte {
	b = binary.LittleEndian.AppendUint64(b, uint64(r.Key()))
	return binary.LittleEndian.AppendUint64(b, r.Remote().Addr)
}

func remoteAt(b []byte) rdma.Remote {
	return rdma.Remote{Key: rdma.Key(binary.LittleEndian.Uint64(b)), Addr: binary.LittleEndian.Uint64(b[8:])}
}

const (
	// privateBytes: where the two buffers lie, and the largest body.
	privateBytes = 2*remoteBytes + 4
	// restAfter is how many looks of a thread find nothing before it sleeps for a moment. The
	// paper's have a core each, where that costs little; without, others must get it.
	restAfter = 4096
	restFor   = 20 * time.Microsecond
)

// Listen starts a server. The device must outlive it.
func Listen(dev rdma.Device, cfg Config) (*Server, error) {
	s, err := listen(dev, cfg)
	if err != nil {
		return nil, err
	}
	for i := range s.threads {
		s.group.Go(func() { s.poll(s.ctx, i) })
	}
	return s, nil
}

// listen is Listen without threads.
func listen(dev rdma.Device, cfg Config) (*Server, error) {
	switch {
	case dev.Info().TornLines:
		return nil, fmt.Errorf("%w: device %s may tear lines, and the layout has nothing to see it by", ErrConfig, dev.Info().Provider)
	case cfg.Threads < 1 || cfg.Threads > 255:
		return nil, fmt.Errorf("%w: %d threads, want 1 to 255", ErrConfig, cfg.Threads)
	}
	if err := checkBody(cfg.MaxBody); err != nil {
		return nil, err
	}
	s := &Server{cfg: cfg, proto: rfp{}, dev: dev, threads: make([]thread, cfg.Threads)}
	if cfg.Indicators {
		s.proto = indicators{}
	}
	var err error
	if s.cq, err = dev.CreateCQ(16); err != nil {
		return nil, err
	}
	if s.ln, err = dev.Listen(cfg.Addr); err != nil {
		return nil, errors.Join(err, s.cq.Close())
	}
	s.ctx, s.stop = context.WithCancel(context.Background())
	s.group.Go(func() { s.accept(s.ctx) })
	return s, nil
}

func checkBody(n int) error {
	if n < 1 || n > MaxBody {
		return fmt.Errorf("%w: bodies of %d bytes, want 1 to %d", ErrConfig, n, MaxBody)
	}
	return nil
}

// Addr is where clients dial.
func (s *Server) Addr() string { return s.ln.Addr() }

// Served is the number of requests so far. The server has posted nothing for them, or with
// indicators a Write each.
func (s *Server) Served() uint64 { return s.served.Load() }

// Close ends the threads.
func (s *Server) Close() error {
	s.stop()
	err := s.ln.Close()
	s.group.Wait()
	for i := range s.threads {
		for _, c := range s.threads[i].all() {
			err = errors.Join(err, c.close())
		}
	}
	return errors.Join(err, s.cq.Close())
}

func (s *Server) accept(ctx context.Context) {
	for ctx.Err() == nil {
		req, err := s.ln.Accept(ctx)
		if err != nil {
			continue // closed, or a client that has gone
		}
		if why := s.refuses(req.PrivateData()); why != "" {
			_ = req.Reject(why) // The client gets it as its error.
			continue
		}
		if err := s.add(req); err != nil {
			_ = req.Reject(err.Error())
		}
	}
}

// refuses says why what a client asks for cannot be had, or nothing. It asks for a thread, in a byte,
// and for what its protocol says.
func (s *Server) refuses(ask []byte) string {
	if want := 1 + s.proto.askBytes(); len(ask) != want {
		return fmt.Sprintf("%d bytes, want %d: another protocol", len(ask), want)
	}
	if int(ask[0]) >= len(s.threads) {
		return "no such thread"
	}
	return s.proto.refuses(ask[1:], s.cfg.MaxBody)
}

// add makes a client's buffers, and accepts it.
func (s *Server) add(req rdma.ConnRequest) (err error) {
	c := new(slot)
	if err := s.proto.buffers(s.dev, c, req.PrivateData()[1:], s.cfg.MaxBody); err != nil {
		return errors.Join(err, c.close())
	}
	private := appendRemote(appendRemote(nil, c.requests), c.answers)
	private = binary.LittleEndian.AppendUint32(private, uint32(s.cfg.MaxBody))
	cq := s.cq
	if c.cq != nil {
		cq = c.cq
	}
	t := &s.threads[req.PrivateData()[0]]
	t.mu.Lock()
	defer t.mu.Unlock()
	if c.qp, err = req.Accept(rdma.QPConfig{SendCQ: cq, RecvCQ: cq}, private); err != nil {
		c.qp = nil
		return errors.Join(err, c.close())
	}
	all := append(append([]*slot(nil), t.all()...), c)
	t.slots.Store(&all)
	return nil
}

func (t *thread) all() []*slot {
	if p := t.slots.Load(); p != nil {
		return *p
	}
	return nil
}

// poll is a server thread.
func (s *Server) poll(ctx context.Context, i int) {
	t := &s.threads[i]
	for idle := 0; ctx.Err() == nil; {
		if s.look(ctx, i, t) {
			idle = 0
			continue
		}
		idle++
		s.proto.rest(idle, s.dev.Info().Emulated)
	}
}

// rest is what a side does after idle looks in a row. Where goroutines of this process
// execute the peers' requests, a loop that only yields would starve them.
func rest(idle int, emulated bool) {
	switch {
	case emulated || idle%restAfter == 0:
		time.Sleep(restFor)
	default:
		runtime.Gosched()
	}
}

// look looks once at each client of a thread, and reports whether there was a request.
func (s *Server) look(ctx context.Context, i int, t *thread) (found bool) {
	for _, c := range t.all() {
		if c.dead {
			continue
		}
		mem := c.requests.Bytes()
		body, there, bad := s.proto.find(mem)
		if c.dead = bad; bad {
			_ = c.qp.Close() // The client sees it at its next request.
		}
		if !there {
			continue
		}
		found = true
		t.result = s.cfg.Serve(i, t.result[:0], body)
		if len(t.result) > s.cfg.MaxBody {
			panic(fmt.Sprintf("jakiro: a result of %d bytes, at most %d go", len(t.result), s.cfg.MaxBody))
		}
		s.served.Add(1)
		if err := s.proto.answer(ctx, c, len(body), t.result); err != nil {
			c.dead = true
			_ = c.qp.Close() // The client sees it at its next request.
		}
	}
	return found
}
