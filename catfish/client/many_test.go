package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/fastmsg"
	"github.com/catfish-index/catfish/internal/querylog"
	"github.com/catfish-index/catfish/internal/querylog/querylogtest"
	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// collectMany runs SearchMany and checks that each is called in order.
func collectMany(ctx context.Context, c *Client, rects []rstar.Rect) ([][]rstar.Item, error) {
	var got [][]rstar.Item
	err := c.SearchMany(ctx, rects, func(i int, items []rstar.Item) error {
		if i != len(got) {
			return fmt.Errorf("answer %d after %d", i, len(got))
		}
		got = append(got, sorted(slices.Clone(items)))
		return nil
	})
	return got, err
}

// TestSearchMany: on every path, whatever the number of searches and the
// size of the rings, the answers are those of single searches.
func TestSearchMany(t *testing.T) {
	s := startServer(t, server.Options{RingBytes: fastmsg.MinRingBytes})
	r := rand.New(rand.NewPCG(1, 2))
	items := make([]rstar.Item, 3000)
	for i := range items {
		items[i] = rstar.Item{Rect: square(100*r.Float64(), 100*r.Float64()), ID: uint64(i)}
	}
	if err := tree(t, s).Load(items); err != nil {
		t.Fatal(err)
	}
	all := rstar.Rect{MinX: -1, MinY: -1, MaxX: 999, MaxY: 999}
	nothing := square(-50, -50)
	rects := []rstar.Rect{nothing, all}
	for len(rects) < 5*wire.MaxMany/2 {
		rects = append(rects, square(100*r.Float64(), 100*r.Float64()))
	}
	rects[100], rects[101] = all, all
	want := make([][]rstar.Item, len(rects))
	for i, q := range rects {
		want[i] = sorted(tree(t, s).SearchAppend(nil, q, 0))
	}
	for _, p := range paths() {
		t.Run(p.name, func(t *testing.T) {
			opts := p.options()
			opts.RingBytes = fastmsg.MinRingBytes
			c := dial(t, s, opts)
			for _, n := range []int{0, 1, 2, 31, 32, wire.MaxMany, wire.MaxMany + 1, len(rects)} {
				before := c.Counters()
				got, err := collectMany(t.Context(), c, rects[:n])
				if err != nil || len(got) != n {
					t.Fatalf("%d of %d answers, %v", len(got), n, err)
				}
				for i := range got {
					if !slices.Equal(got[i], want[i]) {
						t.Fatalf("search %d of %d, %v: %d items, want %d", i, n, rects[i], len(got[i]), len(want[i]))
					}
				}
				after := c.Counters()
				if d := after.FastSearches + after.OffloadedSearches - before.FastSearches - before.OffloadedSearches; d != uint64(n) {
					t.Fatalf("%d searches counted, want %d", d, n)
				}
				most := (n/wire.MaxMany + 1) * (wire.MaxMany/31 + 1) // the ring takes 31 a message
				if trips := after.RoundTrips - before.RoundTrips; strings.HasSuffix(p.name, "fast") && trips > uint64(most) {
					t.Fatalf("%d round trips for %d searches", trips, n)
				}
			}
		})
	}
}

// TestSearchManyLarge: searches whose answers together exceed one message are
// answered by as many messages as necessary.
func TestSearchManyLarge(t *testing.T) {
	s := startServer(t, server.Options{})
	items := make([]rstar.Item, wire.ManyBytes/wire.ItemBytes*3/4)
	for i := range items {
		items[i] = rstar.Item{Rect: square(float64(i), 0), ID: uint64(i)}
	}
	if err := tree(t, s).Load(items); err != nil {
		t.Fatal(err)
	}
	all := rstar.Rect{MinX: -1, MinY: -1, MaxX: 1e9, MaxY: 9}
	few := square(5.5, 0)
	for _, p := range paths() {
		t.Run(p.name, func(t *testing.T) {
			c := dial(t, s, p.options())
			rects := []rstar.Rect{few, all, all, few, all, few, few}
			got, err := collectMany(t.Context(), c, rects)
			if err != nil {
				t.Fatal(err)
			}
			for i, q := range rects {
				want := 2
				if q == all {
					want = len(items)
				}
				if len(got[i]) != want {
					t.Errorf("search %d: %d items, want %d", i, len(got[i]), want)
				}
			}
		})
	}
}

