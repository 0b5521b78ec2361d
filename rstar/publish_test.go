package rstar

import (
	"bytes"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// TestPublishPathsAgree: the assembly routine and sync/atomic leave the same
// bytes, for every set of touched lines tried, and change only those.
func TestPublishPathsAgree(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	for _, nodeBytes := range nodeSizes {
		lines := nodeBytes / LineBytes
		tr := &Tree{}
		at := &Tree{portable: true}
		for range 300 {
			a, b := make([]uint64, nodeBytes/8+lanes), make([]uint64, nodeBytes/8+lanes)
			src := make([]uint64, nodeBytes/8)
			v := r.Uint64N(1<<40) * 2
			for i := range a {
				a[i] = r.Uint64()
				if i%lanes == 0 {
					a[i] = v
				}
				b[i] = a[i]
			}
			for i := range src {
				src[i] = r.Uint64()
			}
			touched := r.Uint64() & r.Uint64() & (1<<lines - 1)
			want := append([]uint64(nil), a...)
			for i := range src {
				if i%lanes == 0 {
					want[i] = v + 2
				} else if touched>>(i/lanes)&1 != 0 {
					want[i] = src[i]
				}
			}
			tr.publish(a, src, touched, lines)
			at.publish(b, src, touched, lines)
			if fmt.Sprint(a) != fmt.Sprint(want) || fmt.Sprint(b) != fmt.Sprint(want) {
				t.Fatalf("lines %d, touched %#x:\n%v\n%v\n%v", lines, touched, a, b, want)
			}
		}
	}
}

// TestTreesOfBothPathsAgree: one history gives the same slab on both paths.
func TestTreesOfBothPathsAgree(t *testing.T) {
	var slabs [2][]byte
	for i, portable := range []bool{false, true} {
		tr := newTree(t, Options{
			NodeBytes: 704, SlabBytes: 1 << 20, BootID: 3, PortableStores: portable,
		})
		items := spaces[2].draw(rand.New(rand.NewPCG(1, 2)), 900)
		if err := tr.Load(items[:300]); err != nil {
			t.Fatal(err)
		}
		for j, it := range items[300:] {
			mustInsert(t, tr, it)
			mustDelete(t, tr, items[j])
			if ok, err := tr.Update(it.Rect, box(it.Rect.MinX, 3, 0, 0), it.ID); !ok || err != nil {
				t.Fatal(ok, err)
			}
			items[300+j].Rect = box(it.Rect.MinX, 3, 0, 0)
		}
		mustCheck(t, tr)
		slabs[i] = bytes.Clone(tr.Memory())
	}
	if !bytes.Equal(slabs[0], slabs[1]) {
		t.Fatal("the slabs differ")
	}
}

// TestPublishTouchesLittle: an insert that moves nothing changes the data
// of few lines, and a change of id bounds alone no version.
func TestPublishTouchesLittle(t *testing.T) {
	tr := newTree(t, Options{})
	items := spaces[0].draw(rand.New(rand.NewPCG(1, 2)), 3000)
	for _, it := range items {
		mustInsert(t, tr, it)
	}
	root := tr.at(tr.tx.root)
	version, stamp, m := root[0], root[laneStamp], tr.Stats().Moves
	for id := uint64(1 << 32); tr.Stats().Moves == m; id++ {
		if root[0] != version || root[laneStamp] != stamp {
			t.Fatal("an insert inside the root's boxes published the root")
		}
		it := items[id%1000]
		mustInsert(t, tr, Item{it.Rect, id})
		if root.maxID() < id {
			t.Fatalf("id bounds end at %d, want %d", root.maxID(), id)
		}
	}
}

// TestPublishRaces reads a node line by line while it is published again and again:
// lines that all have one even version must be the node published as that version.
// Publication n sets all words of the lines that it touches to n: all lines if n is
// even, every other one if it is odd.
func TestPublishRaces(t *testing.T) {
	// Slower by this factor, a read is also torn that much more often.
	const nodeBytes, accepted = 3904, 2000 / (raceFactor * raceFactor)
	const lines = nodeBytes / LineBytes
	for _, portable := range []bool{false, true} {
		tr := &Tree{portable: portable, words: make([]uint64, nodeBytes/8)}
		var stop atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			src := make([]uint64, nodeBytes/8)
			for n := uint64(1); !stop.Load(); n++ {
				for i := range src {
					src[i] = n
				}
				touched := uint64(1<<lines - 1)
				if n%2 == 1 {
					touched &= 0x5555555555555555
				}
				tr.publish(tr.words, src, touched, lines)
			}
		})
		r := rand.New(rand.NewPCG(1, 2))
		last := uint64(0)
		for got := 0; got < accepted; {
			b := readLines(tr, 0, nodeBytes, r)
			if _, err := ViewNode(b, 0, 0, math.MaxUint64); errors.Is(err, ErrTorn) {
				continue
			}
			got++
			n := word(b, 0) / 2
			if n < last {
				t.Fatalf("version %d after %d", n, last)
			}
			last = n
			for i := range nodeBytes / 8 {
				want := n
				if line := i / lanes; n%2 == 1 && line%2 == 1 {
					want = n - 1
				}
				if i%lanes != 0 && word(b, i) != want {
					t.Fatalf("portable=%v: word %d of version %d is %d, want %d",
						portable, i, n, word(b, i), want)
				}
			}
		}
		stop.Store(true)
		wg.Wait()
	}
}

