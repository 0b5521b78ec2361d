package rstar

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

// The promises of doc.go, tested while a writer splits, reinserts, condenses
// and updates.
//
// Every object lives through a fixed series of states: after k operations on
// it, it is at a known place or absent. The writer notes k in started before
// an operation and in done after it. A search that saw done = lo when it
// began and started = hi when it ended must show the object as it was in some
// state of lo..hi: at most once, at a place of one of these states, and if it
// is present and in the query in all of them, exactly once. (An object that
// was deleted and inserted again in the meantime counts as two, and may be
// found in both of its lives.)

// life is one object's series of states.
type life struct {
	started, done atomic.Int64
	kind          int
	seed          uint64
}

const (
	stays   = iota // inserted once, never touched again
	moves          // updated again and again, near and far
	flutter        // inserted and deleted alternately
	kinds
)

// state returns the object's rectangle after k operations, false if it is
// absent then.
func (l *life) state(k int64) (Rect, bool) {
	if k == 0 || l.kind == flutter && k%2 == 0 {
		return Rect{}, false
	}
	if l.kind == stays {
		k = 1
	}
	r := rand.New(rand.NewPCG(l.seed, uint64(k)))
	x, y := r.Float64(), r.Float64()
	if l.kind == moves && k%3 != 0 { // small steps, often within a leaf
		home := rand.New(rand.NewPCG(l.seed, 0))
		x, y = home.Float64()+x/50, home.Float64()+y/50
	}
	return box(x, y, r.Float64()/50, r.Float64()/50), true
}

// step makes the next operation on the object.
func (l *life) step(tr *Tree, id uint64) error {
	k := l.started.Add(1)
	was, had := l.state(k - 1)
	is, has := l.state(k)
	ok, err := true, error(nil)
	switch {
	case had && has:
		ok, err = tr.Update(was, is, id)
	case has:
		err = tr.Insert(is, id)
	default:
		ok, err = tr.Delete(was, id)
	}
	if err != nil || !ok {
		return fmt.Errorf("object %d, operation %d: %v, %v", id, k, ok, err)
	}
	l.done.Store(k)
	return nil
}

type world []life

// before returns done of every object.
func (w world) before() []int64 {
	lo := make([]int64, len(w))
	for i := range w {
		lo[i] = w[i].done.Load()
	}
	return lo
}

// judge returns what is wrong with the answer to q of a search that began after lo was
// taken and has ended.
func (w world) judge(lo []int64, q Rect, found map[uint64][]Rect) error {
	for i := range w {
		l := &w[i]
		hi := l.started.Load()
		always, got := true, found[uint64(i)]
		var left []Rect // places that no state explains
		left = append(left, got...)
		for k := lo[i]; k <= hi; k++ {
			r, ok := l.state(k)
			hit := ok && r.Intersects(q)
			always = always && hit
			if j := slices.Index(left, r); hit && j >= 0 {
				left = slices.Delete(left, j, j+1)
			}
			if l.kind == stays && k > 0 {
				break
			}
		}
		switch {
		case len(left) > 0:
			return fmt.Errorf("object %d found at %v, where it was in no state of %d..%d, or twice",
				i, left, lo[i], hi)
		case len(got) > 1 && l.kind != flutter:
			return fmt.Errorf("object %d found %d times: %v", i, len(got), got)
		case len(got) == 0 && always:
			return fmt.Errorf("object %d missed in states %d..%d", i, lo[i], hi)
		}
	}
	return nil
}

// judgeCount returns what is wrong with the number of objects that a count of q
// returned: at least those that were certainly present, at most those that may have
// been.
func (w world) judgeCount(lo []int64, q Rect, n int) error {
	least, most := 0, 0
	for i := range w {
		l := &w[i]
		hi := l.started.Load()
		if l.kind == stays {
			hi = min(hi, 1)
		}
		always, lives := true, 0
		for k := lo[i]; k <= hi; k++ {
			r, ok := l.state(k)
			hit := ok && r.Intersects(q)
			always = always && hit
			if hit && (lives == 0 || l.kind == flutter) {
				lives++
			}
			if l.kind == stays && k > 0 {
				break
			}
		}
		if always {
			least++
		}
		most += lives
	}
	if n < least || n > most {
		return fmt.Errorf("count is %d, want %d to %d", n, least, most)
	}
	return nil
}

