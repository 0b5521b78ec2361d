package server

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/catfish-index/catfish/catfish/client"
	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// committer answers inserts and deletes later, by a goroutine of its own that takes all
// pending ones at once, as a group commit does, in random order.
type committer struct {
	tree *rstar.Tree
	s    *Server

	mu    sync.Mutex
	asked []*commit
	room  sync.Cond // asked is not empty, or ended
	ended bool
	hold  int // number of requests before any is answered

	off   atomic.Bool // requests are answered at once
	twice atomic.Int64
}

// commit is one insert or delete.
type commit struct {
	task
	c    *committer
	kind fastmsg.Kind
	item rstar.Item
}

func (p *commit) start(*store.Writes) {
	p.c.mu.Lock()
	defer p.c.mu.Unlock()
	p.c.asked = append(p.c.asked, p)
	p.c.room.Signal()
}

func (c *committer) take(kind fastmsg.Kind, b []byte) *task {
	if c.off.Load() || kind != wire.KindInsert && kind != wire.KindDelete || len(b) != wire.HeadBytes+wire.ItemBytes {
		return nil
	}
	p := &commit{c: c, kind: kind, item: wire.GetItem(b[wire.HeadBytes:])}
	p.task = task{s: c.s, keeps: len(b), starts: p}
	return &p.task
}

// run answers until end.
func (c *committer) run() {
	for {
		c.mu.Lock()
		for len(c.asked) <= c.hold && !c.ended {
			c.room.Wait()
		}
		group := c.asked
		c.asked = nil
		ended := c.ended
		c.mu.Unlock()
		if len(group) == 0 && ended {
			return
		}
		rand.Shuffle(len(group), func(i, k int) { group[i], group[k] = group[k], group[i] })
		for _, p := range group {
			var answer []byte
			var err error
			if p.kind == wire.KindInsert {
				err = c.tree.Insert(p.item.Rect, p.item.ID)
			} else {
				var ok bool
				ok, err = c.tree.Delete(p.item.Rect, p.item.ID)
				answer = wire.AppendBool(nil, ok)
			}
			if err != nil {
				p.to.fail(err, 0)
			} else if !p.to.answer(answer) {
				c.twice.Add(1)
			}
			if p.to.answer([]byte("again")) {
				c.twice.Add(1)
			}
		}
	}
}

func (c *committer) holdBack(n int) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.hold = n
	c.room.Signal()
}

func (c *committer) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.asked)
}

// laterServer answers inserts into the default collection later.
func laterServer(t testing.TB, opts Options) (*Server, *committer) {
	c := &committer{}
	c.room.L = &c.mu
	opts.later = c.take
	s := startServer(t, opts)
	c.s, c.tree = s, tree(t, s)
	ended := make(chan struct{})
	go func() { defer close(ended); c.run() }()
	t.Cleanup(func() { // before the server closes
		c.mu.Lock()
		c.ended = true
		c.room.Signal()
		c.mu.Unlock()
		<-ended
		if n := c.twice.Load(); n != 0 {
			t.Errorf("%d answers were not the first", n)
		}
	})
	return s, c
}

var allTransports = []string{model.TransportSHM, model.TransportSoft, model.TransportTCP}

// While hundreds of inserts wait for others, the same connection is served, and all
// inserts are answered in the end.
func TestAnsweredLater(t *testing.T) {
	const n = 500
	for _, transport := range allTransports {
		t.Run(transport, func(t *testing.T) {
			s, com := laterServer(t, Options{Workers: 1})
			c := dial(t, s, messagesOnly(transport))
			com.holdBack(n - 1)
			var group sync.WaitGroup
			for i := range n {
				group.Go(func() {
					if err := c.Insert(t.Context(), square(float64(i), 0), uint64(i)); err != nil {
						t.Errorf("insert %d: %v", i, err)
					}
				})
				if i == n-2 {
					eventually(t, "all but one are under way", func() bool { return com.waiting() == n-1 })
					for range 20 {
						if k, err := c.Count(t.Context(), everything); err != nil || k != 0 {
							t.Errorf("beside them: %d objects, %v", k, err)
						}
					}
				}
			}
			group.Wait()
			com.holdBack(0)
			for i := range 200 { // each waits alone, for a sleeping worker
				if err := c.Insert(t.Context(), square(0, 5), uint64(i)); err != nil {
					t.Fatal(err)
				}
			}
			if k, err := c.Count(t.Context(), everything); err != nil || k != n+200 {
				t.Fatalf("%d objects, %v", k, err)
			}
			eventually(t, "nothing is held", func() bool { return s.budgets.answers.Use().Used == 0 })
		})
	}
}

