package offload_test

import (
	"context"
	"encoding/binary"
	"errors"
	"net"
	"path/filepath"
	"reflect"
	"slices"
	"sync/atomic"
	"testing"
	"unsafe"

	"go.uber.org/goleak"

	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/shm"
	"github.com/catfish-index/catfish/internal/rdma/soft"
	"github.com/catfish-index/catfish/offload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// The structure under test is no R-tree: blocks of one line that name up
// to three others, and hold a value.
//
//	| version u64 | value u64 | child 1 u64 | child 2 | child 3 | 0 ... |
const blockBytes = 64

// site is a server with such blocks, and a client's read channel to it.
type site struct {
	dev     rdma.Device
	region  rdma.Region
	server  chan rdma.QueuePair
	channel *offload.Channel
	stop    atomic.Bool
}

func newSite(t *testing.T, provider string, blocks, window int) *site {
	t.Helper()
	open := func() rdma.Device {
		var d rdma.Device
		var err error
		if provider == "shm" {
			d, err = shm.Open(shm.Options{})
		} else {
			d, err = soft.Open(soft.Options{})
		}
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { d.Close() })
		return d
	}
	s := &site{dev: open(), server: make(chan rdma.QueuePair, 1)}
	var err error
	if s.region, err = s.dev.Register(blocks*blockBytes, rdma.RemoteRead); err != nil {
		t.Fatal(err)
	}
	addr := "127.0.0.1:0"
	if provider == "shm" {
		addr = filepath.Join(t.TempDir(), "s")
	}
	ln, err := s.dev.Listen(addr)
	if err != nil {
		t.Fatal(err)
	}
	cq, err := s.dev.CreateCQ(8)
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		req, err := ln.Accept(context.Background())
		if err != nil {
			return
		}
		qp, err := req.Accept(rdma.QPConfig{SendCQ: cq, RecvCQ: cq}, nil)
		if err == nil {
			s.server <- qp
		}
	}()
	client := open()
	if provider == "tearing" {
		client = tearing{client}
	}
	s.channel, err = offload.Dial(t.Context(), client, ln.Addr(), offload.ChannelConfig{BlockBytes: blockBytes, Window: window})
	if err != nil {
		t.Fatal(err)
	}
	s.channel.StopBy(&s.stop)
	t.Cleanup(func() { s.channel.Close() })
	return s
}

// tearing is a device whose Reads may tear lines. Of the two reads of a
// block the first shows other bytes every third time.
type tearing struct{ rdma.Device }

func (d tearing) Info() rdma.Info {
	i := d.Device.Info()
	i.TornLines = true
	return i
}

func (d tearing) Dial(ctx context.Context, addr string, cfg rdma.QPConfig, private []byte) (rdma.QueuePair, error) {
	q, err := d.Device.Dial(ctx, addr, cfg, private)
	return &tearingQP{QueuePair: q}, err
}

type tearingQP struct {
	rdma.QueuePair
	pairs int
}

func (q *tearingQP) Post(wrs []rdma.WorkRequest) (int, error) {
	for i := range wrs {
		if wrs[i].Unsignaled {
			if q.pairs++; q.pairs%3 == 0 {
				wrs[i].Remote.Addr ^= blockBytes
			}
		}
	}
	return q.QueuePair.Post(wrs)
}

// TestTornLines: where lines may be torn, the traversal does not see a
// block on which two reads disagree.
func TestTornLines(t *testing.T) {
	for _, window := range []int{1, 2, 16} {
		s := newSite(t, "tearing", nodes+1, window)
		s.link(nodes + 1)
		v, st := newVisitor(), offload.Stats{}
		if err := s.channel.Run(t.Context(), s.regions(), v, &st); err != nil {
			t.Fatal(err)
		}
		v.check(t, nodes+1)
		blocks := nodes + 1 + st.Torn
		if st.Torn < nodes/3 || st.Reads != 2*blocks || st.Bytes != 2*blocks*blockBytes {
			t.Errorf("window %d: %+v, want two reads a block, a third of them torn", window, st)
		}
	}
}

// regions returns the regions of the walks.
func (s *site) regions() []rdma.Remote { return []rdma.Remote{s.region.Remote()} }

// apart reads blocks with odd numbers in region 1.
type apart struct{ *visitor }

func (a apart) Next() (offload.Ref, bool, error) {
	ref, ok, err := a.visitor.Next()
	ref.Region = uint8(ref.Tag % 2)
	return ref, ok, err
}