// judgeNearest returns what is wrong with the objects that a nearest search of
// everything yielded: no object may appear twice (one that was deleted and inserted
// again counts as another), none at a place where it was not, and every object that was
// not written in the meantime must appear.
func (w world) judgeNearest(lo []int64, found map[uint64][]Rect) error {
	for i := range w {
		l, left := &w[i], slices.Clone(found[uint64(i)])
		if len(left) > 1 && l.kind != flutter {
			return fmt.Errorf("object %d yielded %d times: %v", i, len(left), left)
		}
		hi := l.started.Load()
		if r, present := l.state(hi); present && len(left) == 0 &&
			(lo[i] == hi || l.kind == stays && lo[i] > 0) {
			return fmt.Errorf("object %d at %v missed", i, r)
		}
		for k := lo[i]; k <= hi; k++ {
			if r, ok := l.state(k); ok {
				if j := slices.Index(left, r); j >= 0 {
					left = slices.Delete(left, j, j+1)
				}
			}
			if l.kind == stays && k > 0 {
				break
			}
		}
		if len(left) > 0 {
			return fmt.Errorf("object %d found at %v, where it was in no state of %d..%d, or twice",
				i, left, lo[i], hi)
		}
	}
	return nil
}

// asker asks a tree for q while a writer runs, in one of several modes, and
// judges the answer.
type asker func(tr *Tree, w world, q Rect) error

// askers returns all of them.
func askers() map[string]asker {
	all := map[string]asker{"Count": askCount, "Nearest": askNearest, "Scan": askScan, "CountScan": askCountScan, "Browse": askBrowse}
	for name, find := range searches {
		all[name] = func(tr *Tree, w world, q Rect) error {
			lo, found := w.before(), map[uint64][]Rect{}
			find(tr, q, func(r Rect, id uint64) { found[id] = append(found[id], r) })
			return w.judge(lo, q, found)
		}
	}
	return all
}

func askCount(tr *Tree, w world, q Rect) error {
	lo := w.before()
	return w.judgeCount(lo, q, tr.Count(q))
}

func askNearest(tr *Tree, w world, q Rect) (err error) {
	x, y := 0.5, 0.5 // the plane has no corner
	if q != plane {
		x, y = q.MinX, q.MinY
	}
	lo, found, last := w.before(), map[uint64][]Rect{}, 0.0
	tr.Nearest(x, y, func(r Rect, id uint64, d float64) bool {
		if d < last || d != r.Distance(x, y) {
			err = fmt.Errorf("%v at distance %v after %v", r, d, last)
			return false
		}
		last, found[id] = d, append(found[id], r)
		return true
	})
	if err != nil {
		return err
	}
	return w.judgeNearest(lo, found)
}

// searches lists the kinds of search, all of which keep the promises.
var searches = map[string]func(tr *Tree, q Rect, add func(Rect, uint64)){
	"Search": func(tr *Tree, q Rect, add func(Rect, uint64)) {
		tr.Search(q, func(r Rect, id uint64) bool { add(r, id); return true })
	},
	"SearchAppend": func(tr *Tree, q Rect, add func(Rect, uint64)) {
		for _, it := range tr.SearchAppend(nil, q, 0) {
			add(it.Rect, it.ID)
		}
	},
	"SearchMany": func(tr *Tree, q Rect, add func(Rect, uint64)) {
		nothing := Rect{1, 1, 0, 0}
		tr.SearchMany([]Rect{nothing, q, nothing}, func(i int, r Rect, id uint64) bool {
			add(r, id)
			return true
		})
	},
	"remote": remoteSearch,
}

// remoteSearch traverses copies of nodes as a remote client does.
func remoteSearch(tr *Tree, q Rect, add func(Rect, uint64)) {
	for {
		hits, err := remotePass(tr, q)
		if err == nil {
			for _, it := range hits {
				add(it.Rect, it.ID)
			}
			return
		}
		if !errors.Is(err, ErrMoved) && !errors.Is(err, ErrTorn) {
			panic(err)
		}
	}
}

// readLines copies bytes as an RDMA read does: every line atomically, the
// lines in any order.
func readLines(tr *Tree, off, size int, r *rand.Rand) []byte {
	b := make([]byte, size)
	words := unsafe.Slice((*uint64)(unsafe.Pointer(&b[0])), size/8)
	for _, l := range r.Perm(size / LineBytes) {
		src := tr.words[off/8+l*lanes:][:lanes]
		for {
			v := atomic.LoadUint64(&src[0])
			for i := range src {
				words[l*lanes+i] = atomic.LoadUint64(&src[i])
			}
			if words[l*lanes] == v && atomic.LoadUint64(&src[0]) == v {
				break
			}
		}
	}
	return b
}

