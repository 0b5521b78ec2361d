package heartbeat

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
)

// nic is a device, a queue pair and a peer's mailbox in one: posted
// writes are executed on the test's command.
type nic struct {
	rdma.Device
	rdma.QueuePair
	rdma.Region
	mem    []byte // the sender's memory
	posted []rdma.WorkRequest
	page   []byte // the peer's memory
	postOK error
	failed error
}

func newNIC() *nic { return &nic{page: make([]byte, 4096)} }

func (n *nic) Register(size int, _ rdma.Access) (rdma.Region, error) {
	n.mem = make([]byte, size)
	return n, nil
}
func (n *nic) Bytes() []byte        { return n.mem }
func (n *nic) Close() error         { return nil }
func (n *nic) Err() error           { return n.failed }
func (n *nic) Mailbox() rdma.Remote { return rdma.Remote{Key: 5} }
func (n *nic) Arrived() uint64      { return 0 }
func (n *nic) Post(wrs []rdma.WorkRequest) (int, error) {
	if n.postOK != nil {
		return 0, n.postOK
	}
	n.posted = append(n.posted, wrs...)
	return len(wrs), nil
}

// carryOut executes the posted writes, from the sender's memory as it is now.
func (n *nic) carryOut() {
	for _, wr := range n.posted {
		mem := wr.Local.Region.Bytes()
		copy(n.page[wr.Remote.Addr:], mem[wr.Local.Offset:wr.Local.Offset+wr.Local.Len])
	}
	n.posted = n.posted[:0]
}

// target makes a nic a Target.
type target struct{ *nic }

func (t target) QueuePair() rdma.QueuePair { return t.nic }

type loadSource struct{ l Load }

func (s *loadSource) Load() Load { return s.l }