// TestRegions: a walk reads each block in the region that its Ref names, repeats
// included.
func TestRegions(t *testing.T) {
	if n, fields := unsafe.Sizeof(offload.Ref{}), reflect.TypeFor[offload.Ref]().NumField(); n != 24 || fields > 4 {
		t.Errorf("a Ref has %d bytes and %d fields, want 24 and 4", n, fields)
	}
	each(t, func(t *testing.T, p string) {
		s := newSite(t, p, nodes, 8)
		s.link(nodes)
		odd, err := s.dev.Register(nodes*blockBytes, rdma.RemoteRead)
		if err != nil {
			t.Fatal(err)
		}
		b := s.region.Bytes()
		for i := range nodes {
			if line := b[i*blockBytes:][:blockBytes]; i%2 == 1 {
				copy(odd.Bytes()[i*blockBytes:], line)
				clear(line)
			}
		}
		v, st := newVisitor(), offload.Stats{}
		v.judge = func(_ offload.Ref, visits int) (offload.Verdict, error) {
			return offload.Verdict(visits % 2), nil // Accept or Retry
		}
		regions := []rdma.Remote{s.region.Remote(), odd.Remote()}
		if err := s.channel.Run(t.Context(), regions, apart{v}, &st); err != nil {
			t.Fatal(err)
		}
		v.check(t, nodes)
		if st.Torn == 0 {
			t.Error("nothing was read again")
		}
	})
}

// link fills the region with a ternary heap: block i names 3i+1 to 3i+3.
func (s *site) link(n int) {
	b := s.region.Bytes()
	for i := range n {
		line := b[i*blockBytes:]
		binary.LittleEndian.PutUint64(line[8:], uint64(i)*10)
		for c := range 3 {
			if child := 3*i + 1 + c; child < n {
				binary.LittleEndian.PutUint64(line[16+8*c:], uint64(child))
			}
		}
	}
}

// visitor walks all blocks; judge may delay it.
type visitor struct {
	todo  []offload.Ref
	seen  []uint64 // values
	known int      // most blocks known at once
	judge func(ref offload.Ref, visits int) (offload.Verdict, error)
	next  error // of Next, after 20 visits
	count int
}

func block(i uint64, hop uint16) offload.Ref {
	return offload.Ref{Offset: i * blockBytes, Len: blockBytes, Read: offload.Read{Hop: hop}, Tag: i}
}

func newVisitor() *visitor { return &visitor{todo: []offload.Ref{block(0, 1)}} }

func (v *visitor) Next() (offload.Ref, bool, error) {
	if v.next != nil && v.count == 20 {
		return offload.Ref{}, true, v.next
	}
	if len(v.todo) == 0 {
		return offload.Ref{}, false, nil
	}
	v.known = max(v.known, len(v.todo))
	r := v.todo[0]
	v.todo = v.todo[1:]
	return r, true, nil
}

func (v *visitor) Visit(ref offload.Ref, b []byte) (offload.Verdict, error) {
	v.count++
	if v.judge != nil {
		if verdict, err := v.judge(ref, v.count); verdict != offload.Accept || err != nil {
			return verdict, err
		}
	}
	v.seen = append(v.seen, binary.LittleEndian.Uint64(b[8:]))
	for c := range 3 {
		if child := binary.LittleEndian.Uint64(b[16+8*c:]); child != 0 {
			v.todo = append(v.todo, block(child, ref.Hop+1))
		}
	}
	return offload.Accept, nil
}

func (v *visitor) check(t *testing.T, n int) {
	t.Helper()
	slices.Sort(v.seen)
	if len(v.seen) != n {
		t.Fatalf("visited %d blocks, want %d", len(v.seen), n)
	}
	for i, s := range v.seen {
		if s != uint64(i)*10 {
			t.Fatalf("value %d is %d", i, s)
		}
	}
}

func each(t *testing.T, f func(t *testing.T, provider string)) {
	for _, p := range []string{"shm", "soft"} {
		t.Run(p, func(t *testing.T) { f(t, p) })
	}
}

const nodes = 1 + 3 + 9 + 27 + 81 // five levels

func TestMultiIssue(t *testing.T) {
	each(t, func(t *testing.T, p string) {
		for _, window := range []int{1, 2, 16} {
			s := newSite(t, p, nodes, window)
			s.link(nodes)
			v, st := newVisitor(), offload.Stats{}
			if err := s.channel.Run(t.Context(), s.regions(), v, &st); err != nil {
				t.Fatal(err)
			}
			v.check(t, nodes)
			trips := uint64(5)
			if window == 1 {
				trips = nodes
			}
			want := offload.Stats{Reads: nodes, Bytes: nodes * blockBytes, RoundTrips: trips}
			if st != want {
				t.Errorf("window %d: %+v, want %+v", window, st, want)
			}
		}
	})
}

