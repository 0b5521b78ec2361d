package heartbeat

import (
	"errors"
	"fmt"
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
)

// Sender posts beats to the connections of one worker. It belongs to
// that worker's goroutine. The cost of a tick is one encoding and one
// posted write of 64 bytes for each connection; nothing waits.
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
	used   []time.Time // by slot: when it was filled last
	slot   int

	sequence uint64
	subs     []*Subscription
	encoded  []encoded // of the tick under way, by interval
	requests uint64
	active   time.Time // when requests last grew
	wr       [1]rdma.WorkRequest
}

type encoded struct{ every, slot int }

// Subscription is one connection's place in a Sender.
type Subscription struct {
	t      Target
	every  int // ticks between beats
	left   int // ticks until the next
	posted int // since the last signaled one
	index  int // in subs, -1: removed
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
	if cfg.TickEvery < 0 || cfg.IdleAfter < 0 {
		return nil, fmt.Errorf("heartbeat: TickEvery %v, IdleAfter %v: must be positive",
			cfg.TickEvery, cfg.IdleAfter)
	}
	// Twice as many as one interval needs, for a second interval.
	slots := int(min(2*(2*rdma.PeerTimeout/cfg.TickEvery+1), maxSlots))
	region, err := dev.Register(slots*Bytes, 0)
	if err != nil {
		return nil, fmt.Errorf("heartbeat: sender: %w", err)
	}
	return &Sender{cfg: cfg, region: region, used: make([]time.Time, slots)}, nil
}

// Close gives the buffers back. The connections must be closed before.
func (s *Sender) Close() error { return s.region.Close() }

// Add subscribes a connection to beats every interval, rounded up to
// ticks (0: every tick). The first comes with the next tick.
func (s *Sender) Add(t Target, interval time.Duration) *Subscription {
	every := max(1, (interval+s.cfg.TickEvery-1)/s.cfg.TickEvery)
	sub := &Subscription{t: t, every: int(every), index: len(s.subs)}
	s.subs = append(s.subs, sub)
	return sub
}

// Interval is the time between this subscription's beats.
func (s *Sender) Interval(sub *Subscription) time.Duration {
	return time.Duration(sub.every) * s.cfg.TickEvery
}

// Remove ends a subscription; a second time is once.
func (s *Sender) Remove(sub *Subscription) {
	if sub.index < 0 {
		return
	}
	last := len(s.subs) - 1
	s.subs[sub.index] = s.subs[last]
	s.subs[sub.index].index = sub.index
	s.subs[last] = nil
	s.subs = s.subs[:last]
	sub.index = -1
}

// Tick posts the beats that are due. It returns false when ticks can
// stop until something arrives: no connection is subscribed, or no
// worker has had a request for IdleAfter. A worker whose own clients
// are silent resumes with their next request only; until then they get
// no beat, which means "not busy" to them.
func (s *Sender) Tick(now time.Time) (more bool) {
	if len(s.subs) == 0 {
		return false
	}
	load := s.cfg.Load()
	if load.Requests != s.requests || s.active.IsZero() {
		s.requests, s.active = load.Requests, now
	}
	if now.Sub(s.active) >= s.cfg.IdleAfter {
		return false
	}
	s.encoded = s.encoded[:0]
	for _, sub := range s.subs {
		if sub.left--; sub.left > 0 {
			continue
		}
		sub.left = sub.every
		if slot, ok := s.encode(now, load, sub.every); ok {
			s.post(sub, slot)
		}
	}
	return true
}

// encode returns the slot with this tick's beat for that interval, and
// false if all slots may still be under way.
func (s *Sender) encode(now time.Time, load Load, every int) (slot int, ok bool) {
	for _, e := range s.encoded {
		if e.every == every {
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
		CPU:      load.CPU, Busy: load.Busy,
		Waiting: load.Waiting, BytesPerSecond: load.BytesPerSecond,
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
