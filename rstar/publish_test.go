package rstar

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"
)

// TestPublishPathsAgree: the assembly routine and sync/atomic leave the
// same bytes, for every set of touched lines tried, and only those.
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

// TestTreesOfBothPathsAgree: one history gives the same slab by both.
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
