package remote

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/offload"
)

// TestRoundTrips: with a known header, a present key costs two round trips and three
// reads, an absent one a round trip and two reads.
func TestRoundTrips(t *testing.T) {
	s := newSite(t, cuckoo.Options{})
	hash, err := s.put(1, 1)
	if err != nil {
		t.Fatal(err)
	}
	k := &keys{names: []uint64{1}, found: make([]uint64, 1)}
	for _, c := range []struct {
		name         string
		hash         uint64
		want         Result
		reads, trips uint64
	}{
		{"first", hash, Found, 4, 3},
		{"hit", hash, Found, 3, 2},
		{"miss", hashOf(2), Absent, 2, 1},
	} {
		if err := s.get(t.Context(), k, []uint64{c.hash}); err != nil {
			t.Fatal(c.name, err)
		}
		if got := s.walk.Result(0); got != c.want || s.stats.Reads != s.copies*c.reads || s.stats.RoundTrips != c.trips {
			t.Errorf("%s: result %d, %+v, want %+v", c.name, got, s.stats, c)
		}
	}
	if k.found[0] != 1 {
		t.Errorf("found %d", k.found[0])
	}
}

// TestMany fills a table, with growth on the way, and looks up all keys and as many
// absent ones, in walks of 64.
func TestMany(t *testing.T) {
	for _, items := range []int{1, 4, 5} {
		s := newSite(t, cuckoo.Options{Items: items, Buckets: 8})
		const n = 3000
		const at = 64
		var sum offload.Stats
		growing := 0
		for have := uint64(0); have < n; {
			for range 150 {
				have++
				if _, err := s.put(have, have); err != nil {
					t.Fatal(err)
				}
			}
			if s.index.Stats().Growing {
				growing++
			}
			for from := uint64(1); from < 2*have; from += at {
				k := &keys{found: make([]uint64, at)}
				var hashes []uint64
				for i := range uint64(at) {
					k.names = append(k.names, from+i)
					hashes = append(hashes, hashOf(from+i))
				}
				if err := s.get(t.Context(), k, hashes); err != nil {
					t.Fatal(err)
				}
				sum.Add(s.stats)
				for i, name := range k.names {
					want := Absent
					if name <= have {
						want = Found
					}
					if got := s.walk.Result(i); got != want || want == Found && k.found[i] != name {
						t.Fatalf("%d of %d: result %d, found %d", name, have, got, k.found[i])
					}
				}
			}
		}
		t.Logf("%d items a bucket: %+v, looked at %d times while growing, %+v", items, sum, growing, s.index.Stats())
		if growing == 0 {
			t.Error("never seen growing")
		}
	}
}

// TestBesideWriter looks up keys that are never deleted while a writer inserts and
// deletes others in a nearly full table, so that they are kicked, and grows it.
func TestBesideWriter(t *testing.T) {
	s := newSite(t, cuckoo.Options{Items: 1, Buckets: 256, MaxLoad: 1})
	const kept = 120
	names := &keys{found: make([]uint64, kept)}
	var hashes []uint64
	for i := range uint64(kept) {
		h, err := s.put(i+1, i+1)
		if err != nil {
			t.Fatal(err)
		}
		names.names, hashes = append(names.names, i+1), append(hashes, h)
	}
	done, stop := make(chan error, 1), make(chan struct{})
	go func() {
		r := rand.New(rand.NewPCG(1, 3))
		var there [100]bool
		for n := 0; ; n++ {
			select {
			case <-stop:
				done <- nil
				return
			default:
			}
			i := r.Uint64N(uint64(len(there)))
			name := 1000 + i
			var err error
			if there[i] {
				err = s.index.Delete(hashOf(name), name)
			} else {
				_, err = s.put(name, name)
			}
			if err != nil {
				done <- err
				return
			}
			there[i] = !there[i]
		}
	}()
	unsettled, gaveUp, torn := 0, 0, uint64(0)
	for range 400 {
		// The wait for a writer that loses its processor within a line is bounded.
		err := s.get(t.Context(), names, hashes)
		if errors.Is(err, offload.ErrTorn) {
			gaveUp++
			continue
		}
		if err != nil {
			t.Fatal(err)
		}
		torn += s.stats.Torn
		for i := range hashes {
			switch got := s.walk.Result(i); {
			case got == Unsettled:
				unsettled++
			case got != Found || names.found[i] != uint64(i+1):
				t.Fatalf("key %d: result %d, found %d", i+1, got, names.found[i])
			}
		}
	}
	close(stop)
	if err := <-done; err != nil {
		t.Fatal(err)
	}
	if gaveUp > 200 {
		t.Errorf("%d of 400 walks gave up", gaveUp)
	}
	t.Logf("%d unsettled, %d gave up, %d torn, %+v", unsettled, gaveUp, torn, s.index.Stats())
}