// TestReadBesideNext: a block of hop 0 costs no trip, but where blocks are read one at a
// time.
func TestReadBesideNext(t *testing.T) {
	each(t, func(t *testing.T, p string) {
		for _, window := range []int{1, 2, 16} {
			s := newSite(t, p, nodes+1, window)
			s.link(nodes)
			binary.LittleEndian.PutUint64(s.region.Bytes()[nodes*blockBytes+8:], nodes*10)
			v, st := newVisitor(), offload.Stats{}
			v.todo = append([]offload.Ref{block(nodes, 0)}, v.todo...)
			if err := s.channel.Run(t.Context(), s.regions(), v, &st); err != nil {
				t.Fatal(err)
			}
			v.check(t, nodes+1)
			trips := uint64(5)
			if window == 1 {
				trips = nodes + 1
			}
			want := offload.Stats{Reads: nodes + 1, Bytes: (nodes + 1) * blockBytes, RoundTrips: trips}
			if st != want {
				t.Errorf("window %d: %+v, want %+v", window, st, want)
			}
		}
	})
}

// TestRetry: a torn block is read again and the walk continues.
func TestRetry(t *testing.T) {
	each(t, func(t *testing.T, p string) {
		s := newSite(t, p, nodes, 4)
		s.link(nodes)
		v, st := newVisitor(), offload.Stats{}
		torn := make(map[uint64]int)
		v.judge = func(ref offload.Ref, _ int) (offload.Verdict, error) {
			if torn[ref.Tag]++; torn[ref.Tag] <= int(ref.Tag%7) {
				return offload.Retry, nil
			}
			return offload.Accept, nil
		}
		if err := s.channel.Run(t.Context(), s.regions(), v, &st); err != nil {
			t.Fatal(err)
		}
		v.check(t, nodes)
		want := uint64(0)
		for i := range nodes {
			want += uint64(i % 7)
		}
		if st.Torn != want || st.Reads != nodes+want {
			t.Errorf("%+v, want %d torn", st, want)
		}
	})
}

// TestAlwaysTornBlockEndsWalk: a block that never settles ends the walk, not the read
// channel.
func TestAlwaysTornBlockEndsWalk(t *testing.T) {
	each(t, func(t *testing.T, p string) {
		s := newSite(t, p, nodes, 4)
		s.link(nodes)
		v, st := newVisitor(), offload.Stats{}
		v.judge = func(offload.Ref, int) (offload.Verdict, error) { return offload.Retry, nil }
		if err := s.channel.Run(t.Context(), s.regions(), v, &st); !errors.Is(err, offload.ErrTorn) {
			t.Fatal(err)
		}
		s.again(t)
	})
}

// again checks that the read channel still works and has all its slots.
func (s *site) again(t *testing.T) {
	t.Helper()
	v, st := newVisitor(), offload.Stats{}
	if err := s.channel.Run(t.Context(), s.regions(), v, &st); err != nil {
		t.Fatal(err)
	}
	v.check(t, nodes)
	if st.RoundTrips != 5 {
		t.Errorf("slots were lost: %+v", st)
	}
}

// TestWalkEnds: restart, the traversal's own errors, a done context and a bad
// reference end a walk in the middle; the read channel stays usable.
func TestWalkEnds(t *testing.T) {
	own := errors.New("own")
	ctx, cancel := context.WithCancel(context.Background())
	for _, c := range []struct {
		name  string
		judge func(v *visitor) (offload.Verdict, error)
		want  error
	}{
		{"restart", func(*visitor) (offload.Verdict, error) { return offload.Restart, nil }, offload.ErrRestart},
		{"own error", func(*visitor) (offload.Verdict, error) { return offload.Accept, own }, own},
		{"own error of Next", func(v *visitor) (offload.Verdict, error) { v.next = own; return offload.Accept, nil }, own},
		{"long block", func(v *visitor) (offload.Verdict, error) {
			v.todo = append([]offload.Ref{{Len: blockBytes + 1}}, v.todo...)
			return offload.Accept, nil
		}, offload.ErrRef},
		{"no block", func(v *visitor) (offload.Verdict, error) {
			v.todo = append([]offload.Ref{{}}, v.todo...)
			return offload.Accept, nil
		}, offload.ErrRef},
		{"no region", func(v *visitor) (offload.Verdict, error) {
			v.todo = append([]offload.Ref{{Len: blockBytes, Read: offload.Read{Region: 1}}}, v.todo...)
			return offload.Accept, nil
		}, offload.ErrRef},
		{"context", func(*visitor) (offload.Verdict, error) { cancel(); return offload.Retry, nil }, context.Canceled},
	} {
		each(t, func(t *testing.T, p string) {
			s := newSite(t, p, nodes, 8)
			s.link(nodes)
			v, st := newVisitor(), offload.Stats{}
			v.judge = func(_ offload.Ref, visits int) (offload.Verdict, error) {
				if visits == 20 {
					return c.judge(v)
				}
				return offload.Accept, nil
			}
			if err := s.channel.Run(ctx, s.regions(), v, &st); !errors.Is(err, c.want) {
				t.Fatalf("%s: %v, want %v", c.name, err, c.want)
			}
			s.again(t)
			ctx, cancel = context.WithCancel(context.Background())
		})
	}
	cancel()
}

