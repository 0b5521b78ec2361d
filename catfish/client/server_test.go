package client

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/rdma"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// TestOffloadNeedsNoWorker: while all workers are paused, offloaded searches complete.
func TestOffloadNeedsNoWorker(t *testing.T) {
	for _, tr := range oneSided {
		t.Run(tr, func(t *testing.T) {
			s := startServer(t, server.Options{})
			for i := range 500 {
				if err := tree(t, s).Insert(square(float64(i), 0), uint64(i)); err != nil {
					t.Fatal(err)
				}
			}
			off := dial(t, s, Options{Transport: tr, Policy: "offload"})
			fast := dial(t, s, Options{Transport: tr, Policy: "fast"})
			s.PauseWorkers()
			before := s.Stats()
			resume := sync.OnceFunc(s.ResumeWorkers)
			t.Cleanup(resume)
			for i := range 100 {
				items, err := off.Search(t.Context(), square(float64(i)+0.5, 0.5))
				if err != nil || len(items) != 2 {
					t.Fatalf("search %d: %v, %v", i, items, err)
				}
			}
			after := s.Stats()
			for i, f := range after.Transports {
				for j, w := range f.Workers {
					if w.Requests != before.Transports[i].Workers[j].Requests {
						t.Errorf("%s worker %d handled requests of offloaded searches", f.Transport, j)
					}
				}
			}
			// The workers are indeed paused.
			answered := make(chan error, 1)
			go func() {
				_, err := fast.Search(context.Background(), square(0, 0))
				answered <- err
			}()
			select {
			case err := <-answered:
				t.Fatalf("a paused worker answered: %v", err)
			default:
			}
			resume()
			if err := <-answered; err != nil {
				t.Fatal(err)
			}
		})
	}
}

// TestRestart: a client notices that a server has restarted; searches continue,
// writes in flight fail, as not sent or of unknown outcome.
func TestRestart(t *testing.T) {
	for _, p := range append(paths(), pollingPaths()...) {
		t.Run(p.name, func(t *testing.T) {
			sock := filepath.Join(t.TempDir(), "s")
			run := func(listen string) (*server.Server, func()) {
				s, err := server.NewServer(server.Options{
					Listen: listen, SocketPath: sock, SlabBytes: 16 << 20, Logger: quiet(),
					Transports: offered, Fabric: testFabric,
				})
				if err != nil {
					t.Fatal(err)
				}
				if err := tree(t, s).Insert(square(0, 0), 7); err != nil {
					t.Fatal(err)
				}
				done := make(chan error, 1)
				go func() { done <- s.Serve(context.Background()) }()
				return s, func() {
					s.Close()
					if err := <-done; err != nil {
						t.Errorf("Serve: %v", err)
					}
				}
			}
			s, stop := run(ownAddr())
			addr, boot := s.Addr(), s.BootID()
			c := dial(t, s, p.options())
			if got := c.Info().BootID; got != boot {
				t.Fatalf("boot id %d, want %d", got, boot)
			}
			stop()
			// In flight while no server runs: the search waits for the
			// new one, the write is refused or of unknown outcome.
			type found struct {
				items []rstar.Item
				err   error
			}
			search := make(chan found, 1)
			go func() {
				items, err := c.Search(context.Background(), square(0, 0))
				search <- found{items, err}
			}()
			s, stop = run(addr)
			defer func() { stop() }()
			f := <-search
			if f.err != nil || len(f.items) != 1 || f.items[0].ID != 7 {
				t.Fatalf("search across the restart: %v, %v", f.items, f.err)
			}
			if err := c.Insert(t.Context(), square(5, 5), 8); err != nil {
				t.Fatalf("insert after the restart: %v", err)
			}
			if got := c.Info().BootID; got != s.BootID() || got == boot {
				t.Errorf("boot id %d after the restart, want %d, not %d", got, s.BootID(), boot)
			}
			if c.Counters().Reconnects == 0 {
				t.Error("no reconnect counted")
			}
		})
	}
}

// watched notifies when a write-with-imm that carries bytes was posted.
type watched struct {
	rdma.Device
	posted chan struct{}
}

type watchedQP struct {
	rdma.QueuePair
	posted chan struct{}
}

func (d watched) Dial(ctx context.Context, addr string, cfg rdma.QPConfig, private []byte) (rdma.QueuePair, error) {
	qp, err := d.Device.Dial(ctx, addr, cfg, private)
	return watchedQP{qp, d.posted}, err
}