func newSender(t testing.TB, cfg SenderConfig) *Sender {
	t.Helper()
	s, err := NewSender(newNIC(), cfg)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

var start = time.Unix(1_000_000, 0)

func TestSender(t *testing.T) {
	src := &loadSource{Load{CPU: 0.25, Busy: 0.5, Waiting: 7, BytesPerSecond: 99, Requests: 1}}
	s := newSender(t, SenderConfig{Load: src.Load})
	fast, slow := newNIC(), newNIC()
	s.Add(target{fast}, 0)
	sub := s.Add(target{slow}, 25*time.Millisecond)
	if got := s.Interval(sub); got != 30*time.Millisecond {
		t.Fatalf("interval %v, want 30ms", got)
	}
	gotFast, gotSlow := 0, 0
	for tick := range 9 {
		now := start.Add(time.Duration(tick) * 10 * time.Millisecond)
		if !s.Tick(now) {
			t.Fatalf("tick %d wants no more", tick)
		}
		gotFast += len(fast.posted)
		gotSlow += len(slow.posted)
		fast.carryOut()
		slow.carryOut()
		b, err := Decode(fast.page)
		want := Beat{
			Sequence: b.Sequence, Time: now, Interval: 10 * time.Millisecond,
			CPU: 0.25, Busy: 0.5, Waiting: 7, BytesPerSecond: 99,
		}
		if err != nil || !b.Time.Equal(now) || b.Sequence < uint64(tick+1) {
			t.Fatalf("tick %d: %+v, %v", tick, b, err)
		}
		if want.Time = b.Time; b != want {
			t.Fatalf("tick %d: %+v, want %+v", tick, b, want)
		}
		if b, err := Decode(slow.page); err != nil || b.Interval != 30*time.Millisecond {
			t.Fatalf("tick %d: slow one got %+v, %v", tick, b, err)
		}
	}
	if gotFast != 9 || gotSlow != 3 {
		t.Fatalf("%d and %d beats, want 9 and 3", gotFast, gotSlow)
	}
}

func TestSenderStopsWhenIdle(t *testing.T) {
	src := &loadSource{}
	s := newSender(t, SenderConfig{Load: src.Load})
	if s.Tick(start) {
		t.Fatal("wants ticks without connections")
	}
	n := newNIC()
	sub := s.Add(target{n}, 0)
	now, beats := start, 0
	for s.Tick(now) {
		beats++
		now = now.Add(10 * time.Millisecond)
	}
	if beats != 100 || len(n.posted) != beats {
		t.Fatalf("%d beats without a request, want 100", beats)
	}
	now = now.Add(time.Hour)
	src.l.Requests++
	if !s.Tick(now) || len(n.posted) != beats+1 {
		t.Fatal("no beat after a request")
	}
	s.Remove(sub)
	s.Remove(sub)
	if s.Tick(now) || len(n.posted) != beats+1 {
		t.Fatal("beat to a connection that was removed")
	}
}

func TestSenderSkipsBadQueuePairs(t *testing.T) {
	src := &loadSource{}
	s := newSender(t, SenderConfig{Load: src.Load})
	dead, full, good := newNIC(), newNIC(), newNIC()
	dead.failed = errors.New("peer lost")
	full.postOK = rdma.ErrQueueFull
	for _, n := range []*nic{dead, full, good} {
		s.Add(target{n}, 0)
	}
	s.Tick(start)
	full.postOK = nil
	s.Tick(start.Add(10 * time.Millisecond))
	if len(dead.posted) != 0 || len(full.posted) != 1 || len(good.posted) != 2 {
		t.Fatalf("%d, %d, %d beats; want 0, 1, 2", len(dead.posted), len(full.posted), len(good.posted))
	}
}

// TestSenderSignals: never more than signalEvery unsignaled ones in a
// row, also when the signaled one finds the queue full.
func TestSenderSignals(t *testing.T) {
	src := &loadSource{}
	s := newSender(t, SenderConfig{Load: src.Load})
	n := newNIC()
	s.Add(target{n}, 0)
	for tick := range 200 {
		n.postOK = nil
		if tick%signalEvery == signalEvery-1 {
			n.postOK = rdma.ErrQueueFull
		}
		src.l.Requests++
		s.Tick(start.Add(time.Duration(tick) * 10 * time.Millisecond))
	}
	run := 0
	for at, wr := range n.posted {
		if run++; !wr.Unsignaled {
			run = 0
		}
		if run >= signalEvery {
			t.Fatalf("%d unsignaled in a row before beat %d", run, at)
		}
	}
}

// TestSenderLeavesPostedSlotsAlone: a posted buffer does not change for
// twice PeerTimeout, even if no write is ever executed. With more
// intervals than slots, heartbeats are left out.
func TestSenderLeavesPostedSlotsAlone(t *testing.T) {
	src := &loadSource{}
	s := newSender(t, SenderConfig{Load: src.Load})
	var nics []*nic
	for k := range 20 {
		n := newNIC()
		nics = append(nics, n)
		s.Add(target{n}, time.Duration(k+1)*10*time.Millisecond)
	}
	filled := make(map[int]time.Time)
	posted := 0
	for tick := range 1000 {
		now := start.Add(time.Duration(tick) * 10 * time.Millisecond)
		src.l.Requests++
		s.Tick(now)
		slots := make(map[int]bool)
		for _, n := range nics {
			for _, wr := range n.posted {
				slots[wr.Local.Offset] = true
				posted++
			}
			n.posted = n.posted[:0]
		}
		for slot := range slots {
			if last, ok := filled[slot]; ok && now.Sub(last) < 2*rdma.PeerTimeout {
				t.Fatalf("slot %d used again after %v", slot/Bytes, now.Sub(last))
			}
			filled[slot] = now
		}
	}
	if posted < 1000 {
		t.Fatalf("%d beats in 1000 ticks", posted)
	}
}

func TestSenderConfigErrors(t *testing.T) {
	for _, cfg := range []SenderConfig{
		{},
		{Load: (&loadSource{}).Load, TickEvery: -1},
		{Load: (&loadSource{}).Load, IdleAfter: -1},
		{Load: (&loadSource{}).Load, Phases: -1},
	} {
		if _, err := NewSender(newNIC(), cfg); err == nil {
			t.Errorf("%+v: no error", cfg)
		}
	}
}

func TestTickDoesNotAllocate(t *testing.T) {
	s, src, _ := subscribed(t, 100)
	now := start
	if n := testing.AllocsPerRun(100, func() {
		now = now.Add(10 * time.Millisecond)
		src.l.Requests++
		s.Tick(now)
	}); n != 0 {
		t.Errorf("%v allocations per tick", n)
	}
}

// subscribed returns a sender with many clients, whose writes are dropped.
func subscribed(t testing.TB, clients int) (*Sender, *loadSource, *sink) {
	src := &loadSource{}
	s := newSender(t, SenderConfig{Load: src.Load})
	n := &sink{}
	for range clients {
		s.Add(n, 0)
	}
	s.Tick(start)
	return s, src, n
}

type sink struct{ qp sinkQP }

func (n *sink) QueuePair() rdma.QueuePair { return &n.qp }
func (n *sink) Mailbox() rdma.Remote      { return rdma.Remote{} }
func (n *sink) Arrived() uint64           { return 0 }

type sinkQP struct {
	rdma.QueuePair
	posted int
}

func (n *sinkQP) Err() error { return nil }
func (n *sinkQP) Post(wrs []rdma.WorkRequest) (int, error) {
	n.posted += len(wrs)
	return len(wrs), nil
}

// BenchmarkTick is the sender's own cost, without the provider's.
func BenchmarkTick(b *testing.B) {
	for _, clients := range []int{1, 1000} {
		b.Run(fmt.Sprintf("clients=%d", clients), func(b *testing.B) {
			s, src, n := subscribed(b, clients)
			now := start
			for b.Loop() {
				now = now.Add(10 * time.Millisecond)
				src.l.Requests++
				s.Tick(now)
			}
			if n.qp.posted < clients {
				b.Fatal("nothing posted")
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(clients), "ns/client")
		})
	}
}

func BenchmarkProcessTime(b *testing.B) {
	var h Host
	for b.Loop() {
		if _, err := h.Process(); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTakeBeat(b *testing.B) {
	page := make([]byte, 4096)
	(&Beat{Sequence: 1, Interval: time.Second}).Encode(page)
	m, err := NewMailbox(page)
	if err != nil {
		b.Fatal(err)
	}
	for b.Loop() {
		m.Take()
	}
}

// TestSenderBeginsARound: a client that subscribes in the middle of a round,
// after all others have left, gets the current load.
func TestSenderBeginsARound(t *testing.T) {
	src := &loadSource{Load{Busy: 1, Requests: 1}}
	s := newSender(t, SenderConfig{Load: src.Load, Phases: 4, TickEvery: time.Millisecond})
	first := s.Add(target{newNIC()}, 0)
	s.Tick(start)
	s.Remove(first)
	if s.Tick(start.Add(time.Millisecond)) {
		t.Fatal("ticks go on without connections")
	}
	src.l = Load{Requests: 2}
	s.Add(target{newNIC()}, 0) // takes the first phase
	n := newNIC()
	s.Add(target{n}, 0)
	later := start.Add(time.Hour)
	for i := range 4 {
		s.Tick(later.Add(time.Duration(i) * time.Millisecond))
	}
	if len(n.posted) == 0 {
		t.Fatal("no beat")
	}
	wr := n.posted[0]
	b, err := Decode(wr.Local.Region.Bytes()[wr.Local.Offset:][:wr.Local.Len])
	if err != nil || b.Busy != 0 || b.Time.Before(later) {
		t.Fatalf("beat of an hour ago: %+v, %v", b, err)
	}
}
