package sim

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/catfish-index/catfish/bench"
	"github.com/catfish-index/catfish/bench/harness"
	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/rstar"
)

// ErrWorkload is wrapped by errors about trees and queries. It wraps
// harness.ErrConfig.
var ErrWorkload = fmt.Errorf("%w: workload", harness.ErrConfig)

// Spec says which tree is searched, and with which queries.
type Spec struct {
	Dataset   string // a name or file that package datasets opens
	Objects   int    // of a generator
	Scale     string // 1e-5, 1e-2, power, 0.01deg, 50-150, or QR0 to QR3 of the rea02 benchmark
	NodeBytes int
	Strategy  rstar.Strategy
	// Inserted is the share of the objects, the last ones, that are
	// inserted one by one after the others were loaded at once.
	Inserted float64
	// Inserts are what simulations insert; "": PaperInserts, or DataInserts
	// where queries come from a set and so have no scale.
	Inserts bench.Inserts
	// Groups have a part of the objects each, by Placing, Boxes if it is empty; 0: one
	// server has all. Only searches of several groups are simulated.
	Groups  int
	Placing Placing
	Seed    uint64
}

func (s Spec) inserts() bench.Inserts {
	if s.Inserts != "" {
		return s.Inserts
	}
	if _, err := datasets.ParseQuerySet(s.Scale); err == nil || strings.HasSuffix(s.Scale, "deg") {
		return bench.DataInserts
	}
	return bench.PaperInserts
}

// treeText describes in words how the tree is built.
func (s Spec) treeText() string {
	text := bench.TreeText(s.Strategy, s.Inserted == 1)
	if s.Inserted > 0 && s.Inserted < 1 {
		text += fmt.Sprintf(", but for the last %g %% of the objects, inserted one by one", 100*s.Inserted)
	}
	return text
}

// sampledSearches is how many queries run on the real tree. The mean of the
// nodes read by small ones has a standard error of 1 % after a thousand of
// them.
const sampledSearches = 4096

// sampledInserts is how many objects are inserted, to see which nodes they
// change: one in 25 splits a leaf, so 80 of them do.
const sampledInserts = 2048

// node is one node that a search reads. Its children are adjacent in the
// search's list.
type node struct {
	chunk    uint32
	first    uint16 // of its children that the search reads, from the search's first node
	children uint16
	results  uint16 // objects found, in a leaf
	leaf     bool
	heads    bool // a leaf whose first lines are read first, where nodes are cached
	more     bool // they do not rule out that it has an object
}

// search is one real search.
type search struct {
	first   uint32 // its nodes, the root first
	nodes   uint16
	results uint32
}

// insert is one real insertion: the nodes that it changed.
type insert struct {
	first, nodes uint32 // of changes
	moved        uint32 // number of them, the first ones, with the stamp of a move
}

// Workload has the costs of real searches and inserts of one tree. It is
// immutable; many simulations may use it at once.
type Workload struct {
	Spec     Spec
	Objects  int
	Height   int
	Reads    float64 // mean nodes of a search
	Results  float64 // mean objects found by one
	Asked    float64 // mean groups that a search asks
	Chunks   int     // one more than the highest chunk number
	nodes    []node
	searches []search
	inserts  []insert
	changes  []uint32 // chunks

	parts []*Workload // of several groups, see groups.go
}

// Cache keeps workloads, since the tree takes a second and more to build. The
// zero value is empty.
type Cache struct {
	mu   sync.Mutex
	made map[Spec]*Workload
}

// Get returns the workload of s, which it makes the first time; note is called
// if it does. Errors wrap ErrWorkload.
func (c *Cache) Get(s Spec, note func(string)) (*Workload, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if w := c.made[s]; w != nil {
		return w, nil
	}
	note(fmt.Sprintf("building the tree of %s and searching it at %s", s.Dataset, s.Scale))
	w, err := newWorkload(s, note)
	if err != nil {
		return nil, err
	}
	if c.made == nil {
		c.made = map[Spec]*Workload{}
	}
	c.made[s] = w
	return w, nil
}

// newWorkload builds the tree and searches it. It reports the progress of inserts to
// note. Errors wrap ErrWorkload.
func newWorkload(s Spec, note func(string)) (*Workload, error) {
	w, err := makeWorkload(s, note)
	if err != nil && !errors.Is(err, harness.ErrConfig) {
		err = fmt.Errorf("%w: %w", ErrWorkload, err)
	}
	return w, err
}

