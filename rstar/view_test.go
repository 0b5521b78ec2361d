package rstar

import (
	"encoding/binary"
	"errors"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

// copyOf returns a private copy of a node.
func copyOf(tr *Tree, chunk uint32) []byte {
	nb := tr.NodeBytes()
	return slices.Clone(tr.Memory()[int(chunk)*nb:][:nb])
}

func setWord(b []byte, w int, v uint64) { binary.LittleEndian.PutUint64(b[w*8:], v) }

// smallTree returns a tree of two levels and its header.
func smallTree(t testing.TB) (*Tree, Header) {
	tr := newTree(t, Options{NodeBytes: 704, BootID: 77})
	items := spaces[0].draw(rand.New(rand.NewPCG(1, 2)), 60)
	for _, it := range items {
		mustInsert(t, tr, it)
	}
	h, err := ParseHeader(tr.Memory())
	if err != nil {
		t.Fatal(err)
	}
	return tr, h
}

func TestParseHeader(t *testing.T) {
	tr, h := smallTree(t)
	want := Header{
		LayoutVersion: LayoutVersion, NodeBytes: 704,
		Chunks: uint64(DefaultSlabBytes) / 704, BootID: 77,
		Root: h.Root, Height: tr.Stats().Height, Len: 60, Moves: tr.Stats().Moves,
		Used: uint64(tr.Stats().UsedBytes) / 704,
	}
	if h != want || h.Height != 2 {
		t.Fatalf("header is %+v, want %+v", h, want)
	}
	const d = headerDynamic
	for _, c := range []struct {
		name  string
		word  int
		value uint64
		err   error
	}{
		{"magic", 1, magic + 1, ErrLayout},
		{"zeroed", 1, 0, ErrLayout},
		{"layout version", 2, uint64(LayoutVersion+1) | 704<<32, ErrLayout},
		{"node bytes", 2, uint64(LayoutVersion) | 705<<32, ErrLayout},
		{"no chunks", 3, 1, ErrLayout},
		{"chunks", 3, 1 << 40, ErrLayout},
		{"odd", d, 7, ErrTorn},
		{"root 0", d + 1, 2 << 32, ErrCorrupt},
		{"root beyond", d + 1, 0xFFFFFFFF | 2<<32, ErrCorrupt},
		{"height 0", d + 1, 1, ErrCorrupt},
		{"height", d + 1, 1 | 99<<32, ErrCorrupt},
		{"more chunks than there are", d + 4, 1 + uint64(DefaultSlabBytes)/704, ErrCorrupt},
	} {
		b := slices.Clone(tr.Memory()[:HeaderBytes])
		setWord(b, c.word, c.value)
		if _, err := ParseHeader(b); !errors.Is(err, c.err) {
			t.Errorf("%s: error is %v, want %v", c.name, err, c.err)
		}
	}
	if _, err := ParseHeader(tr.Memory()[:HeaderBytes-1]); !errors.Is(err, ErrLayout) {
		t.Errorf("short: error is %v", err)
	}
}

func TestViewNode(t *testing.T) {
	tr, h := smallTree(t)
	for line := range 704 / LineBytes {
		for _, add := range []uint64{1, 2} {
			b := copyOf(tr, h.Root)
			setWord(b, line*lanes, word(b, line*lanes)+add)
			if _, err := ViewNode(b, h.Root, 1, h.Moves); !errors.Is(err, ErrTorn) {
				t.Errorf("line %d, version + %d: error is %v", line, add, err)
			}
		}
	}
	for _, c := range []struct {
		name  string
		word  int
		value uint64
		err   error
	}{
		{"stamp", laneStamp, h.Moves + 1, ErrMoved},
		{"stamp before identity", laneStamp, math.MaxUint64, ErrMoved},
		{"level", laneMeta, packMeta(2, 3, h.Root), ErrCorrupt},
		{"chunk", laneMeta, packMeta(1, 3, h.Root+1), ErrCorrupt},
		{"count", laneMeta, packMeta(1, 29, h.Root), ErrCorrupt},
		{"scale 0", laneFrameScale, 0, ErrCorrupt},
		{"scale -1", laneFrameScale, math.Float64bits(-1), ErrCorrupt},
		{"scale 3", laneFrameScale, math.Float64bits(3), ErrCorrupt},
		{"scale 2^1001", laneFrameScale, math.Float64bits(0x1p1001), ErrCorrupt},
		{"scale 2^-1001", laneFrameScale, math.Float64bits(0x1p-1001), ErrCorrupt},
		{"infinite scale", laneFrameScale, math.Float64bits(math.Inf(1)), ErrCorrupt},
		{"NaN scale", laneFrameScale, math.Float64bits(math.NaN()), ErrCorrupt},
		{"infinite point", laneFrameX, math.Float64bits(math.Inf(1)), ErrCorrupt},
		{"NaN point", laneFrameY, math.Float64bits(math.NaN()), ErrCorrupt},
		{"fine", laneStamp, h.Moves, nil},
	} {
		b := copyOf(tr, h.Root)
		setWord(b, c.word, c.value)
		_, err := ViewNode(b, h.Root, 1, h.Moves)
		if !errors.Is(err, c.err) {
			t.Errorf("%s: error is %v, want %v", c.name, err, c.err)
		} else if err != nil && err.Error() == "" {
			t.Errorf("%s: no text", c.name)
		}
	}
	if _, err := ViewNode(make([]byte, 703), 1, 0, 0); !errors.Is(err, ErrCorrupt) {
		t.Errorf("703 bytes: error is %v", err)
	}
}

func TestNodeContent(t *testing.T) {
	tr, h := smallTree(t)
	root, err := ViewNode(copyOf(tr, h.Root), h.Root, 1, h.Moves)
	if err != nil {
		t.Fatal(err)
	}
	if root.Leaf() || root.Level() != 1 || root.Count() < 60/14 {
		t.Fatalf("root: leaf %v, level %d, %d entries", root.Leaf(), root.Level(), root.Count())
	}
	q := Rect{0.2, 0.2, 0.5, 0.7}
	var found, items []Item
	for i := range root.Count() {
		chunk := uint32(root.Ref(i))
		leaf, err := ViewNode(copyOf(tr, chunk), chunk, 0, h.Moves)
		if err != nil {
			t.Fatal(err)
		}
		for _, j := range leaf.AppendHits([]int32{-1}, q)[1:] {
			if !leaf.Leaf() || !root.Rect(i).Contains(leaf.Rect(int(j))) {
				t.Fatalf("chunk %d, entry %d: not a leaf, or outside of it", chunk, j)
			}
			found = append(found, Item{leaf.Rect(int(j)), leaf.Ref(int(j))})
		}
		items = leaf.AppendItems(items, q)
	}
	if len(root.AppendItems(nil, q)) != 0 {
		t.Error("an internal node has objects")
	}
	if !slices.Equal(found, items) {
		t.Fatalf("AppendItems found %v, AppendHits %v", items, found)
	}
	slices.SortFunc(found, compareItems)
	if want := search(tr, q); !slices.Equal(found, want) || len(want) == 0 {
		t.Fatalf("found %v, want %v", found, want)
	}
}

// TestMisses: the first lines of a leaf rule out queries far from its objects, and no
// query whose search of the leaf would find any.
func TestMisses(t *testing.T) {
	tr, h := smallTree(t)
	r := rand.New(rand.NewPCG(1, 3))
	ruled := 0
	root := tr.at(h.Root)
	for i := range root.count() {
		chunk := root.ref(i)
		b := copyOf(tr, uint32(chunk))
		leaf, err := ViewNode(b, uint32(chunk), 0, h.Moves)
		if err != nil {
			t.Fatal(err)
		}
		first := b[:HeadBytes(len(b))]
		for range 1000 {
			q := box(r.Float64(), r.Float64(), 0.1*r.Float64(), 0.1*r.Float64())
			none, err := Misses(first, len(b), uint32(chunk), h.Moves, q)
			if err != nil {
				t.Fatal(err)
			}
			if found := leaf.AppendItems(nil, q); none && len(found) > 0 {
				t.Fatalf("%v is ruled out, and there is %v", q, found)
			}
			if none {
				ruled++
			}
		}
		if _, err := Misses(first[1:], len(b), uint32(chunk), h.Moves, plane); !errors.Is(err, ErrCorrupt) {
			t.Errorf("a byte is missing: %v", err)
		}
		if _, err := Misses(first, len(b), uint32(chunk)+1, h.Moves, plane); !errors.Is(err, ErrCorrupt) {
			t.Errorf("another leaf: %v", err)
		}
		off := append(make([]byte, 1, 1+len(first)), first...)[1:]
		if none, err := Misses(off, len(b), uint32(chunk), h.Moves, Rect{9, 9, 9, 9}); err != nil {
			t.Errorf("unaligned: %v, %v", none, err)
		}
		setWord(first, lanes, word(first, lanes)+2)
		if _, err := Misses(first, len(b), uint32(chunk), h.Moves, plane); !errors.Is(err, ErrTorn) {
			t.Errorf("lines of two versions: %v", err)
		}
	}
	if ruled < 1000 {
		t.Errorf("%d queries were ruled out", ruled)
	}
}

// TestHitsOfUnalignedNode: a copy may begin anywhere in memory. (Where
// the processor takes unaligned atomic loads, only the paths differ.)
func TestHitsOfUnalignedNode(t *testing.T) {
	tr, h := smallTree(t)
	for level, chunk := range []uint32{uint32(tr.at(h.Root).ref(0)), h.Root} {
		b := copyOf(tr, chunk)
		aligned, err := ViewNode(b, chunk, level, h.Moves)
		if err != nil {
			t.Fatal(err)
		}
		for off := 1; off < 8; off++ {
			moved := append(make([]byte, off, off+len(b)), b...)[off:]
			n, err := ViewNode(moved, chunk, level, h.Moves)
			if err != nil {
				t.Fatal(err)
			}
			for _, q := range []Rect{plane, {0.2, 0.2, 0.5, 0.7}, {2, 2, 3, 3}, {MinX: math.NaN()}} {
				if got, want := n.AppendHits(nil, q), aligned.AppendHits(nil, q); !slices.Equal(got, want) {
					t.Errorf("offset %d, query %v: hits are %v, want %v", off, q, got, want)
				}
				if got, want := n.AppendItems(nil, q), aligned.AppendItems(nil, q); !slices.Equal(got, want) {
					t.Errorf("offset %d, query %v: items are %v, want %v", off, q, got, want)
				}
			}
		}
	}
}

// FuzzViewNode: any bytes are safe, and accepted bytes are consistent.
func FuzzViewNode(f *testing.F) {
	tr, h := smallTree(f)
	f.Add(copyOf(tr, h.Root), h.Root, 1, h.Moves)
	negative := copyOf(tr, h.Root) // its scan would find nothing
	setWord(negative, laneFrameScale, math.Float64bits(-1))
	f.Add(negative, h.Root, 1, h.Moves)
	f.Add(copyOf(tr, 1), uint32(1), 0, h.Moves)
	f.Add(copyOf(tr, 0), uint32(0), 0, uint64(0))
	f.Add(make([]byte, 1024), uint32(0), 0, uint64(0))
	f.Add([]byte{}, uint32(9), -1, uint64(3))
	f.Fuzz(func(t *testing.T, b []byte, chunk uint32, level int, moves uint64) {
		if h, err := ParseHeader(b); err == nil {
			if uint64(h.Root) >= h.Chunks || h.Height > maxHeight {
				t.Fatalf("accepted %+v", h)
			}
		} else if !errors.Is(err, ErrLayout) && !errors.Is(err, ErrTorn) &&
			!errors.Is(err, ErrCorrupt) {
			t.Fatalf("header: %v", err)
		}
		if _, err := Misses(b, 704, chunk, moves, plane); err != nil && !errors.Is(err, ErrTorn) &&
			!errors.Is(err, ErrMoved) && !errors.Is(err, ErrCorrupt) {
			t.Fatalf("first lines: %v", err)
		}
		n, err := ViewNode(b, chunk, level, moves)
		if err != nil {
			if !errors.Is(err, ErrTorn) && !errors.Is(err, ErrMoved) &&
				!errors.Is(err, ErrCorrupt) {
				t.Fatalf("node: %v", err)
			}
			return
		}
		hits, items := n.AppendHits(nil, plane), n.AppendItems(nil, plane)
		for i := range n.Count() {
			r := n.Rect(i)
			n.Ref(i)
			// High and low bits that contradict each other may hide an
			// object.
			if hit := slices.Contains(hits, int32(i)); hit && !r.Intersects(plane) ||
				!hit && r.Intersects(plane) && !n.Leaf() {
				t.Fatalf("entry %d, %v: hits are %v", i, r, hits)
			}
		}
		if n.Leaf() && len(items) != len(hits) {
			t.Fatalf("%d items, %d hits", len(items), len(hits))
		}
		if n.Level() != level || n.Leaf() != (level == 0) {
			t.Fatalf("level %d, leaf %v, want level %d", n.Level(), n.Leaf(), level)
		}
	})
}