func (q watchedQP) Post(wrs []rdma.WorkRequest) (int, error) {
	n, err := q.QueuePair.Post(wrs)
	for _, wr := range wrs[:n] {
		if wr.Op == rdma.OpWriteImm && wr.Local.Len > 0 {
			q.posted <- struct{}{}
		}
	}
	return n, err
}

// TestWriteUnknownOutcome: the client does not repeat a write whose answer
// never came.
func TestWriteUnknownOutcome(t *testing.T) {
	for _, tr := range oneSided {
		s := startServer(t, server.Options{Workers: 1})
		posted := make(chan struct{}, 100)
		c := dial(t, s, WithHooks(Options{Transport: tr}, func(h *wire.ClientHooks) {
			h.Wrap = func(d rdma.Device) rdma.Device { return watched{d, posted} }
		}))
		<-posted // the collection was opened
		s.PauseWorkers()
		ctx, cancel := context.WithCancel(t.Context())
		errs := make(chan error, 1)
		go func() { errs <- c.Insert(ctx, square(0, 0), 1) }()
		<-posted
		cancel()
		err := <-errs
		if !errors.Is(err, model.ErrUnknownOutcome) || !errors.Is(err, context.Canceled) || RetrySafe(err) {
			t.Errorf("%s: %v, retry safe %v", tr, err, RetrySafe(err))
		}
		s.ResumeWorkers()
		// The write was carried out in the end, once.
		for n := 0; n == 0; {
			if n, err = c.Count(t.Context(), square(0, 0)); err != nil || n > 1 {
				t.Fatalf("%s: %d, %v", tr, n, err)
			}
		}
		if n := tree(t, s).Len(); n != 1 {
			t.Errorf("%s: %d objects", tr, n)
		}
	}
}

func TestNoServer(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	// The listener does not answer: the dial time limit ends Dial.
	_, err = Dial(t.Context(), addr, Options{DialTimeout: 50 * time.Millisecond, Logger: quiet()})
	if !errors.Is(err, model.ErrNoServer) || !RetrySafe(err) || !strings.Contains(err.Error(), addr) {
		t.Errorf("silent listener: %v", err)
	}
	l.Close()
	_, err = Dial(t.Context(), addr, Options{Logger: quiet()})
	if !errors.Is(err, model.ErrNoServer) || !RetrySafe(err) || !strings.Contains(err.Error(), addr) {
		t.Errorf("nobody listens: %v", err)
	}
}

func TestAddressInUse(t *testing.T) {
	s := startServer(t, server.Options{})
	_, err := server.NewServer(server.Options{Listen: s.Addr(), Logger: quiet()})
	if !errors.Is(err, model.ErrInUse) || !strings.Contains(err.Error(), s.Addr()) {
		t.Errorf("TCP address: %v", err)
	}
	_, err = server.NewServer(server.Options{SocketPath: s.SocketPath(), Logger: quiet()})
	if err == nil || !strings.Contains(err.Error(), s.SocketPath()) {
		t.Errorf("socket: %v", err)
	}
}

func TestVersionMismatch(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			json.NewEncoder(c).Encode(wire.Hello{Version: "v9", Protocol: 99})
			c.Close()
		}
	}()
	_, err = Dial(t.Context(), l.Addr().String(), Options{Logger: quiet()})
	if !errors.Is(err, model.ErrVersionMismatch) || !strings.Contains(err.Error(), "99") || !strings.Contains(err.Error(), "1") {
		t.Errorf("newer server: %v", err)
	}
	// The server's side: a client of another version.
	s := startServer(t, server.Options{})
	for _, kind := range []uint16{wire.StreamSoft, wire.StreamTCP} {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		p := wire.Preamble(99, kind)
		c.Write(p[:])
		if n, err := c.Read(make([]byte, 1)); n != 0 || err != io.EOF {
			t.Errorf("stream of another version: %d bytes, %v, want EOF", n, err)
		}
		c.Close()
	}
}

