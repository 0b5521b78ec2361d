package rstar

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
)

func TestOptions(t *testing.T) {
	aligned := alignedHeap(1 << 20)
	for _, c := range []struct {
		name  string
		o     Options
		names string // text in the error; empty: no error
	}{
		{"zero", Options{}, ""},
		{"smallest", Options{NodeBytes: 704, SlabBytes: 256 * 704}, ""},
		{"largest", Options{NodeBytes: 3904}, ""},
		{"memory", Options{Memory: aligned}, ""},
		{"too small a node", Options{NodeBytes: 384}, "nodes of 384 bytes"},
		{"too large a node", Options{NodeBytes: 4224}, "nodes of 4224 bytes"},
		{"odd node", Options{NodeBytes: 2048}, "64*(1+5k)"},
		{"negative node", Options{NodeBytes: -704}, "nodes of -704 bytes"},
		{"small slab", Options{SlabBytes: 4096}, "slab of 4096 bytes, want 507904"},
		{"negative slab", Options{SlabBytes: -1}, "slab of -1 bytes"},
		{"huge slab", Options{SlabBytes: math.MaxInt64}, "slab of 9223372036854775807 bytes"},
		{"small memory", Options{Memory: aligned[:64]}, "slab of 64 bytes"},
		{"empty memory", Options{Memory: []byte{}}, "slab of 0 bytes"},
		{"unaligned memory", Options{Memory: aligned[8:]}, "multiple of 64"},
	} {
		tr, err := New(c.o)
		if c.names == "" {
			if err != nil {
				t.Errorf("%s: %v", c.name, err)
				continue
			}
			if tr.BootID() == 0 || tr.NodeBytes() == 0 || len(tr.Memory()) == 0 {
				t.Errorf("%s: %d, %d, %d", c.name, tr.BootID(), tr.NodeBytes(), len(tr.Memory()))
			}
			mustCheck(t, tr)
			if err := tr.Close(); err != nil {
				t.Error(err)
			}
		} else if !errors.Is(err, ErrBadOptions) || !strings.Contains(err.Error(), c.names) {
			t.Errorf("%s: error is %v, want one with %q", c.name, err, c.names)
		}
	}
}

func TestBadRects(t *testing.T) {
	tr := newTree(t, Options{})
	good := box(0, 0, 1, 1)
	mustInsert(t, tr, Item{good, 1})
	nan, inf := math.NaN(), math.Inf(1)
	for _, r := range []Rect{
		{nan, 0, 1, 1}, {0, nan, 1, 1}, {0, 0, nan, 1}, {0, 0, 1, nan},
		{-inf, 0, 1, 1}, {0, 0, inf, 1}, {2, 0, 1, 1}, {0, 2, 1, 1},
	} {
		_, del := tr.Delete(r, 1)
		_, from := tr.Update(r, good, 1)
		_, to := tr.Update(good, r, 1)
		for i, err := range []error{
			tr.Insert(r, 2), del, from, to, newTree(t, Options{}).Load([]Item{{good, 1}, {r, 2}}),
		} {
			if !errors.Is(err, ErrBadRect) {
				t.Errorf("%v, call %d: error is %v", r, i, err)
			}
		}
		tr.Nearest(nan, 0, func(Rect, uint64, float64) bool {
			t.Error("Nearest of NaN found something")
			return false
		})
		if q := (Rect{nan, nan, nan, nan}); tr.Count(q) != 0 {
			t.Error("Count of NaN found something")
		}
	}
	mustCheck(t, tr)
	if tr.Len() != 1 || tr.Count(good) != 1 {
		t.Fatal("a bad rectangle changed the tree")
	}
}

// TestSlabFull: a full slab refuses inserts, moves and loads, with an error
// that gives its size and the option, changes nothing, and still permits
// every delete.
func TestSlabFull(t *testing.T) {
	const slab = 256 * 704
	tr := newTree(t, Options{NodeBytes: 704, SlabBytes: slab})
	r := rand.New(rand.NewPCG(1, 2))
	var items []Item
	var err error
	for {
		it := Item{spaces[0].rect(r), uint64(len(items))}
		if err = tr.Insert(it.Rect, it.ID); err != nil {
			break
		}
		items = append(items, it)
	}
	full := func(err error) {
		t.Helper()
		if !errors.Is(err, ErrSlabFull) || !strings.Contains(err.Error(), "180224") ||
			!strings.Contains(err.Error(), "--slab-bytes") {
			t.Fatalf("error is %v", err)
		}
	}
	full(err)
	mustCheck(t, tr)
	sameAnswers(t, tr, items, plane)
	refused := 0
	for i := range items {
		to := spaces[0].rect(r)
		ok, err := tr.Update(items[i].Rect, to, items[i].ID)
		if err == nil && ok {
			items[i].Rect = to
			continue
		}
		full(err)
		refused++
	}
	if refused == 0 {
		t.Fatal("no Update was refused")
	}
	mustCheck(t, tr)
	sameAnswers(t, tr, items, plane)
	r.Shuffle(len(items), func(i, j int) { items[i], items[j] = items[j], items[i] })
	for i, it := range items {
		mustDelete(t, tr, it)
		if i%100 == 0 {
			mustCheck(t, tr)
		}
	}
	full(tr.Load(spaces[0].draw(r, 14*256)))
	mustCheck(t, tr)
	items = spaces[0].draw(r, 14*150)
	if err := tr.Load(items); err != nil {
		t.Fatal(err)
	}
	mustCheck(t, tr)
	sameAnswers(t, tr, items, plane)
	if err := tr.Load(items); !errors.Is(err, ErrNotEmpty) {
		t.Fatalf("second Load: %v", err)
	}
}

