package client

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/rstar/remote"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/offload"
	"github.com/catfish-index/catfish/rstar"
)

// user is a session's use of a pool that cannot open channels.
func user(p *channelPool, may int) *channels {
	u := new(channels)
	u.init()
	p.admit(may)
	u.join(p, func() { p.admit(-may) }, func(context.Context) (reader, error) { return nil, errNoChannel })
	return u
}

// TestChannelsClose: no caller that waits for a read channel sleeps for ever, and
// the end of one session concerns no other.
func TestChannelsClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p channelPool
		u, other := user(&p, 2), user(&p, 1)
		for range 3 {
			if r, err := p.take(t.Context(), u.ended); r != nil || err != nil {
				t.Fatal(r, err)
			}
		}
		u.out.Add(2)
		const waiters = 20
		errs := make(chan error, waiters)
		for range waiters {
			go func() {
				_, err := u.get(context.Background())
				errs <- err
			}()
		}
		synctest.Wait()
		waits := make(chan error, 1)
		go func() {
			_, err := other.get(context.Background())
			waits <- err
		}()
		synctest.Wait()
		u.close()
		u.close()
		for range waiters {
			if err := <-errs; !errors.Is(err, offload.ErrStopped) {
				t.Error(err)
			}
		}
		for range 2 {
			synctest.Wait()
			select {
			case <-u.drained:
				t.Fatal("drained while read channels are out")
			default:
			}
			if p.first == nil {
				t.Fatal("another session was served, or stopped, while all channels are out")
			}
			u.done()
		}
		<-u.drained
		if _, err := u.get(t.Context()); !errors.Is(err, offload.ErrStopped) {
			t.Error("after the end:", err)
		}
		// The session's end leaves one channel allowed. When its searches have put
		// theirs back, and that one is put back, too, the other session gets it.
		for range 3 {
			synctest.Wait()
			if len(waits) > 0 {
				t.Fatal("another session may open a channel, but there are as many as are allowed")
			}
			p.put(nil)
		}
		if err := <-waits; !errors.Is(err, errNoChannel) {
			t.Error("another session:", err)
		}
		other.close()
		<-other.drained
		if p.have != 0 || p.allowed != 0 || p.first != nil {
			t.Errorf("%d channels of %d and %v in the queue when all have left", p.have, p.allowed, p.first)
		}
	})
}

// TestChannelWaitersAreServedInOrder: the longest waiter is served first, also if waiters before it
// gave up.
func TestChannelWaitersAreServedInOrder(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var p channelPool
		p.admit(1)
		if _, err := p.take(t.Context(), nil); err != nil {
			t.Fatal(err)
		}
		const waiters = 8
		served := make(chan int, waiters)
		var cancels []context.CancelFunc
		for i := range waiters {
			ctx, cancel := context.WithCancel(t.Context())
			cancels = append(cancels, cancel)
			go func() {
				if _, err := p.take(ctx, nil); err == nil {
					served <- i
				}
			}()
			synctest.Wait()
		}
		for _, i := range []int{0, 3, waiters - 1} {
			cancels[i]()
			synctest.Wait()
		}
		for _, want := range []int{1, 2, 4, 5, 6} {
			p.put(nil)
			synctest.Wait()
			if len(served) != 1 {
				t.Fatalf("%d are served by one channel", len(served))
			}
			if got := <-served; got != want {
				t.Errorf("number %d is served before %d", got, want)
			}
		}
		p.put(nil)
		if p.have != 0 || p.first != nil {
			t.Errorf("%d channels, %v in the queue", p.have, p.first)
		}
		for _, cancel := range cancels {
			cancel()
		}
	})
}

// TestReadChannelsAreShared: the clients of a process use as many read
// channels to a server as searches run at a time, not as there are clients, and
// one device. Close of some, in the middle of searches, does not disturb the
// others.
func TestReadChannelsAreShared(t *testing.T) {
	for _, tr := range oneSided {
		t.Run(tr, func(t *testing.T) {
			s := startServer(t, server.Options{Transports: []string{tr}})
			const objects = 5000
			for i := range objects {
				if err := tree(t, s).Insert(square(float64(i), 0), uint64(i)); err != nil {
					t.Fatal(err)
				}
			}
			h := new(Shared)
			const clients = 20
			all := make([]*Client, clients)
			for i := range all {
				all[i] = dial(t, s, Options{Transport: tr, Policy: "offload", Shared: h})
				if n, err := all[i].Count(t.Context(), rstar.Rect{MaxX: objects, MaxY: 1}); n != objects || err != nil {
					t.Fatal(n, err)
				}
			}
			if n := s.Stats().Transports[0].ReadChannels; n != 1 {
				t.Errorf("%d read channels for %d clients that search one after the other, want 1", n, clients)
			}
			for _, c := range all[1:] {
				if c.conn.sessions.latest().dev != all[0].conn.sessions.latest().dev {
					t.Fatal("clients of one Shared have several devices")
				}
			}
			var wg sync.WaitGroup
			for i, c := range all {
				wg.Go(func() {
					for k := range 50 {
						if i < clients/2 && k == 20 {
							c.Close()
						}
						n, err := c.Count(t.Context(), rstar.Rect{MaxX: objects, MaxY: 1})
						switch {
						case i < clients/2 && k >= 20:
							if !errors.Is(err, model.ErrClosed) {
								t.Errorf("closed: %v", err)
							}
						case err != nil || n != objects:
							t.Errorf("client %d: %d objects, %v", i, n, err)
						}
					}
				})
			}
			wg.Wait()
			if n := s.Stats().Transports[0].ReadChannels; n > wire.MaxReadChannels {
				t.Errorf("%d read channels, want at most %d", n, wire.MaxReadChannels)
			}
			for i, c := range all {
				if got := c.Counters(); i >= clients/2 && (got.Reconnects > 0 || got.FellBack > 0) {
					t.Errorf("client %d: %d reconnects, %d searches fell back", i, got.Reconnects, got.FellBack)
				}
				c.Close()
			}
			if len(h.devices.of)+len(h.channels.of) != 0 {
				t.Errorf("%d devices and %d pools are left when all clients are closed", len(h.devices.of), len(h.channels.of))
			}
			eventually(t, "the server closes the read channels", func() bool {
				return s.Stats().Transports[0].ReadChannels == 0
			})
		})
	}
}

