package remote

import (
	"math/rand/v2"
	"path/filepath"
	"runtime"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/record"
)

// setWords are all words of sets.
//
// SAFETY: a set is 16 aligned words.
func setWords(sets []pointerSet) []atomic.Uint64 {
	return unsafe.Slice((*atomic.Uint64)(unsafe.Pointer(&sets[0])), len(sets)*setBytes/8)
}

// garbage is a site whose client keeps references whose words may be any.
type garbage struct {
	*site
	r      *Reader
	p      *Pointers
	c      *stopped
	values []string
	refs   []uint64 // living ones, a dead one, of a value's middle, beyond the memory
}

func newGarbage(t testing.TB) *garbage {
	c := &stopped{now: time.Hour}
	g := &garbage{site: newSiteBy(t, c.Now), c: c, p: NewPointers(0)}
	if runtime.GOOS == "linux" {
		g.p = openFile(t, filepath.Join(t.TempDir(), "pointers"), 0, c.Now).pointers(fileKey)
	}
	g.r = g.dial()
	for i, v := range []string{"zero", "one", "two", string(make([]byte, 500)), "replaced"} {
		g.put(t, i, v)
		g.values = append(g.values, v)
		k := g.keep(t, g.r, i)
		g.refs = append(g.refs, uint64(k.Ref), uint64(record.RefAt(k.Ref.Offset()+64, 64, k.Ref.Generation())))
	}
	g.put(t, 4, "new")
	g.values[4] = "new"
	g.refs = append(g.refs, 0, 1, ^uint64(0), uint64(record.RefAt(1<<39, 64, 1)))
	return g
}

// check reads all keys, by what the pointers say, and by lookups where that was no good.
func (g *garbage) check(t *testing.T, what ...any) {
	t.Helper()
	for i, want := range g.values {
		hash := cuckoo.Hash(g.known.Seed, key(i))
		ref, until, ok := g.p.Get(hash, g.c.now)
		if ok && (until <= g.c.now || until > g.c.now+record.MaxLease) {
			t.Errorf("%v: key %d until %v, now it is %v", what, i, until, g.c.now)
		}
		a := g.getKept(t, g.r, i, Kept{ref, until})
		if a.Err != nil || string(a.View.Value) != want {
			t.Errorf("%v: key %d by %v, %t: %.20q, %v, want %q", what, i, ref, ok, a.View.Value, a.Err, want)
		}
		if !a.Kept && ok {
			g.p.Forget(hash, ref)
		}
	}
}

// TestGarbagePointers: whatever is in any word, each key has its value.
func TestGarbagePointers(t *testing.T) {
	g := newGarbage(t)
	words := setWords(g.p.sets)
	r := rand.New(rand.NewPCG(1, 2))
	kept := func() {
		clear(words)
		for i := range g.values {
			g.p.Put(cuckoo.Hash(g.known.Seed, key(i)), record.Ref(g.refs[2*i]), g.c.now, g.c.now+time.Minute)
		}
	}
	kept()
	g.check(t, "as kept")
	if a := g.getKept(t, g.r, 0, Kept{record.Ref(g.refs[0]), g.c.now + 1}); !a.Kept {
		t.Fatal("a right reference is not used")
	}
	for i := range words {
		kept()
		old := words[i].Load()
		for bit := range 64 {
			words[i].Store(old ^ 1<<bit)
			g.check(t, "word", i, "bit", bit)
		}
		for _, w := range []uint64{0, ^uint64(0), r.Uint64(), words[(i+3)%len(words)].Load(), words[(i+1)%len(words)].Load()} {
			words[i].Store(w)
			g.check(t, "word", i, "is", w)
		}
	}
	for range 100 {
		for i := range words {
			words[i].Store(r.Uint64())
		}
		g.check(t, "random words")
	}
}

// FuzzForgedPointer: an entry that says to be a key's, of a writer that knows the layout, leads anywhere for
// any time: each key has its value.
func FuzzForgedPointer(f *testing.F) {
	g := newGarbage(f)
	for i := range g.refs {
		for k := range g.values {
			f.Add(uint8(k), g.refs[i], ^uint64(0))
			for _, lease := range []time.Duration{time.Second, time.Hour} {
				f.Add(uint8(k), g.refs[i], uint64(newLease(0, g.p.clock.latest(g.c.now)+lease)))
			}
		}
	}
	f.Fuzz(func(t *testing.T, k uint8, ref, l uint64) {
		clear(setWords(g.p.sets))
		e := &g.p.sets[0].entries[2]
		e.ref.Store(ref)
		e.lease.Store(l)
		e.tag.Store(cuckoo.Hash(g.known.Seed, key(int(k)%len(g.values))) ^ g.p.region ^ check(record.Ref(ref), lease(l)))
		g.check(t, "forged", k, ref, l)
		// The set is of use as before.
		hash := cuckoo.Hash(g.known.Seed, key(0))
		g.p.Put(hash, 7, g.c.now, g.c.now+record.MaxLease)
		if ref, _, ok := g.p.Get(hash, g.c.now); !ok || ref != 7 {
			t.Errorf("after the forged entry: %v, %t", ref, ok)
		}
	})
}