func makeWorkload(s Spec, note func(string)) (*Workload, error) {
	if err := s.validateGroups(); err != nil {
		return nil, err
	}
	src, err := bench.OpenDataset(s.Dataset, s.Objects, s.Seed)
	if err != nil {
		return nil, err
	}
	items, err := datasets.Collect(src)
	if err != nil {
		return nil, err
	}
	if len(items) == 0 {
		return nil, fmt.Errorf("%w: %s has no objects", ErrWorkload, s.Dataset)
	}
	queries, bounds, err := sampleQueries(s, items)
	if err != nil {
		return nil, err
	}
	w := &Workload{Spec: s, Objects: len(items), Asked: 1}
	if s.Groups > 1 {
		return w, w.divide(items, bounds, queries, note)
	}
	return w, w.searchTree(items, queries, nil, note)
}

// searchTree builds a tree and searches it. asks says which queries ask it, nil: all, and then
// inserts are made, too.
func (w *Workload) searchTree(items []rstar.Item, queries []rstar.Rect, asks []bool, note func(string)) error {
	s := w.Spec
	tree, err := rstar.New(rstar.Options{NodeBytes: s.NodeBytes, Strategy: s.Strategy, BootID: 1})
	if err != nil {
		return err
	}
	defer tree.Close()
	loaded := len(items) - int(s.Inserted*float64(len(items)))
	if err := tree.Load(items[:loaded]); err != nil {
		return err
	}
	if err := bench.InsertAll(context.Background(), tree, items[loaded:], note); err != nil {
		return err
	}
	r, err := newReader(tree, s.NodeBytes)
	if err != nil {
		return err
	}
	for i, q := range queries {
		if asks != nil && !asks[i] {
			w.searches = append(w.searches, search{})
			continue
		}
		if err := w.addSearch(r, q); err != nil {
			return err
		}
	}
	w.Height = r.h.Height
	w.Reads = float64(len(w.nodes)) / float64(len(queries))
	for i := range w.searches {
		w.Results += float64(w.searches[i].results) / float64(len(queries))
	}
	if asks != nil {
		for i := range w.nodes {
			w.Chunks = max(w.Chunks, int(w.nodes[i].chunk)+1)
		}
		return nil
	}
	bounds := items[0].Rect
	for i := range items {
		bounds = bounds.Union(items[i].Rect)
	}
	return w.sampleInserts(tree, r, bounds)
}

// sampleQueries draws the queries as bench run does, or takes them evenly
// from a set of the rea02 benchmark.
func sampleQueries(s Spec, items []rstar.Item) (qs []rstar.Rect, bounds rstar.Rect, err error) {
	bounds = items[0].Rect
	for i := range items {
		bounds = bounds.Union(items[i].Rect)
	}
	if set, err := datasets.ParseQuerySet(s.Scale); err == nil {
		for q := range set.Queries(items) {
			qs = append(qs, q)
		}
		if len(qs) == 0 {
			return nil, bounds, fmt.Errorf("%w: %s has no queries in set %s", ErrWorkload, s.Dataset, s.Scale)
		}
		step := max(1, len(qs)/sampledSearches)
		n := 0
		for i := 0; i < len(qs); i += step {
			qs[n] = qs[i]
			n++
		}
		return qs[:n], bounds, nil
	}
	if side, ok, err := degrees(s.Scale); ok {
		return squares(items, side, s.Seed), bounds, err
	}
	scale, err := datasets.ParseScale(s.Scale)
	if err != nil {
		return nil, bounds, fmt.Errorf("%w, a side such as 0.01deg or a set of queries QR0 to QR3 or 50-150", err)
	}
	next, err := datasets.Queries(scale, bounds, s.Seed, 0)
	if err != nil {
		return nil, bounds, err
	}
	for range sampledSearches {
		qs = append(qs, next())
	}
	return qs, bounds, nil
}

// reader reads a tree's slab like a remote client. No writer runs meanwhile,
// so no read is torn.
type reader struct {
	mem   []byte
	bytes int
	h     rstar.Header
	hits  []int32
	level []int16 // of the nodes of one search
	found []rstar.Item
}

func newReader(t *rstar.Tree, nodeBytes int) (*reader, error) {
	r := &reader{mem: t.Memory(), bytes: nodeBytes}
	return r, r.header()
}

func (r *reader) header() (err error) {
	r.h, err = rstar.ParseHeader(r.mem)
	return err
}

func (r *reader) view(chunk uint32, level int) (rstar.Node, error) {
	b := r.mem[int(chunk)*r.bytes:][:r.bytes]
	return rstar.ViewNode(b, chunk, level, r.h.Moves)
}

// misses reports whether the heads of a leaf rule out all of its objects.
func (r *reader) misses(chunk uint32, q rstar.Rect) (bool, error) {
	b := r.mem[int(chunk)*r.bytes:][:rstar.HeadBytes(r.bytes)]
	return rstar.Misses(b, r.bytes, chunk, r.h.Moves, q)
}