// TestTornInPlace: an object that moves within its leaf all the time is never
// seen partly at one place and partly at another.
func TestTornInPlace(t *testing.T) {
	here, there := box(0, 0, 1, 1), box(10, 10, 1, 1)
	for _, portable := range []bool{false, true} {
		tr := newTree(t, Options{PortableStores: portable, Memory: alignedHeap(1 << 20)})
		mustInsert(t, tr, Item{here, 1})
		var stop atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			for !stop.Load() {
				for _, step := range [][2]Rect{{here, there}, {there, here}} {
					if ok, err := tr.Update(step[0], step[1], 1); !ok || err != nil {
						t.Error(ok, err)
						return
					}
				}
			}
		})
		// Until readers and writer have met often, or for long enough.
		deadline := time.Now().Add(2 * time.Second)
		for n := 0; n < 1000 || tr.Stats().Retries < 500 && time.Now().Before(deadline); n++ {
			got := tr.SearchAppend(nil, plane, 0)
			if len(got) != 1 || got[0].Rect != here && got[0].Rect != there {
				t.Fatalf("portable=%v: found %v", portable, got)
			}
			tr.Nearest(5, 5, func(r Rect, _ uint64, _ float64) bool {
				if r != here && r != there {
					t.Fatalf("portable=%v: nearest is %v", portable, r)
				}
				return true
			})
		}
		stop.Store(true)
		wg.Wait()
	}
}

// TestPublishMarksLines: each line alone shows that it is being changed. A reader that
// got the header line early must not take a later line's new data for old.
func TestPublishMarksLines(t *testing.T) {
	const nodeBytes, meetings = 3904, 20000 / raceFactor
	const lines = nodeBytes / LineBytes
	for _, portable := range []bool{false, true} {
		tr := &Tree{portable: portable, words: make([]uint64, nodeBytes/8)}
		var stop atomic.Bool
		var wg sync.WaitGroup
		wg.Go(func() {
			src := make([]uint64, nodeBytes/8)
			for n := uint64(1); !stop.Load(); n++ {
				for i := range src {
					src[i] = n
				}
				tr.publish(tr.words, src, 1<<lines-1, lines)
			}
		})
		r := rand.New(rand.NewPCG(1, 2))
		// Until reader and writer have met often, or for long enough.
		deadline := time.Now().Add(2 * time.Second)
		for met := 0; met < meetings && time.Now().Before(deadline); {
			l := (1 + r.IntN(lines-1)) * lanes
			v := atomic.LoadUint64(&tr.words[0])
			for range r.IntN(400) { // let the writer proceed
				atomic.LoadUint64(&tr.words[0])
			}
			before := atomic.LoadUint64(&tr.words[l])
			data := atomic.LoadUint64(&tr.words[l+1+r.IntN(lanes-1)])
			after := atomic.LoadUint64(&tr.words[l])
			if v%2 == 0 && atomic.LoadUint64(&tr.words[0]) == v+1 {
				met++
			}
			if v%2 == 0 && before == v && after == v && data != v/2 {
				t.Fatalf("portable=%v: line %d of version %d holds %d, want %d",
					portable, l/lanes, v, data, v/2)
			}
		}
		stop.Store(true)
		wg.Wait()
	}
}
