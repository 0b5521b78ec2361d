package rstar

import (
	"errors"
	"math"
	"math/rand/v2"
	"strings"
	"testing"
)

// TestCheckFinds provokes every class of damage that check.go lists.
func TestCheckFinds(t *testing.T) {
	root := func(tr *Tree) node { return tr.at(tr.tx.root) }
	child := func(tr *Tree, i int) node { return tr.at(uint32(root(tr).ref(i))) }
	freed := func(tr *Tree) node { return tr.at(tr.tx.freeChunks[0]) }
	for _, c := range []struct {
		name, finds string
		damage      func(tr *Tree)
	}{
		{"magic", "magic", func(tr *Tree) { tr.words[laneMeta]++ }},
		{"geometry", "node size", func(tr *Tree) { tr.words[2] += 1 << 32 }},
		{"capacity", "header is", func(tr *Tree) { tr.words[3]-- }},
		{"boot id", "header is", func(tr *Tree) { tr.words[4]++ }},
		{"header version", "odd", func(tr *Tree) { tr.words[headerDynamic]++ }},
		{"height", "header is", func(tr *Tree) { tr.words[headerDynamic+1] += 1 << 32 }},
		{"header count", "header is", func(tr *Tree) { tr.words[headerCount]++ }},
		{"moves", "header is", func(tr *Tree) { tr.words[headerDynamic+3]++ }},
		{"chunks used", "header is", func(tr *Tree) { tr.words[headerDynamic+4]++ }},
		{"odd version", "is odd", func(tr *Tree) { child(tr, 0)[0]++ }},
		{"line version", "line 3 has", func(tr *Tree) { child(tr, 0)[3*lanes] += 2 }},
		{"stamp", "stamp", func(tr *Tree) { child(tr, 1)[laneStamp] += 1 << 40 }},
		{"level", "says level 5", func(tr *Tree) {
			n := child(tr, 0)
			n[laneMeta] = packMeta(5, n.count(), n.chunk())
		}},
		{"chunk number", "chunk 9999", func(tr *Tree) {
			n := child(tr, 0)
			n[laneMeta] = packMeta(n.level(), n.count(), 9999)
		}},
		{"underfull", "fill: 4", func(tr *Tree) {
			n := child(tr, 0)
			for n.count() > 4 {
				n.remove(0)
			}
		}},
		{"overfull", "fill: 15", func(tr *Tree) { child(tr, 0).setCount(15) }},
		{"unused", "unused", func(tr *Tree) {
			n := child(tr, 0)
			n.setRef(n.count(), 1)
		}},
		{"loose box", "not tight", func(tr *Tree) {
			r := root(tr).rect(0)
			r.MaxX++
			root(tr).setRect(0, r)
		}},
		{"containment", "not tight", func(tr *Tree) {
			r := child(tr, 0).rect(0)
			r.MinX -= 5
			child(tr, 0).reframeLeaf(r)
			child(tr, 0).setRect(0, r)
		}},
		{"bad rectangle", "bad rectangle", func(tr *Tree) {
			r := child(tr, 0).rect(0)
			r.MinX = math.NaN()
			child(tr, 0).setLeafFrame(leafFrame{anywhere, anywhere})
			child(tr, 0).setRect(0, r)
		}},
		{"leaf frame", "frame", func(tr *Tree) { child(tr, 0)[laneFrameScale] = 49 * 0x1010101 }},
		{"leaf frame, half of it", "frame", func(tr *Tree) { child(tr, 0)[laneFrameScale] ^= 1 << 16 }},
		{"id bounds", "id bounds", func(tr *Tree) { child(tr, 0).setRef(0, 1<<50) }},
		{"reached twice", "reached twice", func(tr *Tree) {
			root(tr).setRef(1, root(tr).ref(0))
			root(tr).setRect(1, root(tr).rect(0))
		}},
		{"wild chunk", "reached at level", func(tr *Tree) { root(tr).setRef(0, 1<<20) }},
		{"lost", "lost", func(tr *Tree) { tr.tx.freeChunks = tr.tx.freeChunks[1:] }},
		{"free and reached", "reached before", func(tr *Tree) {
			tr.tx.freeChunks[0] = child(tr, 0).chunk()
		}},
		{"free twice", "reached before", func(tr *Tree) {
			tr.tx.freeChunks = append(tr.tx.freeChunks, tr.tx.freeChunks[0])
		}},
		{"free, never used", "never used", func(tr *Tree) { tr.tx.freeChunks[0] = 1 << 20 }},
		{"free in use", "free, but says", func(tr *Tree) {
			freed(tr)[laneMeta] = packMeta(0, 0, freed(tr).chunk())
		}},
		{"free odd", "is odd", func(tr *Tree) { freed(tr)[0]++ }},
		{"object count", "objects", func(tr *Tree) {
			tr.words[headerCount]++
			tr.tx.committed.count++
		}},
		{"node count", "nodes per level", func(tr *Tree) { tr.tx.committed.nodes[0]++ }},
	} {
		tr := damageable(t)
		c.damage(tr)
		err := tr.Check()
		if !errors.Is(err, ErrCheck) || !strings.Contains(err.Error(), c.finds) ||
			!strings.Contains(err.Error(), "chunk") {
			t.Errorf("%s: error is %q, want one about %q", c.name, err, c.finds)
		}
	}
}

// damageable returns a sound tree of two levels with a free chunk.
func damageable(t *testing.T) *Tree {
	tr := newTree(t, Options{NodeBytes: 704, SlabBytes: 1 << 20, Strategy: Original})
	items := spaces[0].draw(rand.New(rand.NewPCG(1, 2)), 80)
	for _, it := range items {
		mustInsert(t, tr, it)
	}
	for _, it := range items[:30] {
		mustDelete(t, tr, it)
	}
	mustCheck(t, tr)
	if len(tr.tx.freeChunks) == 0 || tr.Stats().Height != 2 ||
		tr.at(uint32(tr.at(tr.tx.root).ref(0))).count() == tr.fan(0) {
		t.Fatalf("not the tree that the test needs: %+v", tr.Stats())
	}
	return tr
}