// version is the version of a node's header line, and stamp the number of
// the move that changed it last (rstar/layout.go).
func (r *reader) version(chunk uint32) uint64 { return r.word(chunk, 0) }
func (r *reader) stamp(chunk uint32) uint64   { return r.word(chunk, 2) }

func (r *reader) word(chunk uint32, word int) uint64 {
	return binary.LittleEndian.Uint64(r.mem[int(chunk)*r.bytes+8*word:])
}

// maxNodes of one search, so that 15 bits number them, one number for the
// slab's header; a 16th bit says that only a node's line is read, or a leaf's
// heads.
const maxNodes = 1<<15 - 1

// addSearch executes q, level by level.
func (w *Workload) addSearch(r *reader, q rstar.Rect) error {
	first := len(w.nodes)
	w.nodes = append(w.nodes, node{chunk: r.h.Root})
	r.level = append(r.level[:0], int16(r.h.Height-1))
	results := 0
	for i := 0; i < len(w.nodes)-first; i++ {
		at := &w.nodes[first+i]
		n, err := r.view(at.chunk, int(r.level[i]))
		if err != nil {
			return err
		}
		if n.Leaf() {
			r.found = n.AppendItems(r.found[:0], q)
			at.results, at.leaf = uint16(len(r.found)), true
			results += len(r.found)
			continue
		}
		r.hits = n.AppendHits(r.hits[:0], q)
		if len(w.nodes)-first+len(r.hits) > maxNodes {
			return fmt.Errorf("%w: a search of %v reads more than %d nodes", ErrWorkload, q, maxNodes)
		}
		at.first, at.children = uint16(len(w.nodes)-first), uint16(len(r.hits))
		level := r.level[i] - 1
		for _, e := range r.hits {
			child := node{chunk: uint32(n.Ref(int(e)))}
			if level == 0 && rstar.HeadsFirst(n.Rect(int(e)), q, r.bytes) {
				misses, err := r.misses(child.chunk, q)
				if err != nil {
					return err
				}
				child.heads, child.more = true, !misses
			}
			w.nodes = append(w.nodes, child)
			r.level = append(r.level, level)
		}
	}
	w.searches = append(w.searches, search{
		first: uint32(first), nodes: uint16(len(w.nodes) - first), results: uint32(results),
	})
	return nil
}

// sampleInserts inserts objects and notes which nodes each changes: on the
// path to it, beside it (a split, or sharing with a neighbour) and new ones.
func (w *Workload) sampleInserts(t *rstar.Tree, r *reader, bounds rstar.Rect) error {
	next, err := w.Spec.inserts().Rects(w.Spec.Dataset, w.Spec.Scale, bounds, w.Spec.Seed, 1)
	if err != nil {
		return err
	}
	seen := make([]uint64, len(r.mem)/r.bytes)
	used := int(t.Stats().UsedBytes) / r.bytes
	for c := 1; c < used; c++ {
		seen[c] = r.version(uint32(c))
	}
	for i := range sampledInserts {
		rect := next()
		moves := r.h.Moves
		// Ids that no data set has.
		if err := t.Insert(rect, 1<<63|uint64(i)); err != nil {
			return err
		}
		if err := r.header(); err != nil {
			return err
		}
		in := insert{first: uint32(len(w.changes))}
		if err := w.changedBy(r, rect, r.h.Root, r.h.Height-1, seen); err != nil {
			return err
		}
		changed := w.changes[in.first:]
		for j, c := range changed {
			if r.stamp(c) > moves {
				changed[in.moved], changed[j] = c, changed[in.moved]
				in.moved++
			}
		}
		in.nodes = uint32(len(changed))
		w.inserts = append(w.inserts, in)
	}
	w.Chunks = int(t.Stats().UsedBytes) / r.bytes
	return nil
}

// changedBy notes the changed nodes among one that may contain a new object,
// and its children.
func (w *Workload) changedBy(r *reader, rect rstar.Rect, chunk uint32, level int, seen []uint64) error {
	note := func(c uint32) {
		if v := r.version(c); v != seen[c] {
			seen[c] = v
			w.changes = append(w.changes, c)
		}
	}
	note(chunk)
	n, err := r.view(chunk, level)
	if err != nil || n.Leaf() {
		return err
	}
	for i := range n.Count() {
		c := uint32(n.Ref(i))
		note(c)
		if level > 1 && n.Rect(i).Intersects(rect) {
			if err := w.changedBy(r, rect, c, level-1, seen); err != nil {
				return err
			}
		}
	}
	return nil
}
