package cuckoo

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"syscall"
	"testing"
	"unsafe"
)

// sparse returns zeros, of which only touched pages cost memory.
func sparse(b testing.TB, n int) []byte {
	mem, err := syscall.Mmap(-1, 0, n, syscall.PROT_READ|syscall.PROT_WRITE,
		syscall.MAP_PRIVATE|syscall.MAP_ANON|syscall.MAP_NORESERVE)
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = syscall.Munmap(mem) })
	return mem
}

// hashOf is the hash of key i, without a key: SplitMix64's output function.
func hashOf(i uint64) uint64 {
	i = (i + 1) * 0x9E3779B97F4A7C15
	i = (i ^ i>>30) * 0xBF58476D1CE4E5B9
	i = (i ^ i>>27) * 0x94D049BB133111EB
	return i ^ i>>31
}

// lookupTable fills a table, which does not grow, to a load with the first of the keys of
// hashOf: about n of them, as many as a power of two of buckets gives. The load of kind Compact
// counts the slots of its heads; what overflows takes buckets of its own.
func lookupTable(b *testing.B, l layout, load float64, n int) (x Index, keys uint64) {
	slots := 2 * l.items // of a bucket of each table
	if l.kind == Compact {
		slots = compactSlots
	}
	fill := func(buckets int) float64 { return load * float64(slots*buckets) }
	buckets := 64
	for fill(buckets)*math.Sqrt2 < float64(n) {
		buckets *= 2
	}
	x, err := New(l.kind, sparse(b, 16<<30), Options{Items: l.items, Buckets: buckets, MaxLoad: 1})
	if err != nil {
		b.Fatal(err)
	}
	keys = uint64(fill(buckets))
	for i := range keys {
		if err := x.Insert(hashOf(i), i+1); err != nil {
			b.Fatal(err)
		}
	}
	if s := x.Stats(); s.Grown > 0 {
		b.Fatalf("%d growths: no load of %v", s.Grown, load)
	}
	return x, keys
}

// BenchmarkLookup compares tables at equal loads, by keys that the caches do not hold: 0.45,
// which tables with one item a bucket still have, and 0.9, which the others have. Besides the
// time of a lookup it reports the references that one gives, of which those beyond the key's own
// are false matches of signatures, bytes of memory that readers see an item, and the load of all
// buckets. The 10 million need 1.5 GB; -short leaves them out.
func BenchmarkLookup(b *testing.B) {
	all := []layout{{GCuckoo, 1}, {GCuckoo, 4}, {GCuckoo, 5}, {Conventional, 1}, {Conventional, 4}, {Conventional, 5}, {Compact, 0}}
	for _, n := range []int{1_000_000, 10_000_000} {
		if n > 1_000_000 && testing.Short() {
			continue
		}
		for _, load := range []float64{0.45, 0.9} {
			for _, l := range all {
				if l.items == 1 && load > 0.5 {
					continue
				}
				b.Run(fmt.Sprintf("keys=%d/load=%v/kind=%v/items=%d", n, load, l.kind, l.items), func(b *testing.B) {
					x, keys := lookupTable(b, l, load, n)
					for _, hit := range []bool{true, false} {
						b.Run(fmt.Sprintf("hit=%v", hit), func(b *testing.B) {
							r := rand.New(rand.NewPCG(1, 1))
							var buf [16]uint64
							found := 0
							for b.Loop() {
								i := r.Uint64N(keys)
								if !hit {
									i += keys
								}
								found += len(x.Lookup(buf[:0], hashOf(i)))
							}
							if hit && found < b.N {
								b.Fatal("not found")
							}
							s := x.Stats()
							b.ReportMetric(float64(found)/float64(b.N), "refs/op")
							b.ReportMetric(float64(s.Bytes)/float64(s.Items), "B/item")
							b.ReportMetric(s.Load(), "buckets-load")
						})
					}
				})
			}
		}
	}
}

// BenchmarkMap is Go's map, to compare with Lookup.
func BenchmarkMap(b *testing.B) {
	const n = 1_000_000
	m := make(map[uint64]uint64, n)
	for i := range uint64(n) {
		m[hashOf(i)] = i
	}
	r := rand.New(rand.NewPCG(1, 1))
	sum := uint64(0)
	for b.Loop() {
		sum += m[hashOf(r.Uint64N(n))]
	}
	if sum == 0 {
		b.Fatal("not found")
	}
}

