package server

import (
	"encoding/binary"
	"fmt"
	"runtime"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/heartbeat"
	"github.com/catfish-index/catfish/internal/recording"
	"github.com/catfish-index/catfish/internal/wire"
)

// handler is the fastmsg.BatchHandler of a worker. Each worker has its own.
type handler struct {
	service
	heartbeats *heartbeat.Sender
	over       func() // called when a connection has ended, if not nil
	keyEnds    uint64 // of keys, as of the last tick
}

// Opened subscribes the connection to heartbeats at the interval that its
// hello asks for, which answerHello has checked.
func (h *handler) Opened(c *fastmsg.Conn) {
	hello := c.Hello()
	interval := wire.IntervalIn(hello)
	if interval == 0 {
		interval = h.s.opts.HeartbeatInterval
	}
	peer := &peer{name: c.Peer, sub: h.heartbeats.Add(c, interval)}
	if h.s.access != nil {
		// nil, if the key became invalid after answerHello: then each request fails.
		peer.guard, _ = h.s.access.byTicket(wire.TicketOf(hello))
	}
	if h.s.rec != nil {
		peer.client = h.s.rec.Client()
		// A worker of one connection uses the shared tap, since the recorder
		// never frees a tap.
		if h.tap == nil && h.over == nil {
			h.tap = h.s.rec.NewTap()
		}
	}
	c.Context = peer
	if binary.LittleEndian.Uint64(hello[16:])&wire.HelloPolling != 0 {
		c.KeepPolling()
	}
}

// serves returns the client whose request is served next.
func (h *handler) serves(c *fastmsg.Conn) *peer {
	p := c.Context.(*peer) // Opened has set it.
	if h.heartbeats.Resting() > 0 {
		h.heartbeats.Wake(p.sub)
	}
	return p
}

func (h *handler) Serve(c *fastmsg.Conn, m fastmsg.Message) {
	kind, answer, t := h.process(h.serves(c), m.Kind, m.Payload)
	if t != nil {
		h.begin(c, m.ID, t)
		return
	}
	c.Respond(kind, m.ID, answer)
	h.trim()
}

func (h *handler) Closed(c *fastmsg.Conn, err error) {
	if p, ok := c.Context.(*peer); ok {
		h.heartbeats.Remove(p.sub)
		if p.task != nil {
			h.ends(c, p.task)
		}
		p.close(h.s)
	}
	if h.tap != nil {
		h.tap.HandOver() // If this was the last connection, no more ticks come.
	}
	h.s.log.Debug("connection ended", "transport", h.transport, "peer", c.Peer(), "err", err)
	if h.over != nil {
		h.over()
	}
}

// newWorker makes worker number of a transport, from 1 on; 0: a worker of one
// connection. over is nil, or is called when that connection has ended.
func (s *Server) newWorker(f *fabric, number int, over func()) (_ *worker, err error) {
	h := &handler{service: service{s: s, transport: f.name, owner: number, via: vias[f.name], meter: s.meters[f.name]}, over: over}
	tick, phases := s.opts.heartbeatPhases()
	if over != nil { // Heartbeats to one connection cannot be spread, and it has no tap.
		tick, phases = s.opts.HeartbeatInterval, 1
	}
	h.heartbeats, err = heartbeat.NewSender(f.dev, heartbeat.SenderConfig{
		Load: s.load, TickEvery: tick, Phases: phases, RestInterval: wire.RestInterval,
	})
	if err != nil {
		return nil, err
	}
	w, err := fastmsg.NewWorker(f.dev, h, fastmsg.WorkerConfig{
		RingBytes: s.opts.RingBytes,
		Polling:   s.opts.Polling,
		OwnThread: s.opts.WorkerPerConnection,

		MailboxInRing: s.opts.HeartbeatInRing,

		TickEvery: tick,
		Budget:    s.budgets.answers,
		Rings:     s.budgets.rings,
		MaxLater:  maxLater,
		Hello: func(peer string, b []byte) ([]byte, error) {
			answer, err := s.answerHello(peer, b)
			if err == nil {
				err = wire.CheckWorker(b, number)
			}
			return answer, err
		},
		Tick: func(now time.Time, conns []*fastmsg.Conn) bool {
			s.access.endConns(conns, &h.keyEnds)
			more := h.heartbeats.Tick(now)
			if h.tap != nil && more {
				h.tap.HandOverOld()
			} else if h.tap != nil {
				h.tap.HandOver()
			}
			return more
		},
	})
	if err != nil {
		h.heartbeats.Close()
		return nil, err
	}
	return &worker{w, h.heartbeats}, nil
}

