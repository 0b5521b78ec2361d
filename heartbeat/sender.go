package heartbeat

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// Target is a connection that heartbeats are sent to, as *fastmsg.Conn is.
type Target interface {
	QueuePair() rdma.QueuePair
	Mailbox() rdma.Remote
	// Arrived changes with each request of the client.
	Arrived() uint64
}

// Rider is a Target that may bring a heartbeat along with an answer. Ride reports
// whether it does; b is valid during the call. If not, the heartbeat is written.
type Rider interface {
	Ride(b []byte) bool
}

// SenderConfig configures a Sender. Load is required.
type SenderConfig struct {
	// Load returns the load to send, as Monitor.Load does.
	Load func() Load
	// TickEvery is the time between calls of Tick (0: 10 ms, the
	// paper's heartbeat interval).
	TickEvery time.Duration
	// Phases is the number of ticks in a round, the shortest interval (0:
	// 1). Connections are spread over its ticks, so that not all clients of
	// a worker learn at the same time that it is busy, and leave it at once.
	// Load is called once per round.
	Phases int
	// IdleAfter is the time without any request after which heartbeats stop
	// (0: 1 s).
	IdleAfter time.Duration
	// RestInterval, if not 0, is the time between the heartbeats of a
	// connection that has had no request for IdleAfter, until Wake.
	RestInterval time.Duration
}

const (
	defaultTick = 10 * time.Millisecond
	// defaultIdle is long enough for a hundred heartbeats that say "not
	// busy", before silence means it.
	defaultIdle = time.Second
	// signalEvery is how many heartbeats to a connection there are for each
	// one with a completion, which lets the card free the unsignaled ones
	// before it. It is well below fastmsg.SpareSends, 64.
	signalEvery = 16
	// maxSlots bounds the memory of the buffers to 1 MiB.
	maxSlots = 16 << 10
	// maxPhases bounds the number of lists per interval, of 24 bytes each:
	// clients choose the intervals.
	maxPhases = 64
)

// Sender posts heartbeats to the connections of one worker. It belongs to
// that worker's goroutine. Per round, a heartbeat is encoded once for all
// connections with the same interval; each costs one posted write of 64
// bytes, and no waiting. A tick touches only the connections that are due:
//
//	interval       |<---- every = 8 ticks ---->|
//	tick            0   1   2   3   4   5   6   7   0   ...
//	heartbeat to    a   b   c           d           a
//	Load, encode    *                               *
//
// A posted buffer belongs to the provider until the write has completed, and
// unsignaled writes do not report that. So the buffers are a ring of slots,
// and a slot is not used again before twice rdma.PeerTimeout has passed. A
// connection whose write is still pending then is too slow to be useful; its
// client gets a newer heartbeat in place of the old one, or a torn one, which
// the checksum reveals.
type Sender struct {
	cfg    SenderConfig
	region rdma.Region
	used   []time.Time // by slot: when it was last posted
	slot   int         // slot used last

	sequence uint64
	tick     int
	load     Load // in this round
	count    int  // subscriptions
	groups   []*group
	encoded  []encoded // in this round, one per interval
	requests uint64
	active   time.Time // when requests last increased
	wr       [1]rdma.WorkRequest

	resting int             // subscriptions
	quiet   []*Subscription // scratch of Tick: those that begin to rest
}

type encoded struct{ every, slot int }

// group is the connections with the same interval, by phase.
type group struct {
	every  int // ticks
	count  int
	phases [][]*Subscription
}

// due returns the subscriptions that get a heartbeat at this tick.
func (g *group) due(tick int) []*Subscription {
	at, n := tick%g.every, len(g.phases)
	p := at * n / g.every
	if (p*g.every+n-1)/n != at { // not the first tick of the phase
		return nil
	}
	return g.phases[p]
}

// Subscription is one connection's place in a Sender.
type Subscription struct {
	t      Target
	group  *group
	phase  int
	posted int // heartbeats since the last signaled one
	index  int // in its phase; -1: removed

	rest rest
}

// NewSender registers the buffers with dev, the device of the connections.
func NewSender(dev rdma.Device, cfg SenderConfig) (*Sender, error) {
	if cfg.Load == nil {
		return nil, errors.New("heartbeat: SenderConfig.Load is nil")
	}
	if cfg.TickEvery == 0 {
		cfg.TickEvery = defaultTick
	}
	if cfg.IdleAfter == 0 {
		cfg.IdleAfter = defaultIdle
	}
	if cfg.Phases == 0 {
		cfg.Phases = 1
	}
	if cfg.TickEvery < 0 || cfg.IdleAfter < 0 || cfg.Phases < 0 || cfg.RestInterval < 0 {
		return nil, fmt.Errorf("heartbeat: TickEvery %v, IdleAfter %v, Phases %d, RestInterval %v: must be positive",
			cfg.TickEvery, cfg.IdleAfter, cfg.Phases, cfg.RestInterval)
	}
	// Twice what one interval needs: clients may use two.
	round := cfg.TickEvery * time.Duration(cfg.Phases)
	slots := int(min(2*(2*rdma.PeerTimeout/round+1), maxSlots))
	region, err := dev.Register(slots*Bytes, 0)
	if err != nil {
		return nil, fmt.Errorf("heartbeat: sender: %w", err)
	}
	return &Sender{cfg: cfg, region: region, used: make([]time.Time, slots)}, nil
}

// Close releases the buffers. The connections must have been closed.
func (s *Sender) Close() error { return s.region.Close() }

