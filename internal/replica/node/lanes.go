package node

import (
	"bufio"
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/replica/link"
	"github.com/catfish-index/catfish/internal/replica/rings"
)

// lanes are the streams to other members, with a queue pair beside each where both sides have
// a transport for it (ringlane.go). A follower keeps one to the primary of its config,
// and opens it again when it breaks: what was lost on the way is a gap in the frames, or a
// Hello without an answer, and the protocol begins a session.
type lanes struct {
	n    *Node
	mu   sync.Mutex
	more sync.Cond

	in     map[replica.ID]*lane // followers' streams, of the primary
	target *Member              // the primary to follow, nil: none
	out    *lane                // the stream to target
	hello  *replica.Hello       // that waits for a stream
	fenced bool                 // target is not followed now
	closed bool

	invited map[uint64]*invited // by ticket

	pause time.Duration // before the next question to the primary's device; of follow alone
}

// lane is one stream, with or without a queue pair.
type lane struct {
	c    net.Conn
	peer replica.ID
	done chan struct{} // closed: all that came was handed to the loop
	// Set before run. One of the two at most: of a primary, or a follower.
	send    *rings.Sender
	receive *rings.Receiver
	device  rdma.Device // receive's
	status  LaneStatus
	open    bool   // status is set, under the lock of lanes
	payload []byte // of the last frame that was sent
	// fellBack: a follower's queue pair failed.
	fellBack bool

	mu   sync.Mutex
	more sync.Cond
	// What waits to be sent: messages in order, the latest Ack, and of frames the range of
	// entries. Acks and frames replace what they make superfluous.
	first []replica.Message // Hello, CopyFirst
	ack   *replica.Ack
	frame *replica.Frame
	// pressed: the ring has room that the primary does not know of.
	pressed bool
	stop    func() // called by close
	closed  bool
}

const (
	// frameBytes is about how much a frame has.
	frameBytes = 1 << 20
	// dialTime bounds the opening of a stream, and dialPause is before the next attempt.
	dialTime  = 200 * time.Millisecond
	dialPause = 20 * time.Millisecond
	// refusedPause is before the next one at a member that has refused.
	refusedPause = 500 * time.Millisecond
)

var (
	errUnreachable = errors.New("no connection")
	errBrief       = errors.New("the lane ended at once")
)

func newLanes(n *Node) *lanes {
	l := &lanes{n: n, in: map[replica.ID]*lane{}, invited: map[uint64]*invited{}}
	l.more.L = &l.mu
	return l
}

func (l *lanes) close() {
	_ = l.n.o.Lanes.Close()
	l.mu.Lock()
	l.closed = true
	all := []*lane{l.out}
	for _, x := range l.in {
		all = append(all, x)
	}
	l.more.Broadcast()
	l.mu.Unlock()
	for _, x := range all {
		if x != nil {
			x.close()
		}
	}
}

// learned follows another primary, after all that came from the one before.
func (l *lanes) learned(g *Group) {
	l.mu.Lock()
	p := g.Member(g.Primary)
	if p == nil || p.ID == l.n.id {
		l.target = nil
	} else {
		next := *p
		if l.target != nil && *l.target == next {
			l.mu.Unlock()
			return
		}
		l.target = &next
	}
	l.more.Broadcast()
	l.mu.Unlock()
	l.end()
}

// fence ends the lane to the primary: what came is read to its end, and nothing more comes
// until unfence.
func (l *lanes) fence() {
	l.mu.Lock()
	l.fenced = true
	l.mu.Unlock()
	l.end()
}

func (l *lanes) unfence() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.fenced = false
	l.more.Broadcast()
}

// end ends the lane to the primary, and waits until all that came was handed to the loop.
func (l *lanes) end() {
	l.mu.Lock()
	x := l.out
	l.mu.Unlock()
	if x != nil {
		x.close()
		<-x.done
	}
}

// status is that of the lane to the primary.
func (l *lanes) status() LaneStatus {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.out == nil || !l.out.open {
		return LaneStatus{}
	}
	return l.out.status
}

// send hands a message to a stream, if there is one.
func (l *lanes) send(to replica.ID, m replica.Message) {
	l.mu.Lock()
	var x *lane
	switch m := m.(type) {
	case *replica.Hello, *replica.Ack:
		if l.out != nil && l.out.open && l.out.peer == to {
			x = l.out
		} else if h, ok := m.(*replica.Hello); ok {
			l.hello = h
		}
	default:
		x = l.in[to]
	}
	l.mu.Unlock()
	if x != nil {
		x.put(m)
	}
}

func newLane(c net.Conn, peer replica.ID) *lane {
	x := &lane{c: c, peer: peer, done: make(chan struct{})}
	x.more.L = &x.mu
	return x
}