// TestSearchManyErrors: which errors end a SearchMany, and which answers are handed out.
func TestSearchManyErrors(t *testing.T) {
	s := startServer(t, server.Options{})
	if err := tree(t, s).Insert(square(0, 0), 1); err != nil {
		t.Fatal(err)
	}
	for _, p := range paths() {
		c := dial(t, s, p.options())
		rects := make([]rstar.Rect, 20*wire.MaxMany)
		for i := range rects {
			rects[i] = square(0, 0)
		}
		enough := errors.New("enough")
		for _, stop := range []int{0, wire.MaxMany - 1, wire.MaxMany, 3*wire.MaxMany + 7} {
			calls := 0
			err := c.SearchMany(t.Context(), rects, func(i int, items []rstar.Item) error {
				calls++
				if i == stop {
					return enough
				}
				return nil
			})
			if err != enough || calls != stop+1 {
				t.Errorf("%s: stopped at %d: %v after %d calls", p.name, stop, err, calls)
			}
		}
		ctx, cancel := context.WithCancel(t.Context())
		calls := 0
		err := c.SearchMany(ctx, rects, func(i int, items []rstar.Item) error {
			if calls++; i == 5 {
				cancel()
			}
			return nil
		})
		// The answers that had arrived are handed out.
		want := fmt.Sprintf("search %d:", calls)
		if !errors.Is(err, context.Canceled) || !strings.Contains(err.Error(), want) || calls%wire.MaxMany != 0 {
			t.Errorf("%s: cancelled: %v after %d calls", p.name, err, calls)
		}
		rects[wire.MaxMany+3].MinX = math.NaN()
		err = c.SearchMany(t.Context(), rects, func(int, []rstar.Item) error {
			t.Errorf("%s: an answer before the rectangles were looked at", p.name)
			return nil
		})
		if !errors.Is(err, rstar.ErrBadRect) || !strings.Contains(err.Error(), "search 259 of 5120") || !strings.Contains(err.Error(), "NaN") {
			t.Errorf("%s: bad rectangle: %v", p.name, err)
		}
		// Search within each, and the client still works.
		if err := c.SearchMany(t.Context(), rects[:3], func(i int, items []rstar.Item) error {
			n, err := c.Count(t.Context(), square(0, 0))
			if err != nil || n != len(items) {
				return fmt.Errorf("count %d in answer %d of %d items: %w", n, i, len(items), err)
			}
			return nil
		}); err != nil {
			t.Errorf("%s: %v", p.name, err)
		}
	}
}

// TestSearchManyReconnects: a connection that is lost in the middle repeats
// no answer that was handed out, and skips none.
func TestSearchManyReconnects(t *testing.T) {
	s := startServer(t, server.Options{})
	if err := tree(t, s).Insert(square(0, 0), 1); err != nil {
		t.Fatal(err)
	}
	for _, tr := range oneSided {
		for _, policy := range []string{"fast", "fast-polling", "offload"} {
			c := dial(t, s, Options{Transport: tr, Policy: policy})
			rects := make([]rstar.Rect, 40*wire.MaxMany)
			for i := range rects {
				rects[i] = square(0, 0)
			}
			next := 0
			err := c.SearchMany(t.Context(), rects, func(i int, items []rstar.Item) error {
				if i != next || len(items) != 1 {
					t.Fatalf("%s, %s: answer %d with %d items, want %d with 1", tr, policy, i, len(items), next)
				}
				if next++; next == wire.MaxMany/2 || next == 20*wire.MaxMany {
					c.conn.sessions.latest().caller.Close()
				}
				return nil
			})
			if err != nil || next != len(rects) || c.Counters().Reconnects == 0 {
				t.Errorf("%s, %s: %v after %d answers, %d reconnects", tr, policy, err, next, c.Counters().Reconnects)
			}
		}
	}
}

// TestSearchesBesideWrites: clients whose searches the worker makes together
// each see their own writes, in order, and no object that does not exist.
func TestSearchesBesideWrites(t *testing.T) {
	s := startServer(t, server.Options{Workers: 1, Collections: []string{"other"}})
	const clients, rounds = 12, 60
	for _, tr := range oneSided {
		var group sync.WaitGroup
		for k := range clients {
			c := dial(t, s, Options{Transport: tr, Policy: "fast"})
			if k%4 == 3 {
				var err error
				if c, err = c.Collection("other"); err != nil {
					t.Fatal(err)
				}
			}
			group.Go(func() {
				at := square(float64(10*k), 0)
				for i := range rounds {
					id := uint64(k*rounds + i)
					if err := c.Insert(t.Context(), at, id); err != nil {
						t.Error(err)
						return
					}
					got, err := collectMany(t.Context(), c, []rstar.Rect{at, square(-50, 0), at})
					if err != nil || len(got[0]) != 1 || got[0][0].ID != id || len(got[1]) != 0 || len(got[2]) != 1 {
						t.Errorf("client %d, round %d: %v, %v", k, i, got, err)
						return
					}
					one, err := c.Search(t.Context(), at)
					if err != nil || len(one) != 1 || one[0].ID != id {
						t.Errorf("client %d, round %d: %v, %v", k, i, one, err)
						return
					}
					if ok, err := c.Delete(t.Context(), at, id); err != nil || !ok {
						t.Errorf("client %d, round %d: delete %v, %v", k, i, ok, err)
						return
					}
				}
			})
		}
		group.Wait()
	}
}