// Add subscribes a connection to a heartbeat every interval, rounded up to
// whole rounds (0: every round). It joins the phase with the fewest
// connections, so the first heartbeat comes within one interval.
func (s *Sender) Add(t Target, interval time.Duration) *Subscription {
	if s.count == 0 {
		// The load of this round may be old: without subscriptions there
		// are no ticks. So a new round begins.
		s.tick += (s.cfg.Phases - s.tick%s.cfg.Phases) % s.cfg.Phases
	}
	sub := &Subscription{t: t}
	s.put(sub, s.ticks(interval))
	return sub
}

// ticks is an interval in ticks, rounded up to whole rounds.
func (s *Sender) ticks(interval time.Duration) int {
	round := s.cfg.TickEvery * time.Duration(s.cfg.Phases)
	return s.cfg.Phases * int(max(1, (interval+round-1)/round))
}

// put puts a subscription into the group of an interval.
func (s *Sender) put(sub *Subscription, every int) {
	g := s.groupOf(every)
	sub.group, sub.phase = g, 0
	for p := range g.phases {
		if len(g.phases[p]) < len(g.phases[sub.phase]) {
			sub.phase = p
		}
	}
	sub.index = len(g.phases[sub.phase])
	g.phases[sub.phase] = append(g.phases[sub.phase], sub)
	g.count++
	s.count++
}

func (s *Sender) groupOf(every int) *group {
	for _, g := range s.groups {
		if g.every == every {
			return g
		}
	}
	g := &group{every: every, phases: make([][]*Subscription, min(every, maxPhases))}
	s.groups = append(s.groups, g)
	return g
}

// Interval returns the time between the heartbeats of a subscription.
func (s *Sender) Interval(sub *Subscription) time.Duration {
	return time.Duration(sub.group.every) * s.cfg.TickEvery
}

// Remove ends a subscription. Removing it again does nothing.
func (s *Sender) Remove(sub *Subscription) {
	if sub.index < 0 {
		return
	}
	if sub.rest.every > 0 {
		s.resting--
	}
	s.take(sub)
}

// take takes a subscription out of its group.
func (s *Sender) take(sub *Subscription) {
	subs := sub.group.phases[sub.phase]
	last := len(subs) - 1
	subs[sub.index] = subs[last]
	subs[sub.index].index = sub.index
	subs[last] = nil
	sub.group.phases[sub.phase] = subs[:last]
	sub.index = -1
	s.count--
	if sub.group.count--; sub.group.count == 0 {
		s.groups = slices.DeleteFunc(s.groups, func(g *group) bool { return g == sub.group })
	}
}

// Tick posts the heartbeats that are due. It returns false if ticks can stop
// until a request arrives: no connection is subscribed, or no worker of the
// server has had a request for IdleAfter. Then a worker resumes only with the
// next request from its own clients. Until then they get no heartbeat, which
// means "not busy".
func (s *Sender) Tick(now time.Time) (more bool) {
	if s.count == 0 {
		return false
	}
	if s.tick%s.cfg.Phases == 0 {
		s.load = s.cfg.Load()
		s.encoded = s.encoded[:0]
		if s.load.Requests != s.requests || s.active.IsZero() {
			s.requests, s.active = s.load.Requests, now
		}
		if now.Sub(s.active) >= s.cfg.IdleAfter {
			return false
		}
	}
	for _, g := range s.groups {
		due := g.due(s.tick)
		if len(due) == 0 {
			continue
		}
		if slot, ok := s.encode(now, g.every); ok {
			for _, sub := range due {
				s.post(sub, slot)
				if sub.posted == 0 && s.isQuiet(sub, now) {
					s.quiet = append(s.quiet, sub)
				}
			}
		}
	}
	s.tick++
	s.putToRest()
	return true
}

// encode returns the slot with this round's heartbeat for an interval. ok is
// false if no slot may be used again yet.
func (s *Sender) encode(now time.Time, every int) (slot int, ok bool) {
	for _, e := range s.encoded {
		if e.every == every {
			s.used[e.slot] = now
			return e.slot, true
		}
	}
	next := (s.slot + 1) % len(s.used)
	if used := s.used[next]; !used.IsZero() && now.Sub(used) < 2*rdma.PeerTimeout {
		return 0, false
	}
	s.slot = next
	s.used[next] = now
	s.sequence++
	b := Beat{
		Sequence: s.sequence, Time: now,
		Interval: time.Duration(every) * s.cfg.TickEvery,
		CPU:      s.load.CPU, Busy: s.load.Busy,
		Waiting: s.load.Waiting, BytesPerSecond: s.load.BytesPerSecond, Numbers: s.load.Numbers,
	}
	b.Encode(s.region.Bytes()[next*Bytes:])
	s.encoded = append(s.encoded, encoded{every, next})
	return next, true
}

// post sends the heartbeat in a slot. Closing a failed queue pair is left to
// its owner. If the queue is full, the connection misses this heartbeat.
func (s *Sender) post(sub *Subscription, slot int) {
	if r, ok := sub.t.(Rider); ok && r.Ride(s.region.Bytes()[slot*Bytes:][:Bytes]) {
		return
	}
	qp := sub.t.QueuePair()
	if qp.Err() != nil {
		return
	}
	sub.posted++
	s.wr[0] = rdma.WorkRequest{
		Op:         rdma.OpWrite,
		Unsignaled: sub.posted < signalEvery,
		Local:      rdma.Buffer{Region: s.region, Offset: slot * Bytes, Len: Bytes},
		Remote:     sub.t.Mailbox(),
	}
	if _, err := qp.Post(s.wr[:]); err != nil {
		return
	}
	if sub.posted >= signalEvery {
		sub.posted = 0
	}
}