func (x *lane) put(m replica.Message) {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch m := m.(type) {
	case *replica.Ack:
		x.ack = m
	case *replica.Frame:
		x.merge(m)
	default:
		x.first = append(x.first, m)
	}
	x.more.Signal()
}

// merge lets a frame carry what the one that waits would.
func (x *lane) merge(f *replica.Frame) {
	old := x.frame
	if next := *f; old == nil || f.Start || old.Session != f.Session || old.Term != f.Term || f.Prev != old.Last {
		x.frame = &next
		return
	}
	old.Last, old.Committed, old.Sent = f.Last, f.Committed, f.Sent
}

func (x *lane) close() {
	x.mu.Lock()
	x.closed = true
	stop := x.stop
	x.more.Broadcast()
	x.mu.Unlock()
	if stop != nil {
		stop()
	}
	_ = x.c.Close()
}

// work is what is to be sent.
type work struct {
	first   []replica.Message
	ack     *replica.Ack
	frame   *replica.Frame
	pressed bool
}

// take waits for something to send.
func (x *lane) take() (w work, ok bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for len(x.first) == 0 && x.ack == nil && x.frame == nil && !x.pressed && !x.closed {
		x.more.Wait()
	}
	w = work{x.first, x.ack, x.frame, x.pressed}
	x.first, x.ack, x.frame, x.pressed = nil, nil, nil, false
	return w, !x.closed
}

// write sends what waits, until the lane is closed.
func (x *lane) write(n *Node) error {
	defer x.close()
	var b []byte
	for {
		w, ok := x.take()
		if !ok {
			return nil
		}
		b = b[:0]
		for _, m := range w.first {
			b = link.Append(b, m)
		}
		switch {
		case x.receive != nil && (w.ack == nil && w.pressed || w.ack != nil && w.ack.Session != 0):
			if err := x.acknowledge(w.ack); err != nil {
				return err
			}
		case w.ack != nil: // A line has no place for a refusal, which is of no session.
			b = link.Append(b, w.ack)
		}
		for frame := w.frame; frame != nil; {
			part, rest, err := n.part(frame)
			if err != nil {
				return err
			}
			if frame = rest; x.send != nil {
				sent, err := x.sendFrame(part)
				if err != nil {
					return err
				}
				n.counts.frames.Add(1)
				n.counts.bytes.Add(uint64(sent))
				continue
			}
			b = link.Append(b, part)
			n.counts.frames.Add(1)
			if frame != nil {
				n.counts.bytes.Add(uint64(len(b)))
				if _, err := x.c.Write(b); err != nil {
					return err
				}
				b = b[:0]
			}
		}
		if len(b) == 0 {
			continue
		}
		n.counts.bytes.Add(uint64(len(b)))
		if _, err := x.c.Write(b); err != nil {
			return err
		}
	}
}

// part fills a frame with the first of its entries. rest has those that are left.
func (n *Node) part(f *replica.Frame) (part, rest *replica.Frame, err error) {
	p := *f
	if f.Last > f.Prev {
		entries, err := n.read(f.Prev, f.Last, frameBytes)
		if err != nil {
			return nil, nil, err
		}
		p.Entries = make([]replica.Entry, len(entries))
		for i := range entries {
			e := &entries[i]
			p.Entries[i] = replica.Entry{Term: e.Term(), Data: e}
		}
	}
	p.Last = p.Prev + uint64(len(p.Entries))
	if p.Last < f.Last && len(p.Entries) > 0 {
		r := *f
		r.Prev, r.Start = p.Last, false
		return &p, &r, nil
	}
	return &p, nil, nil
}

// readAll hands the messages of a stream to the loop.
func (x *lane) readAll(n *Node, r *bufio.Reader) error {
	defer x.close()
	for {
		m, err := link.Read(r)
		if err != nil {
			return err
		}
		n.notify(replica.Receive{From: x.peer, Message: m})
	}
}

// run carries a lane until a part of it breaks.
func (x *lane) run(n *Node, r *bufio.Reader) {
	n.log.Info("a lane of the group is open", "peer", x.peer, "transport", x.status.Transport, "reason", x.status.Reason, "ring", x.status.RingBytes)
	ended := make(chan error, 3)
	parts := []func() error{func() error { return x.write(n) }, func() error { return x.readAll(n, r) }}
	if x.send != nil || x.receive != nil {
		parts = append(parts, func() error { return x.readRing(n) })
	}
	for _, p := range parts {
		go func() { ended <- p() }()
	}
	var err error
	for range parts {
		e := <-ended // The first one is the cause of the others.
		if err == nil && !errors.Is(e, rings.ErrStopped) || errors.Is(e, rings.ErrPeer) {
			err = e
		}
	}
	level := slog.LevelDebug
	if errors.Is(err, rings.ErrPeer) || errors.Is(err, link.ErrMalformed) {
		level = slog.LevelWarn
	}
	n.log.Log(n.ctx, level, "a lane of the group has ended", "peer", x.peer, "transport", x.status.Transport, "error", err)
}

