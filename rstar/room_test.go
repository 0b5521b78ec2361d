package rstar

import (
	"cmp"
	"errors"
	"math/rand/v2"
	"testing"
)

// TestLoadRoom: exactly LoadRoom objects can be loaded.
func TestLoadRoom(t *testing.T) {
	for _, o := range []Options{
		{NodeBytes: 704, SlabBytes: 704 * minSlabChunks},
		{NodeBytes: 704, SlabBytes: 704 * 1000, Strategy: Original},
		{SlabBytes: 3 << 20},
	} {
		room := newTree(t, o).LoadRoom()
		items := spaces[0].draw(rand.New(rand.NewPCG(1, 2)), room+1)
		tr := newTree(t, o)
		if err := tr.Load(items); !errors.Is(err, ErrSlabFull) || tr.Len() != 0 {
			t.Errorf("%+v: %d objects: %v", o, room+1, err)
		}
		if err := tr.Load(items[:room]); err != nil {
			t.Errorf("%+v: %d objects: %v", o, room, err)
		}
		mustCheck(t, tr)
	}
	tr := newTree(t, Options{})
	if err := tr.Close(); err != nil || tr.LoadRoom() != 0 {
		t.Errorf("a closed tree has room for %d: %v", tr.LoadRoom(), err)
	}
}

// TestLoadNodes: loadNodes returns the numbers of nodes that Load makes.
func TestLoadNodes(t *testing.T) {
	tr := newTree(t, Options{NodeBytes: 704, SlabBytes: 32 << 20})
	for n := 1; n < 3000; n += 1 + n/20 {
		l := newTiling(tr, n)
		sum := 0
		for i := range l.parents {
			sum += l.leaves(i)
		}
		if leaves, _ := tr.loadNodes(n); leaves != sum {
			t.Fatalf("%d objects: %d leaves, want %d", n, leaves, sum)
		}
	}
	items := spaces[0].draw(rand.New(rand.NewPCG(3, 4)), 5000)
	if err := tr.Load(items); err != nil {
		t.Fatal(err)
	}
	_, all := tr.loadNodes(len(items))
	made := 0
	for _, n := range tr.Stats().Nodes {
		made += int(n)
	}
	if uint64(made) != all {
		t.Errorf("%d nodes, counted %d", made, all)
	}
}

// RoomFor keeps its promises: objects that it admits can be inserted, also where each
// object lies elsewhere, and it does not give up while there is much room.
func TestRoomFor(t *testing.T) {
	for _, o := range []Options{{NodeBytes: 704}, {NodeBytes: 704, Strategy: Original}, {}} {
		o.SlabBytes = 600 * int64(cmp.Or(o.NodeBytes, DefaultNodeBytes))
		tr := newTree(t, o)
		r := rand.New(rand.NewPCG(1, 2))
		for {
			n := 1 + r.IntN(20)
			if err := tr.RoomFor(n); err != nil {
				if !errors.Is(err, ErrSlabFull) {
					t.Fatal(err)
				}
				break
			}
			for range n {
				if err := tr.Insert(box(r.Float64(), r.Float64(), 0, 0), r.Uint64()); err != nil {
					t.Fatalf("after %d objects: %v", tr.Len(), err)
				}
			}
		}
		if st := tr.Stats(); st.UsedBytes < st.SlabBytes*7/10 {
			t.Errorf("%+v: it has no room with %d of %d bytes in use", o, st.UsedBytes, st.SlabBytes)
		}
	}
}