// endless names block 0 forever, as a hostile peer's memory may.
type endless struct {
	visits int
	at     func(visits int)
}

func (e *endless) Next() (offload.Ref, bool, error) { return block(0, 1), true, nil }

func (e *endless) Visit(offload.Ref, []byte) (offload.Verdict, error) {
	e.visits++
	e.at(e.visits)
	return offload.Accept, nil
}

// TestEndless: a walk that always finds a block to read, and never waits
// for it, obeys its context and its owner.
func TestEndless(t *testing.T) {
	each(t, func(t *testing.T, p string) {
		s := newSite(t, p, nodes, 4)
		s.link(nodes)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		at := func(act func()) *endless {
			return &endless{at: func(visits int) {
				if visits == 100 {
					act()
				}
				if visits == 100_000 {
					panic("the walk goes on")
				}
			}}
		}
		var st offload.Stats
		if err := s.channel.Run(ctx, s.regions(), at(cancel), &st); !errors.Is(err, context.Canceled) {
			t.Fatalf("cancelled: %v", err)
		}
		s.again(t)
		err := s.channel.Run(t.Context(), s.regions(), at(func() { s.stop.Store(true) }), &st)
		if !errors.Is(err, offload.ErrStopped) || s.channel.Err() != nil {
			t.Fatalf("stopped: %v, the channel %v", err, s.channel.Err())
		}
		s.stop.Store(false)
		s.again(t)
	})
}

// TestLostChannel: a read channel whose peer disconnected, or whose reads are refused,
// is dead and reports that at once afterwards.
func TestLostChannel(t *testing.T) {
	each(t, func(t *testing.T, p string) {
		s := newSite(t, p, nodes, 8)
		s.link(nodes)
		v, st := newVisitor(), offload.Stats{}
		v.judge = func(_ offload.Ref, visits int) (offload.Verdict, error) {
			if visits == 5 {
				qp := <-s.server
				qp.Close()
			}
			if visits > 5 { // until the loss is noticed
				return offload.Retry, nil
			}
			return offload.Accept, nil
		}
		err := s.channel.Run(t.Context(), s.regions(), v, &st)
		if !errors.Is(err, offload.ErrChannel) && !errors.Is(err, offload.ErrTorn) {
			t.Fatal(err)
		}
		for errors.Is(err, offload.ErrTorn) { // noticed within PeerTimeout
			v = newVisitor()
			v.judge = func(offload.Ref, int) (offload.Verdict, error) { return offload.Retry, nil }
			err = s.channel.Run(t.Context(), s.regions(), v, &st)
		}
		if !errors.Is(err, offload.ErrChannel) || s.channel.Err() == nil {
			t.Fatalf("%v, read channel's error %v", err, s.channel.Err())
		}
		if err := s.channel.Run(t.Context(), s.regions(), newVisitor(), &st); !errors.Is(err, offload.ErrChannel) {
			t.Errorf("a dead read channel ran: %v", err)
		}
	})
	each(t, func(t *testing.T, p string) {
		s := newSite(t, p, nodes, 8)
		var st offload.Stats
		err := s.channel.Run(t.Context(), []rdma.Remote{{Key: s.region.Key() + 1}}, newVisitor(), &st)
		var ce *rdma.CompletionError
		if !errors.Is(err, offload.ErrChannel) || !errors.As(err, &ce) || ce.Status != rdma.StatusRemoteKey {
			t.Errorf("wrong key: %v", err)
		}
	})
}

func TestBadConfig(t *testing.T) {
	d, err := soft.Open(soft.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, c := range []offload.ChannelConfig{{BlockBytes: 64}, {BlockBytes: 64, Window: 1 << 20}, {Window: 1}, {BlockBytes: 100, Window: 1}} {
		if _, err := offload.Dial(t.Context(), d, "127.0.0.1:1", c); err == nil || errors.As(err, new(*net.OpError)) {
			t.Errorf("%+v: %v", c, err)
		}
	}
}

func TestRunAllocatesNothing(t *testing.T) {
	s := newSite(t, "shm", nodes, 16)
	s.link(nodes)
	v, st := newVisitor(), offload.Stats{}
	todo, regions := make([]offload.Ref, 0, 1000), s.regions()
	if n := testing.AllocsPerRun(100, func() {
		v.seen, v.todo, v.count = v.seen[:0], append(todo, block(0, 1)), 0
		if err := s.channel.Run(context.Background(), regions, v, &st); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations a walk", n)
	}
}