// tickSoon makes all workers tick, also workers that sleep because their clients
// send no requests.
func (s *Server) tickSoon() {
	for _, f := range s.fabrics {
		for _, w := range f.workers.all() {
			w.TickSoon()
		}
	}
}

// The clients of a worker get its heartbeats in heartbeatGroups groups, at least
// heartbeatTick apart: a worker that sleeps between requests wakes up for each
// group.
const (
	heartbeatGroups = 8
	heartbeatTick   = time.Millisecond
)

// heartbeatPhases divides the interval between heartbeats into ticks. While the
// server records, it has enough ticks that no record waits for long.
func (o *Options) heartbeatPhases() (tick time.Duration, phases int) {
	n := min(max(o.HeartbeatInterval/heartbeatTick, 1), heartbeatGroups)
	if o.HeartbeatInRing {
		n = 1
	}
	if o.Record.File != "" {
		n = max(n, (o.HeartbeatInterval+recording.Hold-1)/recording.Hold)
	}
	return o.HeartbeatInterval / n, int(n)
}

// answerHello rejects clients that mean another server. The answer is this
// server's boot id.
func (s *Server) answerHello(peer string, b []byte) ([]byte, error) {
	if err := s.CheckMemory(); err != nil {
		return nil, err
	}
	if len(b) != wire.ClientHelloBytes {
		return nil, fmt.Errorf("%w: hello of %d bytes, want %d", model.ErrProtocol, len(b), wire.ClientHelloBytes)
	}
	if boot := binary.LittleEndian.Uint64(b); boot != s.bootID {
		return nil, fmt.Errorf("%w: meant for boot id %#x, this server is %#x", model.ErrNoServer, boot, s.bootID)
	}
	if s.access != nil {
		if _, err := s.access.byTicket(wire.TicketOf(b)); err != nil {
			return nil, err
		}
	} else if f := binary.LittleEndian.Uint64(b[16:]); f&^wire.HelloPolling != 0 {
		return nil, fmt.Errorf("%w: hello with flags %#x, want 0 or %d", model.ErrProtocol, f, wire.HelloPolling)
	}
	if d := wire.IntervalIn(b); d != 0 {
		if err := wire.CheckInterval(d); err != nil {
			return nil, err
		}
	}
	return binary.LittleEndian.AppendUint64(nil, s.bootID), nil
}

// newMonitor returns a monitor of this process and the cores that it may use.
// Workers of one connection compete for these cores.
func newMonitor(s *Server) (*heartbeat.Monitor, error) {
	n := s.opts.Workers
	if s.opts.WorkerPerConnection {
		n = runtime.NumCPU()
	}
	return heartbeat.NewMonitor(heartbeat.MonitorConfig{Work: s.work, Workers: n})
}

// load is what heartbeats carry: with the lease, if the server is a member of a group.
func (s *Server) load() heartbeat.Load {
	l := s.monitor.Load()
	if s.opts.member.on {
		if m, ok := s.store.Standing(); ok {
			l.Numbers = [2]uint64{m.Lease.Term, uint64(m.Lease.Until)}
		}
	}
	return l
}

// work returns the sum of the work of all workers, also of those that ended.
func (s *Server) work() heartbeat.Work {
	var w heartbeat.Work
	for _, f := range s.fabrics {
		f.workers.work(&w)
	}
	return w
}

// cores returns the number of cores that utilisation refers to.
func (s *Server) cores() float64 {
	cores, quota := s.monitor.Capacity()
	if quota > 0 {
		return min(float64(cores), quota)
	}
	return float64(cores)
}