// churnLoads are the loads at which tables are kept, by items a bucket, the last beyond the
// default load at which they grow.
var churnLoads = map[int][]float64{1: {0.4, 0.48, 0.495}, 4: {0.9, 0.94, 0.97}, 5: {0.9, 0.96, 0.98}}

// churned fills a table that does not grow to a load, and replaces its items, by n inserts.
func churned(t testing.TB, x Index, load float64, n int, r *rand.Rand) {
	items := int(load * float64(x.Stats().Capacity))
	held := make([][2]uint64, 0, items)
	for i := range n {
		if len(held) == items {
			j := r.IntN(items)
			if err := x.Delete(held[j][0], held[j][1]); err != nil {
				t.Fatal(err)
			}
			held[j] = held[items-1]
			held = held[:items-1]
		}
		item := [2]uint64{r.Uint64(), uint64(i) + 1}
		if err := x.Insert(item[0], item[1]); errors.Is(err, ErrFull) || errors.Is(err, ErrTooManyAlike) {
			continue
		} else if err != nil {
			t.Fatal(err)
		}
		held = append(held, item)
	}
}

// churnTable has two tables of this many buckets and does not grow.
func churnTable(t testing.TB, l layout, log2 uint8, seed uint64) Index {
	x, err := New(l.kind, aligned(firstTables+int(tablesBytes(log2))), Options{Items: l.items, Buckets: 1 << log2, MaxLoad: 1, Seed: seed})
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// BenchmarkChurn replaces the items of tables at loads up to where they are full. An
// operation is a table of 2 x 4,096 buckets, filled and then replaced eight times. Loops are
// random walks that were given up after 500 kicks, the usual sign of an endless one.
func BenchmarkChurn(b *testing.B) {
	for _, kind := range []Kind{GCuckoo, Conventional} {
		for _, items := range []int{1, 4, 5} {
			for _, load := range churnLoads[items] {
				b.Run(fmt.Sprintf("kind=%v/items=%d/load=%v", kind, items, load), func(b *testing.B) {
					var inserts, loops, kicks float64
					longest, seed := 0, uint64(0)
					r := rand.New(rand.NewPCG(1, 2))
					for b.Loop() {
						seed++
						x := churnTable(b, layout{kind, items}, 12, seed)
						churned(b, x, load, int(8*load*float64(x.Stats().Capacity)), r)
						s := x.Stats()
						inserts, loops, kicks = inserts+float64(s.Inserts), loops+float64(s.Loops), kicks+float64(s.Kicks)
						longest = max(longest, s.LongestKick)
					}
					b.ReportMetric(float64(b.Elapsed().Nanoseconds())/inserts, "ns/insert")
					b.ReportMetric(loops/inserts, "loops/insert")
					b.ReportMetric(kicks/inserts, "kicks/insert")
					b.ReportMetric(float64(longest), "longest")
				})
			}
		}
	}
}

// Every insertion of G-Cuckoo ends, and random walks loop.
func TestOnlyRandomWalksLoop(t *testing.T) {
	const inserts, log2 = 5_000, 6
	r := rand.New(rand.NewPCG(1, 2))
	loops := map[Kind]uint64{}
	for _, kind := range []Kind{GCuckoo, Conventional} {
		for items, loads := range churnLoads {
			for _, load := range loads {
				for seed := range uint64(5) {
					x := churnTable(t, layout{kind, items}, log2, seed)
					churned(t, x, load, inserts, r)
					s := x.Stats()
					if loops[kind] += s.Loops; s.LongestKick >= 2<<log2 {
						t.Errorf("%v, %d items a bucket, load %v: %d kicks of one insert", kind, items, load, s.LongestKick)
					}
					if kind == GCuckoo && items == 1 && s.CaseA+s.CaseB+s.CaseC1+s.CaseC2+s.CaseC3 != inserts {
						t.Errorf("the cases are not all inserts: %+v", s)
					}
				}
			}
		}
	}
	if loops[GCuckoo] != 0 || loops[Conventional] == 0 {
		t.Errorf("loops: %v", loops)
	}
}

// Tables with one item a bucket are half full when the first item goes to the stash, those
// with several above 0.9, as in the literature.
func TestLoadAtFirstStash(t *testing.T) {
	for _, kind := range []Kind{GCuckoo, Conventional} {
		for items := range churnLoads {
			x := churnTable(t, layout{kind, items}, 12, 1)
			for n := uint64(1); x.Stats().Stashed == 0; n++ {
				if err := x.Insert(hashOf(n), n); err != nil {
					t.Fatal(err)
				}
			}
			least, most := 0.9, 1.0
			if items == 1 {
				least, most = 0.4, 0.6
			}
			if load := x.Stats().Load(); load < least || load > most {
				t.Errorf("%v, %d items a bucket: %v", kind, items, load)
			}
		}
	}
}

// BenchmarkFill inserts into tables that do not grow, until the stash has its first
// item, and reports the load then and when half of the stash is full, at which a table
// grows at the latest, kicks an insert, and ns an insert.
func BenchmarkFill(b *testing.B) {
	for _, l := range []layout{{GCuckoo, 1}, {GCuckoo, 2}, {GCuckoo, 3}, {GCuckoo, 4}, {GCuckoo, 5}, {Conventional, 1}, {Conventional, 4}} {
		b.Run(fmt.Sprintf("kind=%v/items=%d", l.kind, l.items), func(b *testing.B) {
			var kicks, inserts, load, growth, longest float64
			n := uint64(0)
			for b.Loop() {
				x := churnTable(b, l, 17, 0)
				for x.Stats().Stashed == 0 {
					n++
					if err := x.Insert(hashOf(n), n); err != nil {
						b.Fatal(err)
					}
				}
				s := x.Stats()
				kicks += float64(s.Kicks)
				inserts += float64(s.Inserts)
				load += s.Load()
				longest = max(longest, float64(s.LongestKick))
				b.StopTimer()
				for x.Stats().Stash < StashItems/2 {
					n++
					if err := x.Insert(hashOf(n), n); err != nil {
						b.Fatal(err)
					}
				}
				growth += x.Stats().Load()
				b.StartTimer()
			}
			b.ReportMetric(growth/float64(b.N), "load-at-growth")
			b.ReportMetric(kicks/inserts, "kicks/insert")
			b.ReportMetric(load/float64(b.N), "load")
			b.ReportMetric(longest, "longest")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/inserts, "ns/insert")
		})
	}
}

