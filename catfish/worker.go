package catfish

import (
	"encoding/binary"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/heartbeat"
	"github.com/catfish-index/catfish/internal/recording"
)

// handler is the fastmsg.BatchHandler of a worker. Each worker has its own.
type handler struct {
	service
	heartbeats *heartbeat.Sender
}

// Opened subscribes the connection to heartbeats at the interval that its
// hello asks for, which answerHello has checked.
func (h *handler) Opened(c *fastmsg.Conn) {
	hello := c.Hello()
	interval := time.Duration(binary.LittleEndian.Uint64(hello[8:]))
	if interval == 0 {
		interval = h.s.opts.HeartbeatInterval
	}
	peer := &peer{sub: h.heartbeats.Add(c, interval)}
	if h.s.rec != nil {
		peer.client = h.s.rec.Client()
		if h.tap == nil {
			h.tap = h.s.rec.NewTap()
		}
	}
	c.Context = peer
	if binary.LittleEndian.Uint64(hello[16:])&helloPolling != 0 {
		c.KeepPolling()
	}
}

// peer is the state of a connection that belongs to the handler.
type peer struct {
	sub    *heartbeat.Subscription
	client uint32 // its number in the recording
}

// serves sets the client whose request is served next, for the recording.
func (h *handler) serves(c *fastmsg.Conn) {
	if h.s.rec != nil {
		h.client = c.Context.(*peer).client // Opened has set it.
	}
}

func (h *handler) Serve(c *fastmsg.Conn, m fastmsg.Message) {
	h.serves(c)
	kind, answer := h.process(m.Kind, m.Payload)
	c.Respond(kind, m.ID, answer)
}

func (h *handler) Closed(c *fastmsg.Conn, err error) {
	if p, ok := c.Context.(*peer); ok {
		h.heartbeats.Remove(p.sub)
	}
	if h.tap != nil {
		h.tap.HandOver() // This may have been the last: no more ticks.
	}
	h.s.log.Debug("connection ended", "transport", h.transport, "peer", c.Peer(), "err", err)
}

func (s *Server) newWorker(f *fabric) (*fastmsg.Worker, error) {
	h := &handler{service: service{s: s, transport: f.name, via: vias[f.name]}}
	var err error
	tick, phases := s.opts.heartbeatPhases()
	h.heartbeats, err = heartbeat.NewSender(f.dev, heartbeat.SenderConfig{
		Load: s.monitor.Load, TickEvery: tick, Phases: phases,
	})
	if err != nil {
		return nil, err
	}
	f.heartbeats = append(f.heartbeats, h.heartbeats)
	return fastmsg.NewWorker(f.dev, h, fastmsg.WorkerConfig{
		RingBytes: s.opts.RingBytes,
		Polling:   s.opts.Polling,
		TickEvery: tick,
		Hello:     s.answerHello,
		Tick: func(now time.Time, _ []*fastmsg.Conn) bool {
			more := h.heartbeats.Tick(now)
			if h.tap != nil && more {
				h.tap.HandOverOld()
			} else if h.tap != nil {
				h.tap.HandOver()
			}
			return more
		},
	})
}

// The clients of a worker get its heartbeats in heartbeatGroups groups, one
// after the other, at least heartbeatTick apart: a worker that sleeps between
// requests wakes up for each group.
const (
	heartbeatGroups = 8
	heartbeatTick   = time.Millisecond
)

// heartbeatPhases divides the interval between heartbeats into ticks. While the
// server records, there are enough of them that no record waits for long.
func (o *ServerOptions) heartbeatPhases() (tick time.Duration, phases int) {
	n := min(max(o.HeartbeatInterval/heartbeatTick, 1), heartbeatGroups)
	if o.Record.File != "" {
		n = max(n, (o.HeartbeatInterval+recording.Hold-1)/recording.Hold)
	}
	return o.HeartbeatInterval / n, int(n)
}

// answerHello rejects clients that mean another server. The answer is the boot
// id of this one.
func (s *Server) answerHello(peer string, b []byte) ([]byte, error) {
	if len(b) != clientHelloBytes {
		return nil, fmt.Errorf("%w: hello of %d bytes, want %d", ErrProtocol, len(b), clientHelloBytes)
	}
	if boot := binary.LittleEndian.Uint64(b); boot != s.bootID {
		return nil, fmt.Errorf("%w: meant for boot id %#x, this server is %#x", ErrNoServer, boot, s.bootID)
	}
	if f := binary.LittleEndian.Uint64(b[16:]); f&^helloPolling != 0 {
		return nil, fmt.Errorf("%w: hello with flags %#x, want 0 or %d", ErrProtocol, f, helloPolling)
	}
	if d := time.Duration(binary.LittleEndian.Uint64(b[8:])); d != 0 {
		if err := checkInterval(d); err != nil {
			return nil, err
		}
	}
	return binary.LittleEndian.AppendUint64(nil, s.bootID), nil
}

// newMonitor returns a monitor of this process and the cores that it may use.
func newMonitor(s *Server) (*heartbeat.Monitor, error) {
	return heartbeat.NewMonitor(heartbeat.MonitorConfig{Work: s.work, Workers: s.opts.Workers})
}

// work returns the sum of the work of all workers. After NewServer, no worker
// is added.
func (s *Server) work() heartbeat.Work {
	var w heartbeat.Work
	for _, f := range s.fabrics {
		for _, worker := range f.workers {
			st := worker.Stats()
			w.Busy += st.Busy
			w.Spun += st.Spun
			w.Requests += st.Requests
			w.BytesOut += st.BytesOut
			w.Waiting += st.Waiting
		}
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
