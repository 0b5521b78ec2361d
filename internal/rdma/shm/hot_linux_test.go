package shm

import (
	"context"
	"errors"
	"os"
	"runtime"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/spin"
)

func TestHotPathDoesNotAllocate(t *testing.T) {
	c, s := newPair(t, 4096)
	warm(t, c, s)
	var got [8]rdma.Completion
	for _, op := range []rdma.Op{rdma.OpRead, rdma.OpWrite, rdma.OpWriteImm} {
		wrs := []rdma.WorkRequest{transfer(op, c.mem, s.mem.Key(), 256)}
		if n := testing.AllocsPerRun(200, func() {
			if _, err := c.qp.Post(wrs); err != nil {
				t.Fatal(err)
			}
			if c.cq.Poll(got[:]) != 1 {
				t.Fatal("no completion")
			}
			if op == rdma.OpWriteImm && s.cq.Poll(got[:]) != 1 {
				t.Fatal("no event")
			}
		}); n != 0 {
			t.Errorf("%v: %v allocations", op, n)
		}
	}
	// A full queue is a normal case, too.
	wrs := []rdma.WorkRequest{{Op: rdma.OpWriteImm, Unsignaled: true}}
	var err error
	for err == nil {
		_, err = c.qp.Post(wrs)
	}
	n := testing.AllocsPerRun(100, func() { _, err = c.qp.Post(wrs) })
	if n != 0 || !errors.Is(err, rdma.ErrQueueFull) {
		t.Errorf("full: %v allocations, %v", n, err)
	}
}

func TestIdleWaitSleeps(t *testing.T) {
	c, _ := newPair(t, 4096)
	const wait = 30 * time.Millisecond
	for range 3 {
		if err := c.cq.Wait(context.Background(), wait); !errors.Is(err, rdma.ErrTimeout) {
			t.Fatal(err)
		}
	}
	if spun := c.cq.Spun(); spun > 4*spin.WakeCost {
		t.Errorf("spun %v in three waits", spun)
	}
}

// Hundreds of idle pairs are cold; an event of any of them is found by Wait
// and Poll, and makes only that one hot.
func TestColdPairsWake(t *testing.T) {
	const pairs = 200
	c, s := newSide(t, 4096), newSide(t, 4096)
	l := listen(t, s)
	var clients, servers [pairs]*queuePair
	for i := range pairs {
		connect(t, l, c, s)
		clients[i], servers[i] = c.qp, s.qp
	}
	for i := range 3 * pairs {
		at := i * 71 % pairs
		post(t, clients[at], rdma.WorkRequest{Op: rdma.OpWriteImm, Imm: uint32(i), Unsignaled: true})
		got := next(t, s.cq)
		if got.QP != servers[at] || got.Imm != uint32(i) {
			t.Fatalf("event %d: imm %d", i, got.Imm)
		}
	}
	s.cq.mu.Lock()
	defer s.cq.mu.Unlock()
	if n := len(s.cq.rings.hot) + len(s.cq.rings.cold); n != pairs {
		t.Errorf("%d rings in the lists, want %d", n, pairs)
	}
}

// While a queue of few pairs spins, their senders need not wake it.
func TestSpinningQueueIsNotArmed(t *testing.T) {
	d, err := Open(Options{SpinMax: patience})
	check(t, err)
	t.Cleanup(func() { check(t, d.Close()) })
	q, err := d.CreateCQ(0)
	check(t, err)
	c, s := &side{dev: d.(*device), cq: q.(*completionQueue)}, newSide(t, 4096)
	connect(t, listen(t, s), c, s)
	armed := c.qp.ring.armed
	if armed.Load() != 1 {
		t.Fatal("not armed before anyone waited")
	}
	waited := make(chan error, 1)
	go func() { waited <- q.Wait(context.Background(), patience) }()
	eventually(t, "the spinning queue disarms", func() bool { return armed.Load() == 0 })
	post(t, s.qp, rdma.WorkRequest{Op: rdma.OpWriteImm, Imm: 3, Unsignaled: true})
	check(t, <-waited)
	if got := next(t, q); got.Imm != 3 {
		t.Errorf("got %+v", got)
	}
}

// A busy queue arms rings that have been idle for long.
func TestIdleRingsCoolDown(t *testing.T) {
	const pairs = 2 * keepHot
	c, s := newSide(t, 4096), newSide(t, 4096)
	l := listen(t, s)
	for range pairs {
		connect(t, l, c, s)
		s.cq.mu.Lock()
		s.cq.rings.heat(&s.qp.ring)
		s.cq.mu.Unlock()
	}
	var got [4]rdma.Completion
	for range idlePolls + 2*sweepPolls {
		s.cq.Poll(got[:])
	}
	if n := len(s.cq.rings.hot); n != keepHot {
		t.Errorf("%d hot rings after a long idle time, want %d", n, keepHot)
	}
}

// The inbox grows rather than lose a completion.
func TestInboxGrows(t *testing.T) {
	var b inbox
	b.init(2)
	p := &queuePair{}
	put, got := uint64(0), uint64(0)
	var dst [3]rdma.Completion
	for range 100 {
		for _, n := range []uint64{1, 9, 0, 2} { // at once: nine are more than twice the room
			var cs []rdma.Completion
			for range n {
				cs = append(cs, rdma.Completion{ID: put, QP: p})
				put++
			}
			b.put(cs)
		}
		for _, c := range dst[:b.take(dst[:])] {
			if c.ID != got {
				t.Fatalf("completion %d has id %d", got, c.ID)
			}
			got++
		}
	}
	for got < put {
		n := b.take(dst[:])
		if n == 0 {
			t.Fatalf("lost %d completions", put-got)
		}
		got += uint64(n)
	}
	if b.any() {
		t.Error("not empty")
	}
}

// Connections opened and closed, from either side, leak nothing.
func TestNothingLeaks(t *testing.T) {
	c, s := newSide(t, 4096), newSide(t, 4096)
	l := listen(t, s)
	round := func(i int) {
		connect(t, l, c, s)
		warm(t, c, s)
		r, err := s.dev.Register(4096, everything)
		check(t, err)
		post(t, c.qp, transfer(rdma.OpRead, c.mem, r.Key(), 8))
		check(t, errOf(next(t, c.cq)))
		first, second := c.qp, s.qp
		if i%2 == 0 {
			first, second = second, first
		}
		check(t, first.Close())
		check(t, r.Close())
		check(t, second.Close())
	}
	round(0)
	files, maps, goroutines := count(t, "/proc/self/fd"), mappings(t), runtime.NumGoroutine()
	for i := range 50 {
		round(i)
	}
	eventually(t, "descriptors and goroutines return", func() bool {
		return count(t, "/proc/self/fd") <= files && runtime.NumGoroutine() <= goroutines
	})
	// The Go heap may add some of its own.
	if now := mappings(t); now > maps+20 {
		t.Errorf("%d mappings, were %d", now, maps)
	}
}

func count(t *testing.T, dir string) int {
	d, err := os.ReadDir(dir)
	check(t, err)
	return len(d)
}

func mappings(t *testing.T) int {
	b, err := os.ReadFile("/proc/self/maps")
	check(t, err)
	n := 0
	for _, c := range b {
		if c == '\n' {
			n++
		}
	}
	return n
}