// BenchmarkInsert grows a table from 64 buckets.
func BenchmarkInsert(b *testing.B) {
	for _, l := range []layout{{GCuckoo, 1}, {GCuckoo, 4}, {GCuckoo, 5}, {Conventional, 4}} {
		b.Run(fmt.Sprintf("kind=%v/items=%d", l.kind, l.items), func(b *testing.B) {
			x, err := New(l.kind, sparse(b, 16<<30), Options{Items: l.items})
			if err != nil {
				b.Fatal(err)
			}
			i := uint64(0)
			for b.Loop() {
				i++
				if err := x.Insert(hashOf(i), i); err != nil {
					b.Fatal(err)
				}
			}
			b.ReportMetric(x.Stats().Load(), "load")
		})
	}
}

func TestDoesNotAllocate(t *testing.T) {
	for _, l := range layouts {
		x, err := New(l.kind, aligned(1<<20), Options{Items: l.items, Buckets: 1024})
		if err != nil {
			t.Fatal(err)
		}
		n := uint64(0)
		for ; n < 900; n++ {
			if err := x.Insert(hashOf(n), n+1); err != nil {
				t.Fatal(err)
			}
		}
		var buf [16]uint64
		key := []byte("key of a record")
		if a := testing.AllocsPerRun(100, func() {
			h := hashOf(n % 900)
			n++
			_ = x.Lookup(buf[:0], h)
			_ = Hash(n, key)
			if x.Insert(^h, 5000) != nil || x.Replace(^h, 5000, 6000) != nil || x.Delete(^h, 6000) != nil {
				t.Fatal("write failed")
			}
		}); a != 0 {
			t.Errorf("%v, %d items a bucket: %v allocations", l.kind, l.items, a)
		}
	}
}

// TestSlabHoldsNoPointers: lines are words.
func TestSlabHoldsNoPointers(t *testing.T) {
	if unsafe.Sizeof(Line{}) != LineBytes {
		t.Errorf("a line has %d bytes", unsafe.Sizeof(Line{}))
	}
}
