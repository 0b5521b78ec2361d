package client

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/rstar/remote"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

// TestCloseUnderSearches: if a client is closed, or loses its server, while it is
// used, its calls return errors. Its memory, the mailbox and what read channels
// read into, must not be freed before the last user has ended.
func TestCloseUnderSearches(t *testing.T) {
	world := rstar.Rect{MaxX: 1e4, MaxY: 1e4}
	for _, p := range append(paths(), pollingPaths()...) {
		t.Run(p.name, func(t *testing.T) {
			for round := range 2 {
				s := startServer(t, server.Options{})
				items := make([]rstar.Item, 1000)
				for i := range items {
					items[i] = rstar.Item{Rect: square(float64(i), 0), ID: uint64(i)}
				}
				if err := tree(t, s).Load(items); err != nil {
					t.Fatal(err)
				}
				c := dial(t, s, p.options())
				ctx, cancel := context.WithCancel(t.Context())
				var wg sync.WaitGroup
				begun := make(chan struct{}, 100)
				for range 4 {
					wg.Go(func() {
						for {
							_, err := c.Search(ctx, world)
							gone := round == 1 && RetrySafe(err) // found no server
							if err != nil && !gone && !errors.Is(err, model.ErrClosed) && !errors.Is(err, context.Canceled) {
								t.Errorf("search: %v", err)
							}
							if err != nil {
								return
							}
							c.Counters()
							select {
							case begun <- struct{}{}:
							default:
							}
						}
					})
				}
				for range 20 {
					<-begun
				}
				if round == 0 {
					c.Close()
				} else {
					s.Close()
					cancel()
				}
				wg.Wait()
				cancel()
				c.Close()
				c.Counters()
				if _, err := c.Search(t.Context(), world); !errors.Is(err, model.ErrClosed) || !RetrySafe(err) {
					t.Errorf("search after Close: %v", err)
				}
			}
		})
	}
}

// TestServerCloseUnderUse: the owner of a server may still search the
// trees, or ask for the state, while another goroutine closes it.
func TestServerCloseUnderUse(t *testing.T) {
	for range 5 {
		s := startServer(t, server.Options{})
		tr := tree(t, s)
		for i := range 2000 {
			if err := tr.Insert(square(float64(i), 0), uint64(i)); err != nil {
				t.Fatal(err)
			}
		}
		var wg sync.WaitGroup
		begun := make(chan struct{}, 4)
		for range cap(begun) {
			wg.Go(func() {
				for first := true; tr.Count(rstar.Rect{MaxX: 1e4, MaxY: 1e4}) > 0; first = false {
					if first {
						begun <- struct{}{}
					}
				}
			})
		}
		for range cap(begun) {
			<-begun
		}
		s.Close()
		wg.Wait()
		if st := s.Stats(); st.Collections[model.DefaultCollection].Len != 0 {
			t.Errorf("a closed tree has %d objects", st.Collections[model.DefaultCollection].Len)
		}
		if err := tr.Insert(square(0, 0), 1); !errors.Is(err, rstar.ErrClosed) {
			t.Errorf("insert into a closed tree: %v", err)
		}
		if _, err := s.CreateCollection("late"); err == nil {
			t.Error("a closed server made a collection")
		}
	}
}

// TestNoServerErrorNamesReason: a wait for a server that stays away ends with the
// reason.
func TestNoServerErrorNamesReason(t *testing.T) {
	s := startServer(t, server.Options{})
	c := dial(t, s, Options{DialTimeout: 200 * time.Millisecond})
	s.Close()
	_, err := c.Count(t.Context(), square(0, 0))
	if !errors.Is(err, model.ErrNoServer) || strings.Contains(err.Error(), "%!") || strings.Contains(err.Error(), "nil") {
		t.Errorf("%v", err)
	}
}

// deaf accepts connections and never reads from them.
func deaf(t *testing.T) (addr string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var wg sync.WaitGroup
	var mu sync.Mutex
	var conns []net.Conn
	wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			conns = append(conns, c)
			mu.Unlock()
		}
	})
	t.Cleanup(func() {
		l.Close()
		wg.Wait()
		for _, c := range conns {
			c.Close()
		}
	})
	return l.Addr().String()
}

// TestServerThatDoesNotRead: a peer that reads nothing delays neither calls whose
// context ends nor Close.
func TestServerThatDoesNotRead(t *testing.T) {
	c, err := dialTCP(t.Context(), deaf(t), 0)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	payload := make([]byte, 8<<20) // beyond what sockets buffer
	for range 3 {
		wg.Go(func() {
			_, _, err := c.Call(ctx, wire.KindInsert, payload, nil)
			if !errors.Is(err, context.Canceled) || errors.Is(err, model.ErrNotSent) == errors.Is(err, model.ErrUnknownOutcome) {
				t.Errorf("call: %v", err)
			}
		})
	}
	for sent := uint64(0); sent == 0; {
		c.mu.Lock()
		sent = c.sent
		c.mu.Unlock()
	}
	cancel()
	wg.Wait()
	c.Close()
	if _, _, err := c.Call(t.Context(), wire.KindInsert, nil, nil); !errors.Is(err, model.ErrNotSent) {
		t.Errorf("call after Close: %v", err)
	}
}

// TestWhichErrorsAreRetried: an error that the next connection would return again is no reason for
// another try.
func TestWhichErrorsAreRetried(t *testing.T) {
	for _, c := range []struct {
		err  error
		want bool
	}{
		{model.ErrUnknownOutcome, true},
		{model.ErrNotSent, true},
		{remote.ErrServerChanged, true},
		{offload.ErrChannel, true},
		{model.ErrProtocol, false},
		{model.ErrUnknownCollection, false},
		{&fastmsg.CallError{Outcome: model.ErrUnknownOutcome, Cause: fastmsg.ErrTooLarge}, false},
	} {
		if got := lost(fmt.Errorf("op: %w", c.err)); got != c.want {
			t.Errorf("lost(%v) is %v", c.err, got)
		}
	}
}

// TestFirstReadChannel: a client whose searches may be offloaded has a read channel before
// its first search; one that only sends messages has none.
func TestFirstReadChannel(t *testing.T) {
	s := startServer(t, server.Options{})
	for policy, want := range map[string]int{"cost": 1, "paper": 1, "offload": 1, "fast": 0} {
		c := dial(t, s, Options{Transport: model.TransportSHM, Policy: policy, Shared: new(Shared)})
		channels := func() int {
			p := c.conn.sessions.latest().channels.pool
			p.mu.Lock()
			defer p.mu.Unlock()
			return len(p.free)
		}
		if n := channels(); n != want {
			t.Errorf("%s: %d read channels, want %d", policy, n, want)
		}
	}
}
