package lanes

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/replica/lane"
	"github.com/catfish-index/catfish/internal/replica/rings"
)

// Mode is how a primary waits.
type Mode string

// The modes. See the package comment.
const (
	None     Mode = "none"
	Strict   Mode = "strict"
	Relaxed  Mode = "relaxed"
	Received Mode = "received"
)

// AskEvery is how often relaxed asks: the paper's "several tens".
const AskEvery = 32

// Config is a group.
type Config struct {
	Mode      Mode
	Followers int
	Clients   int // with one write outstanding each; 0: 1
	RingBytes int
	// Open opens a device, and Listen is where that of the primary listens.
	Open   func() (rdma.Device, error)
	Listen string
	// Apply is called by follower i with each entry, in order, nil: nothing. An error is that
	// of HydraDB's secondary, which then discards.
	Apply func(i int, seq uint64) error
}

// Counts are exact.
type Counts struct {
	Frames  uint64 // to all followers
	Answers uint64 // of all followers
	Again   uint64 // frames that relaxed has sent again
}

// Group is a primary and its followers. One goroutine uses it.
type Group struct {
	c         Config
	primary   rdma.Device
	followers []*follower
	seq       uint64
	kept      [][]byte // what relaxed may have to send again, from first on
	first     uint64
	counts    Counts
}

type follower struct {
	dev     rdma.Device
	s       *rings.Sender
	r       *rings.Receiver
	answers atomic.Uint64
	answer  atomic.Pointer[lane.Ack] // the latest that the primary has seen
	told    chan struct{}            // answer has changed
	handled time.Duration            // relaxed: the ask whose answer was looked at
	failed  atomic.Pointer[error]
	wg      sync.WaitGroup
}

var errGap = errors.New("lanes: the follower discards")

// Open connects a group.
func Open(ctx context.Context, c Config) (*Group, error) {
	c.Clients = max(c.Clients, 1)
	g := &Group{c: c, first: 1}
	if c.Mode == None {
		return g, nil
	}
	dev, err := c.Open()
	if err != nil {
		return nil, err
	}
	g.primary = dev
	ln, err := dev.Listen(c.Listen)
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	defer ln.Close()
	for i := range c.Followers {
		if err := g.connect(ctx, ln, i); err != nil {
			return nil, errors.Join(err, g.Close())
		}
	}
	return g, nil
}

func (g *Group) connect(ctx context.Context, ln rdma.Listener, i int) error {
	f := &follower{told: make(chan struct{}, 1)}
	f.answer.Store(&lane.Ack{})
	var err error
	if f.dev, err = g.c.Open(); err != nil {
		return err
	}
	g.followers = append(g.followers, f)
	accepted := make(chan error, 1)
	go func() {
		req, err := ln.Accept(ctx)
		var h lane.Hello
		if err == nil {
			h, err = lane.DecodeHello(req.PrivateData())
		}
		if err == nil {
			f.s, err = rings.Accept(g.primary, req, h)
		}
		accepted <- err
	}()
	f.r, err = rings.Dial(ctx, f.dev, ln.Addr(), lane.Hello{Ticket: 1}, g.c.RingBytes, g.c.RingBytes)
	if err = errors.Join(err, <-accepted); err != nil {
		return err
	}
	f.wg.Go(func() {
		f.end(f.s.Acks(func(a lane.Ack) {
			f.answer.Store(&a)
			f.tell()
		}))
	})
	f.wg.Go(func() { f.end(f.follow(g.c.Mode, func(seq uint64) error { return g.apply(i, seq) })) })
	return nil
}

func (g *Group) apply(i int, seq uint64) error {
	if g.c.Apply == nil {
		return nil
	}
	return g.c.Apply(i, seq)
}

// follow reads the ring as the mode has it.
func (f *follower) follow(m Mode, apply func(seq uint64) error) error {
	has := uint64(0)
	return f.r.Read(func(is lane.Frame) error {
		if is.First == has+1 && apply(is.First) == nil {
			has = is.First
		} else if m != Relaxed {
			return fmt.Errorf("%w: entry %d after %d", errGap, is.First, has)
		}
		if m == Received || is.Flags&lane.Ask != 0 {
			f.answers.Add(1)
			return f.r.Acknowledge(lane.Ack{Session: 1, Term: 1, Received: has, Echo: time.Duration(is.First)})
		}
		return nil
	}, func() {})
}