func TestOtherServer(t *testing.T) {
	s := newSite(t, cuckoo.Options{})
	s.table.BootID = 8
	k := &keys{names: []uint64{1}, found: make([]uint64, 1)}
	if err := s.get(t.Context(), k, []uint64{1}); !errors.Is(err, ErrServerChanged) {
		t.Errorf("error %v", err)
	}
	if err := s.walk.Begin(s.table, make([]uint64, MaxLookups+1), k); !errors.Is(err, ErrTooMany) {
		t.Errorf("error %v", err)
	}
}

func TestWalkDoesNotAllocate(t *testing.T) {
	s := newSite(t, cuckoo.Options{})
	k := &keys{found: make([]uint64, 64)}
	var hashes []uint64
	for i := range uint64(64) {
		h, err := s.put(i+1, i+1)
		if err != nil {
			t.Fatal(err)
		}
		k.names, hashes = append(k.names, i+1), append(hashes, h)
	}
	drive := &driver{s: s}
	drive.run(t, k, hashes)
	if a := testing.AllocsPerRun(100, func() { drive.run(t, k, hashes) }); a != 0 {
		t.Errorf("%v allocations", a)
	}
}

// driver carries a walk over the memory itself, without a channel.
type driver struct {
	s     *site
	reads int
}

func (d *driver) run(t testing.TB, k *keys, hashes []uint64) {
	w := &d.s.walk
	if err := w.Begin(d.s.table, hashes, k); err != nil {
		t.Fatal(err)
	}
	for {
		ref, ok, err := w.Next()
		if err != nil || !ok {
			break
		}
		d.reads++
		if _, err := w.Visit(ref, d.s.mem[ref.Offset:][:ref.Len]); err != nil {
			break
		}
	}
}

// FuzzMemory: whatever the server's memory holds, lookups end, name only bytes of the
// slab, and read it a bounded number of times.
func FuzzMemory(f *testing.F) {
	x, err := cuckoo.New(cuckoo.GCuckoo, cuckooSlab(), cuckoo.Options{Items: 1, Buckets: 2, MaxLoad: 1, BootID: 7})
	if err != nil {
		f.Fatal(err)
	}
	_ = x.Insert(5, 5)
	f.Add([]byte{0, 1}, uint64(5))
	f.Add([]byte{0, 56, 9, 40, 1, 3}, uint64(1))
	f.Fuzz(func(t *testing.T, changes []byte, hash uint64) {
		mem := cuckooSlab()
		if _, err := cuckoo.New(cuckoo.GCuckoo, mem, cuckoo.Options{Items: 1, Buckets: 2, MaxLoad: 1, BootID: 7}); err != nil {
			t.Fatal(err)
		}
		// Each three bytes change one of the header, the stash or the buckets.
		for ; len(changes) >= 3; changes = changes[3:] {
			at := int(changes[0]) | int(changes[1])<<8
			mem[at%len(mem)] = changes[2]
		}
		d := &hostile{mem: mem}
		var w Walk
		tab := &Table{Bytes: uint64(len(mem)), BootID: 7}
		hashes := []uint64{hash, hash + 1, hash >> 7}
		if err := w.Begin(tab, hashes, d); err != nil {
			t.Fatal(err)
		}
		torn := 0
		for reads := 0; ; reads++ {
			if reads > 3*maxLooks*(4+1+1+60) {
				t.Fatalf("%d reads", reads)
			}
			ref, ok, err := w.Next()
			if err != nil || !ok {
				return
			}
			var block [BlockBytes]byte
			if ref.Tag>>kindShift != kindRecord {
				if ref.Offset > uint64(len(mem)) || uint64(ref.Len) > uint64(len(mem))-ref.Offset {
					t.Fatalf("read of %d bytes at %d", ref.Len, ref.Offset)
				}
				copy(block[:], mem[ref.Offset:][:ref.Len])
			}
			v, err := w.Visit(ref, block[:ref.Len])
			if err != nil {
				return
			}
			if v != offload.Accept {
				if torn++; torn > 10 { // the channel gives up
					return
				}
			}
		}
	})
}

func cuckooSlab() []byte { return aligned(16 << 10) }

// hostile is a Follower that finds every record stale.
type hostile struct{ mem []byte }

func (h *hostile) Candidates(_ int, refs []uint64, hop uint16, dst []offload.Ref) ([]offload.Ref, error) {
	for range refs {
		dst = append(dst, offload.Ref{Len: 64, Read: offload.Read{Hop: hop}})
	}
	return dst, nil
}

func (h *hostile) Visit(_ int, _ offload.Ref, _ []byte, dst []offload.Ref) ([]offload.Ref, Judgement, offload.Verdict, error) {
	return dst, Stale, offload.Accept, nil
}