// Requests that are answered later, and short and long ones that are answered at once,
// share a connection: each gets its own answer.
func TestAnsweredLaterBesideOthers(t *testing.T) {
	const objects, rounds = 30_000, 150
	for _, transport := range allTransports {
		t.Run(transport, func(t *testing.T) {
			s, _ := laterServer(t, Options{Workers: 1})
			bigTree(t, s, objects)
			c := dial(t, s, messagesOnly(transport))
			var group sync.WaitGroup
			for g := range 8 {
				group.Go(func() {
					for i := range rounds {
						if err := c.Insert(t.Context(), square(-1e6, -1e6), uint64(g*rounds+i)); err != nil {
							t.Error(err)
						}
					}
				})
				group.Go(func() {
					for i := range rounds {
						q, want := square(float64(2*i), float64(2*g)), 1
						if i%50 == 7 {
							q, want = rstar.Rect{MaxX: 1e6, MaxY: 1e6}, objects
						}
						if got, err := c.Search(t.Context(), q); err != nil || len(got) != want {
							t.Errorf("%v: %d objects, want %d: %v", q, len(got), want, err)
						}
					}
				})
			}
			group.Wait()
			if n, err := c.Count(t.Context(), square(-1e6, -1e6)); err != nil || n != 8*rounds {
				t.Fatalf("%d objects, %v", n, err)
			}
			eventually(t, "nothing is held", func() bool { return s.budgets.answers.Use().Used == 0 })
		})
	}
}

// Clients hang up, and a server closes, while answers are pending.
func TestAnsweredLaterHungUp(t *testing.T) {
	const n = 100
	for _, transport := range allTransports {
		t.Run(transport, func(t *testing.T) {
			s, com := laterServer(t, Options{})
			com.holdBack(2 * n)
			hangUp := func() {
				c := dial(t, s, messagesOnly(transport))
				ctx, cancel := context.WithCancel(t.Context())
				before := com.waiting()
				var group sync.WaitGroup
				for i := range n {
					group.Go(func() {
						if err := c.Insert(ctx, square(1, 1), uint64(i)); !errors.Is(err, model.ErrUnknownOutcome) {
							t.Errorf("%v", err)
						}
					})
				}
				eventually(t, "all are under way", func() bool { return com.waiting() == before+n })
				cancel()
				c.Close()
				group.Wait()
			}
			hangUp()
			if u := s.budgets.answers.Use(); u.Used < n*(wire.HeadBytes+wire.ItemBytes) || u.Sources != 1 {
				t.Fatalf("they do not count: %+v", u)
			}
			com.holdBack(0)
			eventually(t, "all is given back", func() bool {
				u := s.budgets.answers.Use()
				return u.Used == 0 && u.Sources == 0
			})
			com.holdBack(2 * n)
			hangUp()
			s.Close()
			com.holdBack(0)
			eventually(t, "all is given back after Close", func() bool {
				u := s.budgets.answers.Use()
				return u.Used == 0 && u.Sources == 0
			})
		})
	}
}

// Beyond maxLater a request is refused, and can be repeated.
func TestAnsweredLaterBusy(t *testing.T) {
	s, com := laterServer(t, Options{})
	com.holdBack(2 * maxLater)
	conn, err := wire.DialStream(t.Context(), s.Addr(), wire.StreamTCP)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	r := bufio.NewReader(conn)
	item := wire.AppendItem(wire.AppendHead(nil, 0, 0), rstar.Item{Rect: square(0, 0), ID: 1})
	for id := range uint64(maxLater + 1) {
		if _, err := conn.Write(wire.AppendFrame(nil, wire.KindInsert, id+1, item)); err != nil {
			t.Fatal(err)
		}
	}
	kind, id, b, err := wire.ReadFrame(r, nil, wire.MaxReply)
	if err != nil || kind != wire.KindFailure || id != maxLater+1 {
		t.Fatalf("answer of kind %d to %d, %v", kind, id, err)
	}
	if err := wire.GetFailure(b); !errors.Is(err, model.ErrBusy) || !client.RetrySafe(err) {
		t.Fatal(err)
	}
	com.holdBack(0)
	seen := map[uint64]bool{}
	for range maxLater {
		kind, id, b, err = wire.ReadFrame(r, b, wire.MaxReply)
		if err != nil || kind != wire.KindReply || seen[id] || id > maxLater {
			t.Fatalf("answer of kind %d to %d, %v", kind, id, err)
		}
		seen[id] = true
	}
	// A worker's connection has an error text of its own.
	for _, err := range []error{fmt.Errorf("%w: x", fastmsg.ErrBusy), fmt.Errorf("%w: x", model.ErrBusy)} {
		if got := wire.GetFailure(wire.AppendFailure(nil, err, 0)); !errors.Is(got, model.ErrBusy) {
			t.Error(got)
		}
	}
}

// BenchmarkLater deletes objects that do not exist, directly or answered later: it
// measures the transport of the answers.
func BenchmarkLater(b *testing.B) {
	for _, transport := range allTransports {
		for _, later := range []bool{false, true} {
			for _, callers := range []int{1, 256} {
				b.Run(fmt.Sprintf("transport=%s/later=%v/callers=%d", transport, later, callers), func(b *testing.B) {
					s, com := laterServer(b, Options{Workers: 1})
					com.off.Store(!later)
					c := dial(b, s, messagesOnly(transport))
					var group sync.WaitGroup
					b.ReportAllocs()
					b.ResetTimer()
					for k := range callers {
						group.Go(func() {
							for i := k; i < b.N; i += callers {
								if _, err := c.Delete(b.Context(), square(0, 0), uint64(i)); err != nil {
									b.Error(err)
									return
								}
							}
						})
					}
					group.Wait()
				})
			}
		}
	}
}