func (f *follower) tell() {
	select {
	case f.told <- struct{}{}:
	default:
	}
}

func (f *follower) end(err error) {
	f.failed.CompareAndSwap(nil, &err)
	f.tell()
}

// wait waits until a follower has answered for an entry.
func (f *follower) wait(seq uint64) error {
	for f.answer.Load().Received < seq {
		if err := f.failed.Load(); err != nil {
			return *err
		}
		<-f.told
	}
	return nil
}

// Write writes an entry. When it returns, one is acknowledged to its client: this one, or with
// Received and several clients, the one that many before it.
func (g *Group) Write(payload []byte) error {
	g.seq++
	ask := g.c.Mode == Strict || g.c.Mode == Relaxed && g.seq%AskEvery == 0
	for _, f := range g.followers {
		if err := g.send(f, g.seq, payload, ask); err != nil {
			return err
		}
	}
	if g.c.Mode == Relaxed {
		return g.relaxed(payload)
	}
	return g.answered(g.seq - min(g.seq, g.window()))
}

func (g *Group) window() uint64 {
	if g.c.Mode == Received {
		return uint64(g.c.Clients) - 1
	}
	return 0
}

func (g *Group) answered(seq uint64) error {
	for _, f := range g.followers {
		if err := f.wait(seq); err != nil {
			return err
		}
	}
	return nil
}

func (g *Group) send(f *follower, seq uint64, payload []byte, ask bool) error {
	is := lane.Frame{Kind: lane.Entries, Term: 1, Session: 1, First: seq, Entries: 1, Payload: payload}
	if ask {
		is.Flags = lane.Ask
	}
	g.counts.Frames++
	return f.s.Send(is)
}

// relaxed waits for the card alone. It takes the latest answer: an entry that a follower
// failed to apply is sent again, with all after it.
func (g *Group) relaxed(payload []byte) error {
	g.kept = append(g.kept, payload)
	least := g.seq
	for _, f := range g.followers {
		if err := f.s.Written(); err != nil {
			return err
		}
		answer := *f.answer.Load()
		least = min(least, answer.Received)
		if answer.Echo == f.handled {
			continue
		}
		f.handled = answer.Echo
		if answer.Received >= uint64(answer.Echo) {
			continue
		}
		for seq := answer.Received + 1; seq <= g.seq; seq++ {
			g.counts.Again++
			if err := g.send(f, seq, g.kept[seq-g.first], false); err != nil {
				return err
			}
		}
	}
	g.kept = g.kept[least+1-g.first:]
	g.first = least + 1
	return nil
}

// Settle waits until all followers have all.
func (g *Group) Settle() error {
	if g.c.Mode == Relaxed {
		return nil // It never knows.
	}
	return g.answered(g.seq)
}

// Counts returns what was sent so far.
func (g *Group) Counts() Counts {
	c := g.counts
	for _, f := range g.followers {
		c.Answers += f.answers.Load()
	}
	return c
}

// Run makes n writes, and returns the mean latency of a client.
func (g *Group) Run(n int, payload []byte) (time.Duration, error) {
	began := time.Now()
	for range n {
		if err := g.Write(payload); err != nil {
			return 0, err
		}
	}
	err := g.Settle()
	return time.Since(began) * time.Duration(g.c.Clients) / time.Duration(n), err
}

// Close ends the group.
func (g *Group) Close() error {
	var err error
	for _, f := range g.followers {
		if f.s != nil {
			f.s.Stop()
		}
		if f.r != nil {
			f.r.Stop()
		}
		f.wg.Wait()
		if f.s != nil {
			f.s.Close()
		}
		if f.r != nil {
			f.r.Close()
		}
		err = errors.Join(err, f.dev.Close())
	}
	if g.primary != nil {
		err = errors.Join(err, g.primary.Close())
	}
	return err
}