// brokenServer returns objects, and clients that share read channels over soft.
func brokenServer(t *testing.T, clients int) (s *server.Server, all []*Client, count func(*Client)) {
	s = startServer(t, server.Options{Transports: []string{model.TransportSoft}})
	const objects = 2000
	for i := range objects {
		if err := tree(t, s).Insert(square(float64(i), 0), uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	h := new(Shared)
	for range clients {
		all = append(all, dial(t, s, Options{Transport: model.TransportSoft, Policy: "offload", Shared: h}))
	}
	return s, all, func(c *Client) {
		t.Helper()
		if n, err := c.Count(t.Context(), rstar.Rect{MaxX: objects, MaxY: 1}); n != objects || err != nil {
			t.Errorf("%d objects, %v", n, err)
		}
	}
}

// TestBrokenChannelAffectsOneClient: a cause that breaks a read channel in the middle of
// one client's search costs this client a connection, and others nothing.
func TestBrokenChannelAffectsOneClient(t *testing.T) {
	s, clients, count := brokenServer(t, 4)
	var wg sync.WaitGroup
	for _, c := range clients {
		wg.Go(func() {
			for range 100 {
				count(c)
			}
		})
	}
	// Fewer than a search may lose.
	cuts := 0
	for range maxLost - 1 {
		eventually(t, "a read channel is open", func() bool {
			n := server.CutReadChannels(s, wire.Cut{Most: 1})
			cuts += n
			return n > 0
		})
	}
	wg.Wait()
	if n := reconnects(clients); n > uint64(cuts) {
		t.Errorf("%d connections were lost by %d cuts", n, cuts)
	}
}

// TestChannelsLostWhileFree: read channels that are lost while no search uses them, more
// of them than connections that a search may lose, cost no search anything.
func TestChannelsLostWhileFree(t *testing.T) {
	s, clients, count := brokenServer(t, maxLost)
	p := clients[0].conn.sessions.latest().channels.pool
	u := clients[0].conn.sessions.latest().channels.open
	var opened []reader
	for range maxLost + 1 {
		r, err := p.take(t.Context(), nil)
		if r == nil && err == nil {
			r, err = u(t.Context())
		}
		if err != nil {
			t.Fatal(err)
		}
		opened = append(opened, r)
	}
	for _, r := range opened {
		p.put(r)
	}
	cuts := 0
	eventually(t, "the server knows of all channels, and cuts them", func() bool {
		cuts += server.CutReadChannels(s, wire.Cut{Most: len(opened)})
		return cuts == len(opened)
	})
	eventually(t, "the client's side knows", func() bool {
		return !slices.ContainsFunc(opened, func(r reader) bool { return r.Err() == nil })
	})
	for _, c := range clients {
		count(c)
	}
	if n := reconnects(clients); n != 0 {
		t.Errorf("%d connections were lost", n)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.have != len(p.free) || p.have != 1 {
		t.Errorf("%d channels, %d of them free, want 1", p.have, len(p.free))
	}
}

func reconnects(clients []*Client) (n uint64) {
	for _, c := range clients {
		n += c.Counters().Reconnects
	}
	return n
}

// TestHeadersOfSharedChannels: if two clients search alternately over one read channel,
// each reads the header of its tree as often as if it were alone. Otherwise one client
// would never learn of moves.
func TestHeadersOfSharedChannels(t *testing.T) {
	s, tr := cachedServer(t)
	h := new(Shared)
	var clients [2]*Client
	for i := range clients {
		clients[i] = dial(t, s, Options{Transport: model.TransportSHM, Policy: "offload-cached", Shared: h})
		warm(t, clients[i], tr)
	}
	const rounds = 20 * remote.HeaderEvery
	reads := func(both bool) (n [2]uint64) {
		before := [2]uint64{clients[0].Counters().Reads, clients[1].Counters().Reads}
		r := rand.New(rand.NewPCG(1, 2))
		for range rounds {
			q := someQuery(r)
			mustFind(t, clients[0], tr, q)
			if both {
				mustFind(t, clients[1], tr, q)
			}
		}
		return [2]uint64{clients[0].Counters().Reads - before[0], clients[1].Counters().Reads - before[1]}
	}
	alone, together := reads(false), reads(true)
	if n := s.Stats().Transports[0].ReadChannels; n != 1 {
		t.Fatalf("%d read channels, want 1", n)
	}
	if together[0] != alone[0] || together[1] != alone[0] {
		t.Errorf("%d reads of one client alone, %d and %d of two by turns", alone[0], together[0], together[1])
	}
}
