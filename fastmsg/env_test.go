package fastmsg

import (
	"context"
	"errors"
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/soft"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// provider is a transport that the tests run over, and how clients announce
// requests there.
type provider struct {
	name     string
	inMemory bool
	fetch    bool
	placed   bool // where the device has the order for it
	open     func(t testing.TB) rdma.Device
	addr     func(t testing.TB) string
}

var providers = []provider{{
	name: "soft",
	open: func(t testing.TB) rdma.Device {
		dev, err := soft.Open(soft.Options{})
		return opened(t, dev, err)
	},
	addr: func(testing.TB) string { return "127.0.0.1:0" },
}}

// runsPlaced: shm is tested, and has the order in which messages can announce themselves.
var runsPlaced = runtime.GOARCH == "amd64" && runtime.GOOS == "linux"

func opened(t testing.TB, dev rdma.Device, err error) rdma.Device {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { dev.Close() })
	return dev
}

func overProviders(t *testing.T, run func(t *testing.T, p provider)) {
	for _, p := range providers {
		t.Run("transport="+p.name, func(t *testing.T) { run(t, p) })
		p.inMemory = true
		t.Run("transport="+p.name+",announced=memory", func(t *testing.T) { run(t, p) })
		p.inMemory, p.fetch = false, true
		t.Run("transport="+p.name+",answers=fetched", func(t *testing.T) { run(t, p) })
		if p.fetch = false; p.name == "shm" && runsPlaced {
			p.placed = true
			t.Run("transport="+p.name+",announced=themselves", func(t *testing.T) { run(t, p) })
		}
	}
}

// handlerFuncs is a Handler of closures; nil ones do nothing.
type handlerFuncs struct {
	opened func(*Conn)
	serve  func(*Conn, Message)
	closed func(*Conn, error)
}

func (h handlerFuncs) Opened(c *Conn) {
	if h.opened != nil {
		h.opened(c)
	}
}

func (h handlerFuncs) Serve(c *Conn, m Message) {
	if h.serve != nil {
		h.serve(c, m)
	}
}

func (h handlerFuncs) Closed(c *Conn, err error) {
	if h.closed != nil {
		h.closed(c, err)
	}
}

func echo(c *Conn, m Message) { c.Respond(m.Kind+1, m.ID, m.Payload) }

// server is a running Worker with its listener.
type server struct {
	*Worker
	p    provider
	addr string

	stop func() // ends Run; idempotent

	mu     sync.Mutex
	errors []error // of Accept
}

func serve(t testing.TB, p provider, h Handler, cfg WorkerConfig) *server {
	t.Helper()
	dev := p.open(t)
	lis, err := dev.Listen(p.addr(t))
	if err != nil {
		t.Fatal(err)
	}
	w, err := NewWorker(dev, h, cfg)
	if err != nil {
		t.Fatal(err)
	}
	s := &server{Worker: w, p: p, addr: lis.Addr()}
	ctx, cancel := context.WithCancel(context.Background())
	var group sync.WaitGroup
	group.Go(func() {
		if err := w.Run(ctx); !errors.Is(err, context.Canceled) {
			t.Errorf("Run: %v", err)
		}
	})
	group.Go(func() {
		for {
			req, err := lis.Accept(ctx)
			if err != nil {
				return
			}
			if err := w.Accept(req); err != nil {
				s.mu.Lock()
				s.errors = append(s.errors, err)
				s.mu.Unlock()
			}
		}
	})
	s.stop = sync.OnceFunc(func() {
		cancel()
		group.Wait()
		lis.Close()
	})
	t.Cleanup(s.stop)
	return s
}

func (s *server) acceptErrors() []error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]error(nil), s.errors...)
}

// dial connects a Caller on a device of its own.
func (s *server) dial(t testing.TB, cfg CallerConfig) *Caller {
	t.Helper()
	cfg.InMemory, cfg.Fetch, cfg.Placed = s.p.inMemory, s.p.fetch, s.p.placed
	c, err := Dial(within(t), s.p.open(t), s.addr, cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

// patience is far longer than any wait here on a busy machine.
const patience = time.Minute

func within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// until polls a condition.
func until(t testing.TB, what string, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !ok(); runtime.Gosched() {
		if time.Now().After(end) {
			t.Fatalf("not within %v: %s", patience, what)
		}
	}
}

// sent is the number of bytes whose Post has returned.
func sent(c *Caller) uint64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.flushing {
		return 0
	}
	return c.out.posted
}

func newRand(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 0)) }

// besideFriend starts a server that a client of good will uses, and reports which other
// connections opened and closed. friendAsks fails if that client gets no answer.
func besideFriend(t *testing.T, p provider) (s *server, opened chan *Conn, closed chan error, friendAsks func()) {
	opened, closed = make(chan *Conn, 1), make(chan error, 1)
	s = serve(t, p, handlerFuncs{
		serve:  echo,
		opened: func(c *Conn) { opened <- c },
		closed: func(c *Conn, err error) { closed <- err },
	}, WorkerConfig{})
	friend := s.dial(t, CallerConfig{})
	<-opened
	return s, opened, closed, func() {
		if got, _, err := friend.Call(within(t), 1, []byte("hi"), nil); err != nil || string(got) != "hi" {
			t.Errorf("friend: %q, %v", got, err)
		}
	}
}