func remotePass(tr *Tree, q Rect) (hits []Item, err error) {
	rnd := rand.New(rand.NewPCG(rand.Uint64(), 0))
	h, err := ParseHeader(readLines(tr, 0, HeaderBytes, rnd))
	if err != nil {
		return nil, err
	}
	todo := []ref{{h.Root, int32(h.Height - 1)}}
	for len(todo) > 0 {
		// In any order, as replies of a network arrive.
		i := rnd.IntN(len(todo))
		r := todo[i]
		todo[i] = todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		var n Node
		for {
			b := readLines(tr, int(r.chunk)*h.NodeBytes, h.NodeBytes, rnd)
			n, err = ViewNode(b, r.chunk, int(r.level), h.Moves)
			if !errors.Is(err, ErrTorn) {
				break
			}
		}
		if err != nil {
			return nil, err
		}
		for _, j := range n.AppendHits(nil, q) {
			if n.Leaf() {
				hits = append(hits, Item{n.Rect(int(j)), n.Ref(int(j))})
			} else {
				todo = append(todo, ref{uint32(n.Ref(int(j))), r.level - 1})
			}
		}
	}
	return hits, nil
}

func TestPromises(t *testing.T) {
	for _, s := range settings() {
		if s.o.NodeBytes != nodeSizes[0] { // the most moves
			continue
		}
		if s.o.PortableStores && s.isa != isas[0] {
			continue // which kind of store was used makes no difference to readers
		}
		for name, ask := range askers() {
			t.Run(fmt.Sprintf("%v/%s", s, name), func(t *testing.T) {
				s.use(t)
				promises(t, s.o, ask)
			})
		}
	}
}

// alignedHeap returns slab memory on the Go heap, which the race detector
// observes, unlike a mapping.
func alignedHeap(bytes int) []byte {
	w := make([]uint64, bytes/8+lanes)
	for i := range w {
		if uintptr(unsafe.Pointer(&w[i]))%LineBytes == 0 {
			return unsafe.Slice((*byte)(unsafe.Pointer(&w[i])), bytes)
		}
	}
	panic("no aligned word")
}

func promises(t *testing.T, o Options, ask asker) {
	o.Memory = alignedHeap(1 << 20)
	tr := newTree(t, o)
	w := make(world, 1200/raceFactor+300)
	for i := range w {
		w[i].kind, w[i].seed = i%kinds, uint64(i)
		if i%2 == 0 {
			if err := w[i].step(tr, uint64(i)); err != nil {
				t.Fatal(err)
			}
		}
	}
	const operations, atLeast = 4000/raceFactor + 4000, 96 / raceFactor
	var finished atomic.Bool
	var searched atomic.Int64
	var wg sync.WaitGroup
	wg.Go(func() {
		defer finished.Store(true)
		r := rand.New(rand.NewPCG(1, 1))
		for n := 0; n < operations || searched.Load() < atLeast && !t.Failed(); n++ {
			i := r.IntN(len(w))
			if w[i].kind == stays && w[i].done.Load() > 0 {
				continue
			}
			if err := w[i].step(tr, uint64(i)); err != nil {
				t.Error(err)
				return
			}
		}
	})
	for g := range 2 {
		wg.Go(func() {
			r := rand.New(rand.NewPCG(2, uint64(g)))
			for !finished.Load() {
				q := plane
				if g == 1 {
					q = box(r.Float64(), r.Float64(), r.Float64(), r.Float64())
				}
				if err := ask(tr, w, q); err != nil {
					t.Error(err)
					return
				}
				searched.Add(1)
			}
		})
	}
	wg.Wait()
	mustCheck(t, tr)
	st := tr.Stats()
	if st.Moves < operations/20 {
		t.Fatalf("only %d moves: the test shows little", st.Moves)
	}
	// Moves that took a chunk for a new node, but hardly ever a fresh one.
	if used := tr.tx.committed.used; st.Moves < 2*used {
		t.Fatalf("%d moves, %d chunks ever used: chunks were hardly reused", st.Moves, used)
	}
}

// TestPromisesNearest does the same for Nearest: ascending order, no object
// twice (one that was deleted and inserted again counts as another), every
// object that stays, and none at a place where it was not.
func TestPromisesNearest(t *testing.T) {
	for _, by := range strategies {
		t.Run(by.String(), func(t *testing.T) { promisesNearest(t, by) })
	}
}

func promisesNearest(t *testing.T, by Strategy) {
	tr := newTree(t, Options{NodeBytes: 704, Strategy: by})
	w := make(world, 600)
	for i := range w {
		w[i].kind, w[i].seed = i%kinds, uint64(i)
		if err := w[i].step(tr, uint64(i)); err != nil {
			t.Fatal(err)
		}
	}
	r := rand.New(rand.NewPCG(3, 3))
	for round := range 60 {
		x, y := r.Float64(), r.Float64()
		lo := w.before()
		seen := map[uint64][]Rect{}
		last := 0.0
		tr.Nearest(x, y, func(rect Rect, id uint64, d float64) bool {
			if d < last || d != rect.Distance(x, y) {
				t.Fatalf("round %d: distance %v after %v", round, d, last)
			}
			seen[id], last = append(seen[id], rect), d
			for range 2 { // the yield itself writes
				i := r.IntN(len(w))
				if w[i].kind == stays {
					continue
				}
				if err := w[i].step(tr, uint64(i)); err != nil {
					t.Fatal(err)
				}
			}
			return true
		})
		if err := w.judgeNearest(lo, seen); err != nil {
			t.Fatalf("round %d: %v", round, err)
		}
	}
	mustCheck(t, tr)
	if st := tr.Stats(); st.Restarts == 0 {
		t.Fatal("no restart: the test shows nothing")
	}
}

