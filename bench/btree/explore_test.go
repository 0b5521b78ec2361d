package btree

import (
	"errors"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/catfish-index/catfish/internal/lines"
	"github.com/catfish-index/catfish/offload"
)

// read is one read of a walk in flight: its lines arrive one by one, in any order.
type read struct {
	ref   offload.Ref
	block [NodeBytes]byte
	left  []int // offsets of lines that have not arrived
}

// exploredKeys is the number of keys that the writer uses.
const exploredKeys = 8000

// stepped is a walk whose reads advance between single stores of the writer.
type stepped struct {
	t        testing.TB
	tree     *Tree
	rng      *rand.Rand
	walk     *Walk
	from, to uint64
	reads    []*read
	torn     int
	// steady are the keys that existed from the beginning on; ever those that existed
	// at some time.
	steady, ever [exploredKeys]bool
	putting      uint64 // the last key that was put
}

func (s *stepped) begin(keys *[exploredKeys]bool) {
	s.from = s.rng.Uint64N(exploredKeys)
	s.to = s.from + s.rng.Uint64N(1500)
	s.walk.Reset(s.from, s.to)
	s.steady, s.ever = *keys, *keys
	s.ever[s.putting] = true
}

// advance lets a line arrive, and reports whether the walk has ended.
func (s *stepped) advance() bool {
	for len(s.reads) < Window {
		ref, ok, err := s.walk.Next()
		if err != nil {
			s.t.Fatal(err)
		}
		if !ok {
			break
		}
		s.reads = append(s.reads, s.fresh(ref))
	}
	if len(s.reads) == 0 {
		return true
	}
	i := s.rng.IntN(len(s.reads))
	r := s.reads[i]
	at := r.left[0]
	lines.Copy(r.block[at:at+lines.Bytes], s.tree.mem[int(r.ref.Offset)+at:])
	if r.left = r.left[1:]; len(r.left) > 0 {
		return false
	}
	v, err := s.walk.Visit(r.ref, r.block[:])
	if err != nil {
		s.t.Fatal(err)
	}
	if v == offload.Retry {
		s.torn++
		s.reads[i] = s.fresh(r.ref)
		return false
	}
	s.reads = slices.Delete(s.reads, i, i+1)
	return false
}

func (s *stepped) fresh(ref offload.Ref) *read {
	r := &read{ref: ref}
	for _, l := range s.rng.Perm(NodeBytes / lines.Bytes) {
		r.left = append(r.left, l*lines.Bytes)
	}
	return r
}

// check compares what the walk found with what it promises.
func (s *stepped) check() {
	items := s.walk.Items()
	var found [exploredKeys]bool
	for i, it := range items {
		if i > 0 && items[i-1].Key >= it.Key {
			s.t.Fatalf("key %d comes after %d", it.Key, items[i-1].Key)
		}
		if it.Key >= exploredKeys || !s.ever[it.Key] || it.Value != ^it.Key || it.Key < s.from || it.Key > s.to {
			s.t.Fatalf("keys %d to %d: found %+v, which never existed", s.from, s.to, it)
		}
		found[it.Key] = true
	}
	for k := s.from; k <= min(s.to, exploredKeys-1); k++ {
		if s.steady[k] && !found[k] {
			s.t.Fatalf("keys %d to %d: key %d existed all the time, and was not found", s.from, s.to, k)
		}
	}
}

// TestInterleaved: range reads whose lines arrive between single stores of a writer keep
// what they promise, through splits of leaves, of inner nodes and of the root.
func TestInterleaved(t *testing.T) {
	scans, torn := 0, 0
	for seed := range uint64(3) {
		tree, err := New(make([]byte, 400*NodeBytes))
		if err != nil {
			t.Fatal(err)
		}
		rng := rand.New(rand.NewPCG(seed, 1))
		s := &stepped{t: t, tree: tree, rng: rng, walk: NewWalk(tree.Chunks())}
		keys := &[exploredKeys]bool{}
		s.begin(keys)
		end := func() {
			s.check()
			scans++
			s.begin(keys)
		}
		tree.onStore = func() {
			n := rng.IntN(2)
			if chunk := uint32(word(tree.scratch[:], offMeta) >> 32); word(tree.at(chunk), 0)&1 == 0 && rng.IntN(10) == 0 {
				n = rng.IntN(1000) // after a node, before the next one: whole walks
			}
			for range n {
				if s.advance() {
					end()
				}
			}
		}
		for range 6000 {
			k := rng.Uint64N(exploredKeys)
			if keys[k] && rng.IntN(4) == 0 {
				s.steady[k], keys[k] = false, false
				if was, err := tree.Delete(k); err != nil || !was {
					t.Fatal(was, err)
				}
				continue
			}
			s.putting, s.ever[k] = k, true // Walks may see it from now on.
			if err := tree.Put(k, ^k); err != nil {
				t.Fatal(err)
			}
			keys[k] = true // Walks that began during the Put may miss it.
		}
		for !s.advance() {
		}
		s.check()
		torn += s.torn
		if n := (node{}); n.parse(tree.at(rootChunk), rootChunk, -1, tree.chunks) != nil || n.level < 2 {
			t.Errorf("%d levels: no inner node was split", n.level+1)
		}
	}
	t.Logf("%d range reads, %d torn nodes", scans, torn)
	if scans < 500 || torn < 500 {
		t.Errorf("%d range reads, %d torn nodes: too few to show anything", scans, torn)
	}
}

// TestHostile: whatever the memory holds, walks end, without a panic, and keys ascend.
func TestHostile(t *testing.T) {
	tree, err := New(make([]byte, 64*NodeBytes))
	if err != nil {
		t.Fatal(err)
	}
	for k := range uint64(1200) {
		if err := tree.Put(k, k); err != nil {
			t.Fatal(err)
		}
	}
	good := slices.Clone(tree.mem)
	rng := rand.New(rand.NewPCG(3, 4))
	refused := 0
	for range 3000 {
		copy(tree.mem, good)
		for range 1 + rng.IntN(3) {
			at := int(1+rng.Uint32N(tree.used-1))*NodeBytes + 8*rng.IntN(NodeBytes/8)
			v := word(tree.mem, at) ^ 1<<rng.IntN(64)
			if rng.IntN(2) == 0 {
				v = rng.Uint64N(100)
			}
			if at%lines.Bytes != 0 { // Versions that differ make a walk wait: offload ends it.
				tree.store(tree.mem, at, v)
			}
		}
		items, err := tree.Scan(0, maxKey, nil)
		if err != nil {
			if !errors.Is(err, ErrCorrupt) {
				t.Fatal(err)
			}
			refused++
			continue
		}
		for i := range items[1:] {
			if items[i].Key >= items[i+1].Key {
				t.Fatalf("key %d before %d", items[i].Key, items[i+1].Key)
			}
		}
	}
	if refused < 1000 || refused == 3000 {
		t.Errorf("%d of 3000 were refused", refused)
	}
}