// accept serves followers.
func (l *lanes) accept() {
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		c, err := l.n.o.Lanes.Accept()
		if err != nil {
			return
		}
		wg.Go(func() { l.serve(c) })
	}
}

func (l *lanes) serve(c net.Conn) {
	defer c.Close()
	defer context.AfterFunc(l.n.ctx, func() { c.Close() })()
	r := bufio.NewReaderSize(c, lineBytes) // A stranger gets no more.
	hi, stop, err := l.n.admit(c, r, func() { c.Close() })
	if stop != nil {
		defer stop()
	}
	if err != nil {
		l.n.log.Warn("a stream was refused", "from", c.RemoteAddr().String(), "error", err)
		return
	}
	if hi.Copy {
		l.n.sendCopy(c, r, hi)
		return
	}
	x := newLane(c, hi.From)
	x.status = LaneStatus{Transport: streamTransport, Reason: "the follower has no rings"}
	defer x.freeRing()
	if hi.Ring {
		if err := l.inviteLane(c, r, x); err != nil {
			l.n.log.Warn("a lane was refused", "peer", hi.From, "from", c.RemoteAddr().String(), "error", err)
			return
		}
	}
	l.mu.Lock()
	old := l.in[hi.From]
	if l.closed {
		l.mu.Unlock()
		return
	}
	l.in[hi.From] = x
	l.mu.Unlock()
	if old != nil {
		old.close()
	}
	x.run(l.n, bufio.NewReaderSize(r, frameBytes))
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.in[hi.From] == x {
		delete(l.in, hi.From)
	}
}

// follow keeps a stream to the primary.
func (l *lanes) follow() {
	var said string
	for {
		l.mu.Lock()
		for (l.target == nil || l.fenced) && !l.closed {
			l.more.Wait()
		}
		to, closed := l.target, l.closed
		l.mu.Unlock()
		if closed {
			return
		}
		began := time.Now()
		err := l.dial(*to)
		if err == nil {
			said = ""
			if time.Since(began) >= dialPause {
				continue
			}
			err = errBrief // A lane may break at once, each time.
		}
		pause, level := dialPause, slog.LevelDebug
		if errors.Is(err, ErrNotAdmitted) {
			pause = refusedPause
		}
		quiet := errors.Is(err, errUnreachable) || errors.Is(err, net.ErrClosed) || errors.Is(err, errBrief)
		if !quiet && err.Error() != said {
			said, level = err.Error(), slog.LevelWarn // once
		}
		l.n.log.Log(l.n.ctx, level, "the primary cannot be followed", "addr", to.Addr, "error", err)
		select {
		case <-time.After(pause):
		case <-l.n.ctx.Done():
		}
	}
}

func (l *lanes) dial(to Member) error {
	ctx, cancel := context.WithTimeout(l.n.ctx, dialTime)
	c, err := l.n.o.Dial(ctx, to.Addr)
	cancel()
	if err != nil {
		return fmt.Errorf("%w: %w", errUnreachable, err)
	}
	x := newLane(c, to.ID)
	// A queue pair to a member that is cut off takes seconds to close, and a candidate waits
	// for done.
	defer l.n.wg.Go(x.freeRing)
	defer close(x.done)
	defer x.close()
	l.mu.Lock()
	if l.closed || l.fenced || l.target == nil || *l.target != to {
		l.mu.Unlock()
		return nil
	}
	l.out = x // From now on another primary ends it.
	l.mu.Unlock()
	defer func() {
		l.mu.Lock()
		defer l.mu.Unlock()
		if l.out == x {
			l.out = nil
		}
	}()
	r := bufio.NewReaderSize(c, lineBytes)
	if err := l.n.o.greet(c, r, greeting{From: l.n.id, Boot: to.Boot, Ring: l.n.o.Rings != nil}); err != nil {
		return err
	}
	x.status = LaneStatus{Transport: streamTransport, Reason: "an option"}
	if l.n.o.Rings != nil {
		if err := l.openRing(c, r, x, to); err != nil {
			return err
		}
	}
	l.mu.Lock()
	x.open = true
	if l.hello != nil {
		x.put(l.hello)
		l.hello = nil
	}
	l.mu.Unlock()
	if !x.fellBack {
		l.pause = 0
	} else {
		l.pause = min(max(2*l.pause, cmp.Or(l.n.o.Rings.Again, againTime)), againMost)
		every := l.pause
		ctx, stop := context.WithCancel(l.n.ctx)
		defer stop()
		l.n.wg.Go(func() { l.again(ctx, x, to, every) })
	}
	x.run(l.n, bufio.NewReaderSize(r, frameBytes))
	return nil
}