func TestBadOptions(t *testing.T) {
	s := startServer(t, server.Options{})
	for _, c := range []struct {
		opts Options
		want string
	}{
		{Options{Policy: "fastest"}, "fastest"},
		{Options{Transport: "ib"}, "ib"},
		{Options{Transport: "tcp", Policy: "offload"}, "offload"},
		{Options{Window: -1}, "-1"},
		{Options{ReadChannels: 1000}, "1000"},
		{Options{Collection: "a/b"}, "a/b"},
		{Options{HeartbeatInterval: time.Hour}, "1h"},
		{Options{CacheBytes: 100}, "100"},
		{Options{CacheBytes: 1 << 50}, "1125899906842624"},
		{Options{Policy: "offload", TrustCache: true}, "TrustCache"},
		{Options{Policy: "paper", Backoff: Backoff{N: -1}}, "N is -1, want 1 to"},
		{Options{Policy: "paper-literal", Backoff: Backoff{T: 1.1}}, "T is 1.1, want"},
		{Options{Policy: "cost", Backoff: Backoff{Predictor: "best"}}, `predictor "best", want one of latest`},
		{Options{Policy: "offload-cached", CacheBytes: -1, TrustCache: true}, "TrustCache"},
	} {
		c.opts.Logger = quiet()
		_, err := Dial(t.Context(), s.Addr(), c.opts)
		if !errors.Is(err, model.ErrOption) || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v", c.opts, err)
		}
	}
	plain := startServer(t, server.Options{Transports: []string{model.TransportSoft}})
	_, err := Dial(t.Context(), plain.Addr(), Options{Transport: model.TransportOFI, Logger: quiet()})
	if !errors.Is(err, model.ErrTransport) {
		t.Errorf("ofi: %v", err)
	}
	for _, c := range []server.Options{
		{Workers: -1}, {Workers: 1, WorkerPerConnection: true}, {HeartbeatInterval: time.Microsecond}, {Transports: []string{"ib"}},
		{Collections: []string{""}}, {NodeBytes: 1000}, {SlabBytes: 10}, {Strategy: 3}, {Strategy: -1},
	} {
		c.Logger = quiet()
		if srv, err := server.NewServer(c); err == nil {
			srv.Close()
			t.Errorf("%+v taken", c)
		}
	}
}

func TestPinnedTransportMissing(t *testing.T) {
	s := startServer(t, server.Options{Transports: []string{model.TransportSoft}})
	_, err := Dial(t.Context(), s.Addr(), Options{Transport: "shm", Logger: quiet()})
	if !errors.Is(err, model.ErrTransport) || !strings.Contains(err.Error(), "does not offer") {
		t.Errorf("%v", err)
	}
	c := dial(t, s, Options{})
	if i := c.Info(); i.Transport != model.TransportSoft || !strings.Contains(i.Reason, "not shm") {
		t.Errorf("auto chose %s because %q", i.Transport, i.Reason)
	}
	s = startServer(t, server.Options{})
	c = dial(t, s, Options{})
	if i := c.Info(); i.Transport != model.TransportSHM || i.Reason != "same host" {
		t.Errorf("auto chose %s because %q", i.Transport, i.Reason)
	}
}

func TestCollections(t *testing.T) {
	s := startServer(t, server.Options{Collections: []string{"roads"}})
	if got := s.Collections(); !slices.Equal(got, []string{"default", "roads"}) {
		t.Fatal(got)
	}
	for _, p := range paths() {
		c := dial(t, s, p.options())
		roads, err := c.Collection("roads")
		if err != nil {
			t.Fatal(err)
		}
		if err := roads.Insert(t.Context(), square(3, 3), 5); err != nil {
			t.Fatal(err)
		}
		if n, err := c.Count(t.Context(), square(3, 3)); n != 0 || err != nil {
			t.Errorf("%s: default holds %d, %v", p.name, n, err)
		}
		if ok, err := roads.Delete(t.Context(), square(3, 3), 5); !ok || err != nil {
			t.Errorf("%s: delete: %v, %v", p.name, ok, err)
		}
		none, err := c.Collection("none")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := none.Search(t.Context(), square(0, 0)); !errors.Is(err, model.ErrUnknownCollection) || !strings.Contains(err.Error(), "none") {
			t.Errorf("%s: %v", p.name, err)
		}
	}
}

// TestSlabFull: an insert into a full slab changes nothing, and its error names the option.
func TestSlabFull(t *testing.T) {
	s := startServer(t, server.Options{SlabBytes: 1 << 20})
	c := dial(t, s, Options{})
	items := make([]rstar.Item, 100_000)
	for i := range items {
		items[i] = rstar.Item{Rect: square(float64(i), 0), ID: uint64(i)}
	}
	n, err := c.InsertMany(t.Context(), items)
	if !errors.Is(err, rstar.ErrSlabFull) || !strings.Contains(err.Error(), "slab-bytes") {
		t.Fatalf("%d, %v", n, err)
	}
	if got := tree(t, s).Len(); got != n || n < 5000 {
		t.Errorf("InsertMany says %d, the tree has %d", n, got)
	}
	if err := c.Check(t.Context()); err != nil {
		t.Error(err)
	}
	if ok, err := c.Delete(t.Context(), items[0].Rect, 0); !ok || err != nil {
		t.Errorf("delete on a full slab: %v, %v", ok, err)
	}
}