// TestSearchBatchMatchesSingleSearches: searches that a worker finds ready at once are
// answered like single ones: valid, malformed and empty ones, large ones and those with a
// limit, of two collections.
func TestSearchBatchMatchesSingleSearches(t *testing.T) {
	for _, tr := range oneSided {
		file := filepath.Join(t.TempDir(), "log")
		s, stop := recordingServer(t, server.RecordOptions{File: file})
		items := make([]rstar.Item, wire.ManyBytes/wire.ItemBytes*3/4)
		for i := range items {
			items[i] = rstar.Item{Rect: square(float64(i), 0), ID: uint64(i)}
		}
		if err := tree(t, s).Load(items); err != nil {
			t.Fatal(err)
		}
		all := rstar.Rect{MinX: -1, MinY: -1, MaxX: 1e9, MaxY: 9}
		bad := rstar.Rect{MinX: math.NaN()}
		cases := []struct {
			coll, limit uint32
			rect        rstar.Rect
			found       int
			err         error
		}{
			{0, 0, square(5.5, 0), 2, nil},
			{0, 0, bad, 0, rstar.ErrBadRect},
			{0, 0, all, len(items), nil},
			{0, 0, all, len(items), nil},
			{0, 3, all, 3, nil},
			{1, 0, all, 0, nil},
			{1, 0, square(0, 0), 0, nil},
			{77, 0, square(0, 0), 0, model.ErrUnknownCollection},
			{0, 0, square(-9, -9), 0, nil},
			{0, 0, square(7.5, 0), 2, nil},
		}
		var clients []*Client
		for range 3 {
			clients = append(clients, dial(t, s, Options{Transport: tr, Policy: "fast"}))
		}
		s.PauseWorkers()
		var group sync.WaitGroup
		for _, c := range clients {
			for range 4 {
				for i, k := range cases {
					group.Go(func() {
						p := wire.AppendRect(wire.AppendHead(nil, k.coll, k.limit), k.rect)
						b, err := RawCall(t.Context(), c, wire.RawMessage{Kind: wire.KindSearch, Body: p})
						if !errors.Is(err, k.err) || len(b) != k.found*wire.ItemBytes {
							t.Errorf("%s: case %d: %d bytes, %v", tr, i, len(b), err)
						}
					})
				}
			}
		}
		s.ResumeWorkers()
		group.Wait()
		if err := stop(); err != nil {
			t.Fatal(err)
		}
		asked, _, lost := querylogtest.ReadFile(t, file)
		good := 0
		for _, k := range cases {
			if k.err == nil {
				good++
			}
		}
		if want := len(clients) * 4 * good; len(asked) != want || lost != 0 {
			t.Errorf("%s: %d searches recorded, %d lost, want %d", tr, len(asked), lost, want)
		}
	}
}

// TestRecordMany: each search of a SearchMany is recorded once, with its results.
func TestRecordMany(t *testing.T) {
	file := filepath.Join(t.TempDir(), "log")
	s, stop := recordingServer(t, server.RecordOptions{File: file})
	items := make([]rstar.Item, wire.ManyBytes/wire.ItemBytes*3/4)
	for i := range items {
		items[i] = rstar.Item{Rect: square(float64(i), 0), ID: uint64(i)}
	}
	if err := tree(t, s).Load(items); err != nil {
		t.Fatal(err)
	}
	all := rstar.Rect{MinX: -1, MinY: -1, MaxX: 1e9, MaxY: 9}
	rects := []rstar.Rect{square(0.5, 0), all, all, square(-9, 0)}
	found := []int{2, len(items), len(items), 0}
	ways := 0
	for _, p := range paths() {
		if p.policy != "fast" && p.policy != "tcp" {
			continue
		}
		ways++
		if _, err := collectMany(t.Context(), dial(t, s, p.options()), rects); err != nil {
			t.Fatal(err)
		}
	}
	if err := stop(); err != nil {
		t.Fatal(err)
	}
	asked, _, lost := querylogtest.ReadFile(t, file)
	if len(asked) != ways*len(rects) || lost != 0 {
		t.Fatalf("%d records, %d lost, want %d", len(asked), lost, ways*len(rects))
	}
	for i, rec := range asked {
		k := i % len(rects)
		if rec.Kind != querylog.Search || rec.Rect != rects[k] || rec.Found != uint32(found[k]) || rec.Limit != 0 {
			t.Errorf("record %d: %+v, want %v with %d", i, rec, rects[k], found[k])
		}
	}
}

