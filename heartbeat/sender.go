package heartbeat

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/catfish-index/catfish/rdma"
)

// Target is a connection that gets beats; *fastmsg.Conn is one.
type Target interface {
	QueuePair() rdma.QueuePair
	Mailbox() rdma.Remote
}

// SenderConfig configures a Sender. Load is required.
type SenderConfig struct {
	// Load is where the numbers come from: Monitor.Load.
	Load func() Load
	// TickEvery is the time between calls of Tick (0: 10 ms, the
	// paper's heartbeat interval).
	TickEvery time.Duration
	// Phases is how many ticks the shortest interval has (0: 1), over
	// which the connections are spread: so not all clients of a worker
	// hear that it is busy, and leave it, at one time. The load is asked
	// for once in so many ticks.
	Phases int
	// IdleAfter is the time without any request after which beats stop
	// (0: 1 s).
	IdleAfter time.Duration
}

const (
	defaultTick = 10 * time.Millisecond
	// defaultIdle: a hundred beats say "not busy" before silence does.
	defaultIdle = time.Second
	// signalEvery is how often a beat asks for a completion, which lets
	// the card free the unsignaled ones before: well below the 64 that
	// fastmsg leaves to its owner (SpareSends).
	signalEvery = 16
	// maxSlots bounds the buffers: 1 MiB.
	maxSlots = 16 << 10
	// maxPhases bounds the lists of connections with one interval, 24
	// bytes each: peers choose intervals.
	maxPhases = 64
)

// Sender posts beats to the connections of one worker. It belongs to
// that worker's goroutine. A beat costs one posted write of 64 bytes, and one
// encoding for all connections of one interval; nothing waits. A tick
// touches the connections whose turn it is and no others:
//
//	interval    |<---- every = 8 ticks ---->|
//	tick         0   1   2   3   4   5   6   7   0   ...
//	beats to     a   b   c           d           a
//	Load, encode *                               *
//
// A posted buffer belongs to the provider until the write is complete,
// which for unsignaled writes nobody tells. So each beat goes into the
// next slot of a ring of slots, and none is used again before
// rdma.PeerTimeout has passed twice: a peer that has not taken its beat
// by then is slow beyond use, and would get a newer beat in place of
// the old one, or a torn one that its checksum reveals.
type Sender struct {
	cfg    SenderConfig
	region rdma.Region
	used   []time.Time // by slot: when it was posted last
	slot   int

	sequence uint64
	tick     int
	load     Load // of this round of Phases ticks
	count    int  // of subscriptions
	groups   []*group
	encoded  []encoded // of this round, by interval
	requests uint64
	active   time.Time // when requests last grew
	wr       [1]rdma.WorkRequest
}

type encoded struct{ every, slot int }

// group is the connections with one interval, by their phases.
type group struct {
	every  int // ticks
	count  int
	phases [][]*Subscription
}

// due returns whose turn it is.
func (g *group) due(tick int) []*Subscription {
	at, n := tick%g.every, len(g.phases)
	p := at * n / g.every
	if (p*g.every+n-1)/n != at { // The phase's first tick.
		return nil
	}
	return g.phases[p]
}

// Subscription is one connection's place in a Sender.
type Subscription struct {
	t      Target
	group  *group
	phase  int
	posted int // since the last signaled one
	index  int // in its phase, -1: removed
}

// NewSender registers the buffers with dev, the connections' device.
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
	if cfg.TickEvery < 0 || cfg.IdleAfter < 0 || cfg.Phases < 0 {
		return nil, fmt.Errorf("heartbeat: TickEvery %v, IdleAfter %v, Phases %d: must be positive",
			cfg.TickEvery, cfg.IdleAfter, cfg.Phases)
	}
	// Twice as many as one interval needs, for a second interval.
	round := cfg.TickEvery * time.Duration(cfg.Phases)
	slots := int(min(2*(2*rdma.PeerTimeout/round+1), maxSlots))
	region, err := dev.Register(slots*Bytes, 0)
	if err != nil {
		return nil, fmt.Errorf("heartbeat: sender: %w", err)
	}
	return &Sender{cfg: cfg, region: region, used: make([]time.Time, slots)}, nil
}

// Close gives the buffers back. The connections must be closed before.
func (s *Sender) Close() error { return s.region.Close() }

// Add subscribes a connection to beats every interval, rounded up to
// rounds of Phases ticks (0: every round). The first comes within one
// interval, in the phase with the fewest connections.
func (s *Sender) Add(t Target, interval time.Duration) *Subscription {
	round := s.cfg.TickEvery * time.Duration(s.cfg.Phases)
	every := s.cfg.Phases * int(max(1, (interval+round-1)/round))
	if s.count == 0 {
		// What this round tells may be long ago: nobody was there to tick for.
		s.tick += (s.cfg.Phases - s.tick%s.cfg.Phases) % s.cfg.Phases
	}
	g := s.groupOf(every)
	sub := &Subscription{t: t, group: g}
	for p := range g.phases {
		if len(g.phases[p]) < len(g.phases[sub.phase]) {
			sub.phase = p
		}
	}
	sub.index = len(g.phases[sub.phase])
	g.phases[sub.phase] = append(g.phases[sub.phase], sub)
	g.count++
	s.count++
	return sub
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

// Interval is the time between this subscription's beats.
func (s *Sender) Interval(sub *Subscription) time.Duration {
	return time.Duration(sub.group.every) * s.cfg.TickEvery
}

// Remove ends a subscription; a second time is once.
func (s *Sender) Remove(sub *Subscription) {
	if sub.index < 0 {
		return
	}
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

// Tick posts the beats that are due. It returns false when ticks can
// stop until something arrives: no connection is subscribed, or no
// worker has had a request for IdleAfter. A worker whose own clients
// are silent resumes with their next request only; until then they get
// no beat, which means "not busy" to them.
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
			}
		}
	}
	s.tick++
	return true
}

// encode returns the slot with this round's beat for that interval, and
// false if all slots may still be under way.
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
		Waiting: s.load.Waiting, BytesPerSecond: s.load.BytesPerSecond,
	}
	b.Encode(s.region.Bytes()[next*Bytes:])
	s.encoded = append(s.encoded, encoded{every, next})
	return next, true
}

// post sends a slot's beat. A failed queue pair is its owner's to close,
// and a full queue does without this beat.
func (s *Sender) post(sub *Subscription, slot int) {
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
