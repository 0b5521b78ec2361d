package node

import (
	"bytes"
	"context"
	"fmt"
	"path/filepath"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/rdma/shm"
	"github.com/catfish-index/catfish/internal/rdma/soft"
	layout "github.com/catfish-index/catfish/internal/replica/lane"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// testTransports are those with rings that every machine has.
func testTransports() []string {
	if runtime.GOOS != "linux" {
		return []string{"soft"}
	}
	return []string{"soft", "shm"}
}

func openTestDevice(transport string) (rdma.Device, error) {
	if transport == "shm" {
		return shm.Open(shm.Options{})
	}
	return soft.Open(soft.Options{})
}

// testRings is a member's device.
type testRings struct {
	g    *group
	dev  rdma.Device
	ln   rdma.Listener
	wg   sync.WaitGroup
	stop context.CancelFunc

	windows atomic.Int64 // regions for copies
}

// countedDevice counts regions that peers may read: the windows of copies.
type countedDevice struct {
	rdma.Device
	n *atomic.Int64
}

type countedRegion struct {
	rdma.Region
	n *atomic.Int64
}

func (d countedDevice) Register(size int, access rdma.Access) (rdma.Region, error) {
	r, err := d.Device.Register(size, access)
	if err != nil || access != rdma.RemoteRead {
		return r, err
	}
	d.n.Add(1)
	return countedRegion{r, d.n}, nil
}

func (r countedRegion) Close() error {
	r.n.Add(-1)
	return r.Region.Close()
}

// openRings listens for the queue pairs of other members.
func (g *group) openRings(addr string) *testRings {
	if g.transport == streamTransport {
		return nil
	}
	g.t.Helper()
	dev, err := openTestDevice(g.transport)
	if err != nil {
		g.t.Fatal(err)
	}
	at := "127.0.0.1:0"
	if g.transport == "shm" {
		at = filepath.Join(g.t.TempDir(), "s")
	}
	ln, err := dev.Listen(at)
	if err != nil {
		g.t.Fatal(err)
	}
	g.at.Store(addr, ln.Addr())
	return &testRings{g: g, dev: dev, ln: ln}
}

func (r *testRings) serve(n *Node) {
	if r == nil {
		return
	}
	ctx, stop := context.WithCancel(context.Background())
	r.stop = stop
	r.wg.Go(func() {
		for {
			req, err := r.ln.Accept(ctx)
			if err != nil {
				return
			}
			r.wg.Go(func() {
				if err := n.AcceptRing(countedDevice{r.dev, &r.windows}, r.g.transport, req); err != nil {
					r.g.t.Logf("refused: %v", err)
				}
			})
		}
	})
}

func (r *testRings) close() {
	if r == nil {
		return
	}
	r.stop()
	_ = r.ln.Close()
	r.wg.Wait()
	_ = r.dev.Close()
}

// testRingBytes makes lanes go round often, and a long entry go in parts.
const testRingBytes = 16 << 10

func (g *group) rings() *Rings {
	if g.transport == streamTransport {
		return nil
	}
	r := &Rings{
		Ways: func(_ context.Context, addr string) ([]Way, error) {
			at, ok := g.at.Load(addr)
			if !ok {
				return nil, fmt.Errorf("no device at %s", addr)
			}
			return []Way{{Transport: g.transport, Reason: "a test", Addr: at.(string), Open: func() (rdma.Device, error) {
				return openTestDevice(g.transport)
			}}}, nil
		},
		Must:  true,
		Bytes: func() int { return testRingBytes },
	}
	if g.change != nil {
		g.change(r)
	}
	return r
}

// secondary returns a member that follows.
func (g *group) secondary() *member {
	p := g.primary()
	for _, m := range g.members {
		if m.node != nil && m != p {
			return m
		}
	}
	g.t.Fatal("no secondary")
	return nil
}

// writeValue writes an entry with a value.
func (g *group) writeValue(key string, value []byte) uint64 {
	g.t.Helper()
	g.value = value
	defer func() { g.value = nil }()
	return g.write(key)
}

// Each follower says by which transport its log comes.
func TestLaneStatus(t *testing.T) {
	groups(t, 2, func(g *group) {
		g.inSync(2)
		s := g.secondary().node.Lane()
		if s.Transport != g.transport {
			t.Errorf("%+v, want %s", s, g.transport)
		}
		if has := s.RingBytes == testRingBytes; has != (g.transport != streamTransport) {
			t.Errorf("%+v", s)
		}
		if s := g.primary().node.Lane(); s != (LaneStatus{}) {
			t.Errorf("the primary follows: %+v", s)
		}
	})
}

// Entries that are longer than the ring, and many short ones, arrive as they are.
func TestLongEntries(t *testing.T) {
	groups(t, 2, func(g *group) {
		g.inSync(2)
		s := g.secondary()
		x := s.lane()
		for i, n := range []int{1, testRingBytes / 2, testRingBytes, 10*testRingBytes + 3, 3 << 20, 1} {
			value := bytes.Repeat([]byte{byte(i + 1)}, n)
			key := fmt.Sprint("k", i)
			r := g.writeValue(key, value)
			g.has(s, r, key)
			it, err := s.store.Log(r)
			if err != nil || !it.Next() {
				t.Fatal(err)
			}
			if e := it.Entry(); !bytes.Equal(e.Value, value) {
				t.Errorf("%d bytes: others arrived, %d", n, len(e.Value))
			}
			it.Close()
		}
		for i := range 200 {
			g.write(fmt.Sprint("s", i))
		}
		r := g.write("last")
		g.has(s, r, "last")
		if s.lane() != x {
			t.Error("the lane ended meanwhile")
		}
	})
}

// lane is a follower's.
func (m *member) lane() *lane {
	l := m.node.lanes
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out
}

// A primary that is stopped, and continues after another one was promoted, writes into no
// follower's ring any more, and nothing of it gets into a log.
func TestStoppedPrimaryIsFenced(t *testing.T) {
	ringGroups(t, 3, func(g *group) {
		g.inSync(3)
		r := g.write("a")
		old := g.primary()
		var to []*lane
		l := old.node.lanes
		l.mu.Lock()
		for _, x := range l.in {
			to = append(to, x)
		}
		l.mu.Unlock()
		old.node.tail.mu.Lock() // Its loop waits at the next tick, as if it were stopped.
		catfishtest.Eventually(t, "another member leads", func() bool {
			p := g.leaderBut(old)
			return p != nil && p.node.Status().Committed > r
		})
		term := old.node.config.Load().Term
		e := disk.Entry{Collection: 1, Kind: disk.Put, Key: []byte("stale"), Value: []byte("v"), Revision: r + 1}
		payload := e.Append(layout.AppendLength(nil, e.Bytes()))
		for _, x := range to {
			x.mu.Lock() // Its own goroutine does not send meanwhile.
			var err error
			for i := 0; err == nil && i < 1000; i++ {
				err = x.send.Send(layout.Frame{Kind: layout.Entries, Term: term, Session: 1, First: r + 1, Entries: 1, Payload: payload})
			}
			x.mu.Unlock()
			if err == nil {
				t.Error("the old primary's frames are taken")
			}
		}
		old.node.tail.mu.Unlock()
		r2 := g.write("b")
		for _, m := range g.members {
			g.has(m, r2, "b")
			it, err := m.store.Log(1)
			if err != nil {
				t.Fatal(err)
			}
			for it.Next() {
				if string(it.Entry().Key) == "stale" {
					t.Errorf("%s has the old primary's entry", m.name)
				}
			}
			it.Close()
		}
	})
}

func (g *group) leaderBut(old *member) *member {
	for _, m := range g.members {
		if m != old && m.node.Status().Leading {
			return m
		}
	}
	return nil
}

// A stream's end ends its queue pair, and the other way round; the lane comes back.
func TestLaneEndsWhole(t *testing.T) {
	ringGroups(t, 2, func(g *group) {
		g.inSync(2)
		s := g.secondary()
		for i, cut := range []func(x *lane){
			func(x *lane) { _ = x.c.Close() },
			func(x *lane) { x.receive.Stop() },
		} {
			x := s.lane()
			cut(x)
			<-x.done
			r := g.write(fmt.Sprint("k", i))
			g.has(s, r, fmt.Sprint("k", i))
		}
	})
}

// slowDevice is not closed before it may.
type slowDevice struct {
	rdma.Device
	may chan struct{}
}

func (d slowDevice) Close() error {
	<-d.may
	return d.Device.Close()
}

// A candidate does not wait for the memory of the lane to the old primary: a queue pair to a
// member that is cut off takes seconds to close.
func TestFenceDoesNotWaitForTheDevice(t *testing.T) {
	ringGroups(t, 2, func(g *group) {
		g.inSync(2)
		s, may := g.secondary(), make(chan struct{})
		x := s.lane()
		x.device = slowDevice{x.device, may}
		fenced := make(chan struct{})
		go func() {
			s.node.lanes.fence()
			close(fenced)
		}()
		select {
		case <-fenced:
		case <-time.After(30 * time.Second):
			t.Error("it waits")
		}
		close(may)
		<-fenced
		s.node.lanes.unfence()
		r := g.write("k")
		g.has(s, r, "k")
	})
}