// TestGetCounts: which answers to searchMany a client accepts.
func TestGetCounts(t *testing.T) {
	build := func(items int, counts ...uint32) []byte {
		var b []byte
		for _, n := range counts {
			b = binary.LittleEndian.AppendUint32(b, n)
		}
		return append(b, make([]byte, items*wire.ItemBytes)...)
	}
	const no = wire.Unanswered
	for _, k := range []struct {
		b    []byte
		n    int
		want []uint32 // nil: ErrProtocol
	}{
		{build(3, 1, 2), 2, []uint32{1, 2}},
		{build(1, 1, no, no), 3, []uint32{1}},
		{build(0, 0), 1, []uint32{0}},
		{build(0), 1, nil},
		{build(0, 0)[:3], 1, nil},
		{build(0, no), 1, nil},
		{build(1, no, 1), 2, nil},
		{build(2, 1, no, 1), 3, nil},
		{build(2, 1), 1, nil},
		{build(0, 1), 1, nil},
		{build(1, 1)[:40], 1, nil},
		{build(0, no-1, no-1), 2, nil},
	} {
		got, items, err := getCounts(nil, k.b, k.n)
		if k.want == nil {
			if !errors.Is(err, model.ErrProtocol) {
				t.Errorf("%x for %d: %v, %v", k.b, k.n, got, err)
			}
			continue
		}
		if err != nil || !slices.Equal(got, k.want) || len(items)%wire.ItemBytes != 0 {
			t.Errorf("%x for %d: %v, %v", k.b, k.n, got, err)
		}
	}
}

// FuzzMany: any answer to searchMany is taken or refused, without panic.
func FuzzMany(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 255, 255, 255, 255}, 2)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		n = 1 + int(uint(n)%wire.MaxMany)
		counts, items, err := getCounts(nil, b, n)
		total := 0
		for _, k := range counts {
			total += int(k)
		}
		if err == nil && (len(counts) == 0 || total*wire.ItemBytes != len(items)) {
			t.Fatalf("%x for %d: %v, %d bytes of items", b, n, counts, len(items))
		}
	})
}

// manyBench is what the benchmarks of one search and of 64 share.
func manyBench(b *testing.B, search func(c *Client, rects []rstar.Rect) error) {
	s := startServer(b, server.Options{SlabBytes: 512 << 20, Transports: []string{model.TransportSHM}})
	r := rand.New(rand.NewPCG(1, 1))
	items := make([]rstar.Item, 2_000_000)
	for i := range items {
		x, y := r.Float64(), r.Float64()
		items[i] = rstar.Item{Rect: rstar.Rect{MinX: x, MinY: y, MaxX: x + 1e-5, MaxY: y + 1e-5}, ID: uint64(i)}
	}
	if err := tree(b, s).Load(items); err != nil {
		b.Fatal(err)
	}
	c := dial(b, s, Options{Transport: model.TransportSHM, Policy: "fast"})
	rects := make([]rstar.Rect, 1<<16)
	for i := range rects {
		x, y := r.Float64(), r.Float64()
		rects[i] = rstar.Rect{MinX: x, MinY: y, MaxX: x + 1e-5, MaxY: y + 1e-5}
	}
	b.ReportAllocs()
	b.ResetTimer()
	for at := 0; at < b.N; at += 64 {
		if err := search(c, rects[at%len(rects):][:64]); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkMany: 64 searches over shared memory, alone and sequential,
// alone and concurrent, and together. Times are of one search.
func BenchmarkMany(b *testing.B) {
	b.Run("way=alone", func(b *testing.B) {
		var dst []rstar.Item
		manyBench(b, func(c *Client, rects []rstar.Rect) (err error) {
			for _, q := range rects {
				if dst, err = c.SearchAppend(b.Context(), dst[:0], q, 0); err != nil {
					return err
				}
			}
			return nil
		})
	})
	b.Run("way=goroutines", func(b *testing.B) {
		manyBench(b, func(c *Client, rects []rstar.Rect) error {
			var group sync.WaitGroup
			for k := range 16 {
				group.Go(func() {
					for _, q := range rects[4*k : 4*k+4] {
						if _, err := c.SearchAppend(b.Context(), nil, q, 0); err != nil {
							b.Error(err)
						}
					}
				})
			}
			group.Wait()
			return nil
		})
	})
	b.Run("way=together", func(b *testing.B) {
		manyBench(b, func(c *Client, rects []rstar.Rect) error {
			return c.SearchMany(b.Context(), rects, func(int, []rstar.Item) error { return nil })
		})
	})
}
