package client

import (
	"context"
	"errors"
	"io"
	"net"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/catfishtest"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// keyFile makes a file with a key for each list of roles.
func keyFile(t testing.TB, entries ...access.Entry) (keys *server.Keys, file string, texts []string) {
	t.Helper()
	file, texts = catfishtest.KeyFile(t, entries...)
	keys, err := server.OpenKeys(file, quiet())
	if err != nil {
		t.Fatal(err)
	}
	return keys, file, texts
}

// everyRequest calls each operation once on a client's collection of boxes.
func everyRequest(ctx context.Context, c *Client) (reads, writes map[string]error) {
	reads, writes = map[string]error{}, map[string]error{}
	r := rstar.Rect{MaxX: 1, MaxY: 1}
	_, reads["search"] = c.Search(ctx, r)
	_, reads["count"] = c.Count(ctx, r)
	_, reads["nearest"] = c.Nearest(ctx, 0, 0, 1)
	writes["insert"] = c.Insert(ctx, r, 1)
	_, writes["update"] = c.Update(ctx, r, r, 1)
	_, writes["delete"] = c.Delete(ctx, r, 1)
	return reads, writes
}

// Over every transport: what a key permits, and what it does not.
func TestKeysOnEveryTransport(t *testing.T) {
	keys, _, k := keyFile(t,
		access.Entry{Roles: []string{"default:read"}},
		access.Entry{Roles: []string{"default:write"}},
		access.Entry{Roles: []string{"*:admin"}})
	s := startServer(t, server.Options{Keys: keys, Collections: []string{"other"}, Records: []string{"records"},
		Features: map[string]model.FeaturesOptions{testFeatures: {}}, DataDir: t.TempDir(), Keep: []string{testKept}})
	ctx := t.Context()
	if err := s.WaitReady(ctx); err != nil {
		t.Fatal(err)
	}
	for _, p := range []path{
		{name: "shm fast", transport: model.TransportSHM, policy: "fast"},
		{name: "shm offload", transport: model.TransportSHM, policy: "offload"},
		{name: "soft fetch", transport: model.TransportSoft, policy: "fetch"},
		{name: "soft fast", transport: model.TransportSoft, policy: "fast"},
		{name: "soft offload", transport: model.TransportSoft, policy: "offload"},
		{name: "tcp", transport: model.TransportTCP, policy: "tcp"},
	} {
		if p.transport != model.TransportTCP && !slices.Contains(oneSided, p.transport) {
			p.transport = oneSided[0]
		}
		t.Run(p.name, func(t *testing.T) {
			with := func(key string) Options {
				o := p.options()
				o.Key, o.Logger = key, quiet()
				return o
			}
			for _, key := range []string{"", "x", k[0][:len(k[0])-1] + "!"} {
				if c, err := Dial(ctx, s.Addr(), with(key)); !errors.Is(err, model.ErrUnauthenticated) {
					t.Errorf("key %.12q: %v, want ErrUnauthenticated", key, err)
					if err == nil {
						c.Close()
					}
				}
			}
			for i, want := range []struct{ read, write, manage error }{
				{nil, model.ErrNotPermitted, model.ErrNotPermitted}, {nil, nil, model.ErrNotPermitted}, {nil, nil, nil},
			} {
				c := dial(t, s, with(k[i]))
				reads, writes := everyRequest(ctx, c)
				for what, err := range reads {
					if !errors.Is(err, want.read) {
						t.Errorf("key %d: %s: %v, want %v", i, what, err, want.read)
					}
				}
				for what, err := range writes {
					if !errors.Is(err, want.write) || err != nil && !RetrySafe(err) {
						t.Errorf("key %d: %s: %v, want %v", i, what, err, want.write)
					}
				}
				if err := c.CreateCollection(ctx, "new"); !errors.Is(err, want.manage) {
					t.Errorf("key %d: create: %v, want %v", i, err, want.manage)
				}
				if err := c.CreateBoxes(ctx, "new-kept", model.BoxesOptions{Keep: true}); !errors.Is(err, want.manage) {
					t.Errorf("key %d: create one that is kept: %v, want %v", i, err, want.manage)
				}
				for _, name := range []string{"new", "new-kept"} {
					if _, err := c.DropCollection(ctx, name); !errors.Is(err, want.manage) {
						t.Errorf("key %d: drop %s: %v, want %v", i, name, err, want.manage)
					}
				}
				// The key gets neither the address nor the statistics of what it may not read.
				other, err := c.Collection("other")
				if err != nil {
					t.Fatal(err)
				}
				_, err = other.Count(ctx, rstar.Rect{MaxX: 1, MaxY: 1})
				if !errors.Is(err, want.manage) {
					t.Errorf("key %d: another collection: %v, want %v", i, err, want.manage)
				}
				l, err := c.Collections(ctx)
				sees := 1
				if want.manage == nil {
					sees = 5
				}
				if st, err := c.Stats(ctx); err != nil || (len(st.Features) == 1) != (want.manage == nil) || len(st.Kept) != len(st.Features) {
					t.Errorf("key %d sees features %v, and kept %v, %v", i, st.Features, st.Kept, err)
				}
				if err != nil || len(l) != sees {
					t.Errorf("key %d sees %v, %v", i, l, err)
				}
				if err := c.Check(ctx); !errors.Is(err, want.manage) {
					t.Errorf("key %d: check: %v, want %v", i, err, want.manage)
				}
			}
			o := with(k[0])
			r, err := dial(t, s, o).Records("records")
			if err != nil {
				t.Fatal(err)
			}
			if _, err := r.Get(ctx, []byte("a"), nil); !errors.Is(err, model.ErrNotPermitted) {
				t.Errorf("records: %v, want ErrNotPermitted", err)
			}
			if r, err = dial(t, s, with(k[2])).Records("records"); err != nil {
				t.Fatal(err)
			}
			if _, err := r.Put(ctx, model.Record{Key: []byte("a"), Value: []byte("b")}, kv.Condition{}); err != nil {
				t.Error(err)
			}
			if rec, err := r.Get(ctx, []byte("a"), nil); err != nil || string(rec.Value) != "b" {
				t.Errorf("%q, %v", rec.Value, err)
			}
			// Features.
			for i, want := range []error{model.ErrNotPermitted, model.ErrNotPermitted, nil} {
				c := dial(t, s, with(k[i]))
				f, err := c.Features(testFeatures)
				if err != nil {
					t.Fatal(err)
				}
				_, err = f.PutMany(ctx, []model.Feature{{ID: "a", Geometry: orb.Point{1, 1}}})
				if !errors.Is(err, want) {
					t.Errorf("key %d: put a feature: %v, want %v", i, err, want)
				}
				if _, err := f.Count(ctx, model.FeatureQuery{}); !errors.Is(err, want) {
					t.Errorf("key %d: count features: %v, want %v", i, err, want)
				}
				if err := c.CreateFeatures(ctx, "new", model.FeaturesOptions{}); !errors.Is(err, want) {
					t.Errorf("key %d: create features: %v, want %v", i, err, want)
				}
				if err := c.CreateRecords(ctx, "newer", model.RecordsOptions{}); !errors.Is(err, want) {
					t.Errorf("key %d: create records: %v, want %v", i, err, want)
				}
				for _, name := range []string{"new", "newer"} {
					if _, err := c.DropCollection(ctx, name); !errors.Is(err, want) {
						t.Errorf("key %d: drop %s: %v, want %v", i, name, err, want)
					}
				}
			}
		})
	}
}

// Clients of one process that have different keys do not share read channels.
// When a key ends so do its connections, read channels included; those of others
// stay.
func TestEndOfAKey(t *testing.T) {
	for _, transport := range append(slices.Clone(oneSided), model.TransportTCP) {
		t.Run(transport, func(t *testing.T) {
			keys, file, k := keyFile(t,
				access.Entry{Name: "stays", Roles: []string{"*:read"}},
				access.Entry{Name: "goes", Roles: []string{"*:read"}})
			s := startServer(t, server.Options{Keys: keys})
			if err := tree(t, s).Insert(rstar.Rect{MaxX: 1, MaxY: 1}, 7); err != nil {
				t.Fatal(err)
			}
			ctx := t.Context()
			policy := "offload"
			if transport == model.TransportTCP {
				policy = "tcp"
			}
			o := Options{Transport: transport, Policy: policy, Key: k[0], DialTimeout: 2 * time.Second}
			stays := dial(t, s, o)
			o.Key = k[1]
			goes := dial(t, s, o)
			search := func(c *Client) error {
				items, err := c.Search(ctx, rstar.Rect{MaxX: 1, MaxY: 1})
				if err == nil && len(items) != 1 {
					t.Errorf("%d items, want 1", len(items))
				}
				return err
			}
			for _, c := range []*Client{stays, goes} {
				if err := search(c); err != nil {
					t.Fatal(err)
				}
			}
			patience := time.Now().Add(30 * time.Second)
			session := stays.conn.sessions.latest()
			ended := goes.conn.sessions.latest()
			var channel rdma.QueuePair // kept open by its client
			if transport != model.TransportTCP {
				if session.channels.pool == ended.channels.pool {
					t.Error("clients with different keys share read channels")
				}
				cq, err := ended.dev.CreateCQ(16)
				if err != nil {
					t.Fatal(err)
				}
				defer cq.Close()
				channel, err = ended.dev.Dial(ctx, ended.addr, rdma.QPConfig{SendCQ: cq, RecvCQ: cq, SendDepth: 1, RecvDepth: 1},
					wire.AppendTicket(wire.ReadChannelPrivate(s.BootID()), ended.hello.Ticket))
				if err != nil {
					t.Fatal(err)
				}
				defer channel.Close()
			}
			if _, err := access.Revoke(file, "goes"); err != nil {
				t.Fatal(err)
			}
			if err := keys.Reload(); err != nil {
				t.Fatal(err)
			}
			// The server ends the key's connections, whatever the client does.
			select {
			case <-ended.caller.Done():
			case <-time.After(time.Until(patience)):
				t.Fatal("after 30 s the connection is still there")
			}
			for channel != nil && channel.Err() == nil {
				if time.Now().After(patience) {
					t.Fatal("after 30 s the read channel is still there")
				}
				runtime.Gosched()
			}
			// Offloaded reads end when their read channels do, soon.
			for err := search(goes); !errors.Is(err, model.ErrUnauthenticated); err = search(goes) {
				if err != nil && !errors.Is(err, model.ErrUnknownOutcome) && !errors.Is(err, model.ErrNoServer) && !errors.Is(err, model.ErrNotSent) {
					t.Fatalf("search with a key that has ended: %v", err)
				}
				if time.Now().After(patience) {
					t.Fatalf("after 30 s a search with a key that has ended: %v", err)
				}
			}
			if err := search(stays); err != nil {
				t.Errorf("search with the other key: %v", err)
			}
			if stays.conn.sessions.latest() != session {
				t.Error("the connection of the other key was lost")
			}
		})
	}
}

// A call that waits for a connection while its key ends gets that error at once, however
// long it would wait for a server.
func TestEndOfAKeyWhileWaiting(t *testing.T) {
	keys, file, k := keyFile(t, access.Entry{Name: "goes", Roles: []string{"*:read"}})
	s := startFeatures(t, server.Options{Keys: keys})
	o := messagesOnly(model.TransportTCP)
	o.Key, o.DialTimeout = k[0], time.Hour
	stands, ended := follow(t.Context(), dialFeatures(t, s, o), model.WatchQuery{}, func(model.FeatureEvent) bool { return true })
	<-stands
	if _, err := access.Revoke(file, "goes"); err != nil {
		t.Fatal(err)
	}
	if err := keys.Reload(); err != nil {
		t.Fatal(err)
	}
	if err := <-ended; !errors.Is(err, model.ErrUnauthenticated) {
		t.Errorf("%v, want ErrUnauthenticated", err)
	}
}

// A key's rate counts over all of its connections.
func TestRateOfAKey(t *testing.T) {
	keys, _, k := keyFile(t, access.Entry{Roles: []string{"*:read"}, Rate: 0.001, Burst: 4})
	s := startServer(t, server.Options{Keys: keys})
	// Each dial opens the collection: one request.
	a := dial(t, s, Options{Transport: model.TransportTCP, Key: k[0]})
	b := dial(t, s, Options{Transport: oneSided[0], Policy: "fast", Key: k[0]})
	r := rstar.Rect{MaxX: 1, MaxY: 1}
	for i, c := range []*Client{a, b, a, b} {
		_, err := c.Count(t.Context(), r)
		if limited := errors.Is(err, model.ErrRateLimited); limited != (i >= 2) || err != nil && !RetrySafe(err) {
			t.Errorf("request %d: %v", i, err)
		}
	}
}

// A client that has no ticket and does not follow the protocol gets no ring, read
// channel or socket, and no answer to garbage.
func TestClientsWithoutTicketGetNothing(t *testing.T) {
	keys, _, k := keyFile(t, access.Entry{Roles: []string{"*:read"}})
	s := startServer(t, server.Options{Keys: keys})
	c := dial(t, s, Options{Transport: oneSided[0], Policy: "offload", Key: k[0]})
	ses := c.conn.sessions.latest()
	ticket := ses.hello.Ticket
	cq, err := ses.dev.CreateCQ(16)
	if err != nil {
		t.Fatal(err)
	}
	defer cq.Close()
	open := func(private []byte) error {
		qp, err := ses.dev.Dial(t.Context(), ses.addr, rdma.QPConfig{SendCQ: cq, RecvCQ: cq, SendDepth: 1, RecvDepth: 1}, private)
		if err == nil {
			qp.Close()
		}
		return err
	}
	channel := wire.ReadChannelPrivate(s.BootID())
	if err := open(wire.AppendTicket(slices.Clone(channel), ticket)); err != nil {
		t.Errorf("a read channel with a ticket: %v", err)
	}
	for what, private := range map[string][]byte{
		"no ticket": channel, "ticket 0": append(slices.Clone(channel), make([]byte, 8)...),
		"another": wire.AppendTicket(slices.Clone(channel), ticket^1), "half": append(slices.Clone(channel), 1, 2, 3, 4),
	} {
		if err := open(private); !errors.Is(err, rdma.ErrRejected) {
			t.Errorf("a read channel, %s: %v, want ErrRejected", what, err)
		}
	}
	ring := func(ticket uint64) error {
		fc, err := fastmsg.Dial(t.Context(), ses.dev, ses.addr, fastmsg.CallerConfig{
			Hello: wire.AddTicket(wire.AppendClientHello(nil, s.BootID(), 0, false), ticket),
		})
		if err == nil {
			fc.Close()
		}
		return err
	}
	if err := ring(ticket); err != nil {
		t.Errorf("a ring with a ticket: %v", err)
	}
	for _, bad := range []uint64{0, ticket ^ 1, 1<<63 - 1} {
		if err := ring(bad); !errors.Is(err, rdma.ErrRejected) {
			t.Errorf("a ring with ticket %#x: %v, want ErrRejected", bad, err)
		}
	}
	for _, bad := range []uint64{0, ticket ^ 1} {
		tc, err := dialTCP(t.Context(), s.Addr(), bad)
		if err != nil {
			t.Fatal(err)
		}
		if _, _, err := tc.Call(t.Context(), wire.KindStats, nil, nil); !errors.Is(err, model.ErrUnauthenticated) || !errors.Is(err, model.ErrNotSent) {
			t.Errorf("a plain socket with ticket %#x: %v", bad, err)
		}
		tc.Close()
	}
	// The key stream: too long, not a key, cut off.
	for _, b := range [][]byte{{0xff, 0xff}, {3, 0, 'a', 'b', 'c'}, {0, 0}} {
		st, err := wire.DialStream(t.Context(), s.Addr(), wire.StreamKey)
		if err != nil {
			t.Fatal(err)
		}
		st.Write(b)
		st.SetReadDeadline(time.Now().Add(time.Minute))
		answer, err := io.ReadAll(st)
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() || len(answer) > 1000 {
			t.Errorf("key stream %x: %q, %v", b, answer, err)
		}
		st.Close()
	}
}

// A client with a key can use a server without keys, and a server without keys
// knows no tickets.
func TestKeyForServerWithoutKeys(t *testing.T) {
	_, _, k := keyFile(t, access.Entry{Roles: []string{"*:read"}})
	s := startServer(t, server.Options{})
	c := dial(t, s, Options{Key: k[0]})
	if _, err := c.Count(t.Context(), rstar.Rect{MaxX: 1, MaxY: 1}); err != nil {
		t.Error(err)
	}
	if _, err := wire.AskTicket(t.Context(), s.Addr(), k[0]); !errors.Is(err, model.ErrNoServer) {
		t.Errorf("a ticket of a server without keys: %v", err)
	}
}