// TestLockFallback: a reader that meets moves all the time terminates, by
// taking the writer's lock.
func TestLockFallback(t *testing.T) {
	tr := newTree(t, Options{})
	mustInsert(t, tr, Item{box(0, 0, 1, 1), 1})
	s := tr.pool.Get().(*searcher)
	if !tr.enter(s) {
		t.Fatal("closed")
	}
	passes, locked := 0, false
	tr.attempt(s, func() bool {
		passes++
		locked = !tr.mu.TryLock()
		if !locked {
			tr.mu.Unlock()
		}
		return locked
	})
	tr.exit(s, 0)
	if passes != maxRestarts+1 || !locked {
		t.Fatalf("%d passes, locked at the last: %v", passes, locked)
	}
	if st := tr.Stats(); st.Restarts != maxRestarts {
		t.Fatalf("%d restarts counted, want %d", st.Restarts, maxRestarts)
	}
}

// TestStampRestarts: a node with a later stamp is never accepted, and for one
// that stays busy the search restarts.
func TestStampRestarts(t *testing.T) {
	tr := newTree(t, Options{})
	mustInsert(t, tr, Item{box(0, 0, 1, 1), 1})
	s := tr.newSearcher()
	n := tr.at(tr.tx.root)
	for _, c := range []struct {
		name string
		lane int
		add  uint64
	}{{"stamp", laneStamp, 1}, {"version", 0, 1}, {"level", laneMeta, 1}} {
		n[c.lane] += c.add
		if _, ok := tr.collect(s, nil, &plane, 9); ok {
			t.Errorf("%s: the pass accepted the node", c.name)
		}
		if _, ok := tr.count(s, &plane); ok {
			t.Errorf("%s: the count accepted the node", c.name)
		}
		b := browse{t: tr, s: s}
		if b.pass(1) {
			t.Errorf("%s: Nearest accepted the node", c.name)
		}
		n[c.lane] -= c.add
	}
	if got := search(tr, plane); len(got) != 1 {
		t.Fatalf("found %v", got)
	}
}

// TestReplaceIsOneStep: a search finds all parts of one state of a thing, for any
// number of parts, however far they lie from each other.
func TestReplaceIsOneStep(t *testing.T) {
	tr := newTree(t, Options{NodeBytes: 704, SlabBytes: 16 << 20})
	r := rand.New(rand.NewPCG(1, 2))
	for i := range 2000 {
		mustInsert(t, tr, Item{box(r.Float64(), r.Float64(), 0.001, 0.001), uint64(i) << 32})
	}
	// The id of a part is the state's number, and the number of its parts.
	state := func(k uint64) (parts []Item) {
		r := rand.New(rand.NewPCG(3, k))
		n := 1 + r.Uint64N(6)
		for range n {
			parts = append(parts, Item{box(r.Float64(), r.Float64(), 0.001, 0.001), k<<8 | n})
		}
		return parts
	}
	now := state(1)
	if ok, err := tr.Replace(nil, now); !ok || err != nil {
		t.Fatal(ok, err)
	}
	var stop atomic.Bool
	var wg sync.WaitGroup
	for range 2 {
		wg.Go(func() {
			var found []Item
			for !stop.Load() {
				found = tr.SearchAppend(found[:0], plane, 0)
				parts := slices.DeleteFunc(found, func(it Item) bool { return it.ID>>32 != 0 || it.ID == 0 })
				if len(parts) == 0 || uint64(len(parts)) != parts[0].ID&0xff {
					t.Errorf("%d parts: %v", len(parts), parts)
					return
				}
				for _, it := range parts {
					if it.ID != parts[0].ID {
						t.Errorf("parts of two states: %v", parts)
						return
					}
				}
			}
		})
	}
	for k := uint64(2); k < 3000/raceFactor && !t.Failed(); k++ {
		next := state(k)
		if k%3 == 0 { // some stay where they are
			for i := range min(len(now), len(next)) {
				next[i].Rect = now[i].Rect
			}
		}
		if ok, err := tr.Replace(now, next); !ok || err != nil {
			t.Fatal(ok, err)
		}
		now = next
	}
	stop.Store(true)
	wg.Wait()
	mustCheck(t, tr)
}