func TestClose(t *testing.T) {
	own := alignedHeap(1 << 20)
	for _, o := range []Options{{}, {Memory: own}} {
		tr, err := New(o)
		if err != nil {
			t.Fatal(err)
		}
		items := spaces[0].draw(rand.New(rand.NewPCG(1, 2)), 500)
		if err := tr.Load(items); err != nil {
			t.Fatal(err)
		}
		// Closing inside a yield: objects already collected are still yielded.
		n := 0
		tr.Search(plane, func(Rect, uint64) bool {
			if n++; n == 1 {
				if err := tr.Close(); err != nil {
					t.Error(err)
				}
			}
			return true
		})
		if n != len(items) {
			t.Errorf("%d objects, want %d", n, len(items))
		}
		it := items[0]
		_, del := tr.Delete(it.Rect, it.ID)
		_, upd := tr.Update(it.Rect, it.Rect, it.ID)
		for i, err := range []error{
			tr.Insert(it.Rect, 1), del, upd, tr.Load(items), tr.Check(),
		} {
			if !errors.Is(err, ErrClosed) {
				t.Errorf("call %d: error is %v", i, err)
			}
		}
		if tr.Len() != 0 || tr.Count(plane) != 0 || len(tr.SearchAppend(nil, plane, 0)) != 0 ||
			len(search(tr, plane)) != 0 || tr.Memory() != nil {
			t.Error("a closed tree found something")
		}
		tr.Nearest(0, 0, func(Rect, uint64, float64) bool {
			t.Error("a closed tree has a nearest")
			return false
		})
		if err := tr.Close(); err != nil {
			t.Errorf("second Close: %v", err)
		}
	}
}

// TestCloseUnderLoad: no goroutine touches the slab after it was unmapped; a fault
// would end the test program.
func TestCloseUnderLoad(t *testing.T) {
	for seed := range uint64(20) {
		tr, err := New(Options{SlabBytes: 1 << 20})
		if err != nil {
			t.Fatal(err)
		}
		items := spaces[0].draw(rand.New(rand.NewPCG(seed, 2)), 300)
		for _, it := range items {
			mustInsert(t, tr, it)
		}
		var wg sync.WaitGroup
		ready := make(chan struct{}, 3)
		for _, f := range []func() bool{
			func() bool { return tr.Count(plane) > 0 },
			func() bool {
				n := 0
				tr.Nearest(0, 0, func(Rect, uint64, float64) bool { n++; return true })
				return n > 0
			},
			func() bool {
				_, err := tr.Update(items[0].Rect, items[0].Rect, 0)
				return !errors.Is(err, ErrClosed)
			},
		} {
			wg.Go(func() {
				for first := true; f(); first = false {
					if first {
						ready <- struct{}{}
					}
				}
			})
		}
		for range 3 {
			<-ready
		}
		if err := tr.Close(); err != nil {
			t.Error(err)
		}
		wg.Wait()
	}
}

func TestSearchStops(t *testing.T) {
	tr := newTree(t, Options{})
	items := spaces[0].draw(rand.New(rand.NewPCG(1, 2)), 500)
	if err := tr.Load(items); err != nil {
		t.Fatal(err)
	}
	n := 0
	tr.Search(plane, func(r Rect, id uint64) bool {
		n++
		mustInsert(t, tr, Item{r, id + 1000}) // a yield may write
		return n < 7
	})
	m := 0
	tr.Nearest(0.5, 0.5, func(Rect, uint64, float64) bool { m++; return m < 9 })
	if n != 7 || m != 9 || tr.Len() != 507 {
		t.Fatalf("%d, %d, %d objects, want 7, 9, 507", n, m, tr.Len())
	}
}

func TestStats(t *testing.T) {
	tr := newTree(t, Options{NodeBytes: 704, SlabBytes: 1 << 20})
	items := spaces[0].draw(rand.New(rand.NewPCG(1, 2)), 400)
	if err := tr.Load(items); err != nil {
		t.Fatal(err)
	}
	tr.Count(plane)
	tr.Search(Rect{-2, -2, -1, -1}, func(Rect, uint64) bool { return true })
	st := tr.Stats()
	nodes := 2*15 + 2 + 1 // 400/(14*28) parents, 200/14 leaves each, rounded up
	if st.Len != 400 || st.Height != 3 || len(st.Nodes) != 3 || st.Nodes[0] != 30 ||
		st.Nodes[1] != 2 || st.Nodes[2] != 1 || st.Fill[0] != 400.0/(30*14) ||
		st.Fill[2] != 2.0/28 || st.NodeBytes != 704 || st.Fanout != 14 || st.InnerFanout != 28 ||
		st.SlabBytes != 1<<20/704*704 || st.UsedBytes != int64(nodes+1)*704 ||
		st.BytesPerEntry != float64(st.UsedBytes)/400 ||
		st.Searches != 2 || st.NodeReads != uint64(nodes)+1 || st.Moves != 2 {
		t.Fatalf("%+v", st)
	}
}
