package remote

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
	"unsafe"

	"github.com/catfish-index/catfish/internal/record"
)

const ms = time.Millisecond

func (p *Pointers) expect(t *testing.T, hash uint64, now time.Duration, ref record.Ref, until time.Duration) {
	t.Helper()
	got, end, ok := p.Get(hash, now)
	if ok != (ref != 0) || got != ref || end != until {
		t.Errorf("hash %x at %v: %d until %v, %t; want %d until %v", hash, now, got, end, ok, ref, until)
	}
}

// TestPointers: the effect of each call on one entry.
func TestPointers(t *testing.T) {
	p := NewPointers(1 << 16)
	const h = 0xabcdef
	p.expect(t, h, 0, 0, 0)
	p.Put(h, 7, 0, 1000*ms+999) // ends are rounded down, to the safe side
	p.expect(t, h, 0, 7, 1000*ms)
	p.expect(t, h, 1000*ms-1, 7, 1000*ms)
	p.expect(t, h, 1000*ms, 0, 0)
	p.expect(t, h+1, 0, 0, 0)
	p.Put(h, 7, 0, 500*ms)
	p.expect(t, h, 0, 7, 1000*ms)
	p.Put(h, 7, 900*ms, 3000*ms)
	p.expect(t, h, 2999*ms, 7, 3000*ms)
	p.Put(h, 8, 0, 500*ms) // another record of the key
	p.expect(t, h, 0, 8, 500*ms)
	p.Put(h, 9, 400*ms, 400*ms) // ended already
	p.expect(t, h, 400*ms, 8, 500*ms)
	p.Forget(h, 7)
	p.expect(t, h, 0, 8, 500*ms)
	p.Renewed(Renewal{Hash: h, Ref: 7}, 0, 4000*ms)
	p.expect(t, h, 0, 8, 500*ms)
	p.Renewed(Renewal{Hash: h, Ref: 8}, 0, 4000*ms)
	p.expect(t, h, 0, 8, 4000*ms)
	p.Forget(h, 8)
	p.expect(t, h, 0, 0, 0)
	p.Renewed(Renewal{Hash: h + 1, Ref: 8}, 0, 4000*ms)
	p.expect(t, h+1, 0, 0, 0)
	const year = 365 * 24 * time.Hour
	p.Put(h, 1<<63, 290*year, 290*year+time.Hour) // a lease longer than any of a server
	p.expect(t, h, 290*year, 1<<63, 290*year+record.MaxLease)
	p.expect(t, h, 290*year-time.Second, 0, 0) // nor is one taken that was put by another clock
}

// entry of the model.
type kept struct {
	ref      record.Ref
	end, due time.Duration
	asked    bool
}

// TestPointersModel: with room for all, the cache is a map with ends.
func TestPointersModel(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	p := NewPointers(1 << 16)
	// Four hashes of each of ten sets, the first of them 0.
	var hashes []uint64
	for step := ^uint64(0)/uint64(len(p.sets)) + 1; len(hashes) < 40; {
		hashes = append(hashes, uint64(len(hashes)/4)*step+uint64(len(hashes)%4))
	}
	model := map[uint64]*kept{}
	var waiting []Renewal
	grant := func(h uint64, ref record.Ref, now, until time.Duration) {
		if until.Truncate(ms) > now {
			from := now.Truncate(ms)
			until = until.Truncate(ms)
			model[h] = &kept{ref: ref, end: until, due: until - ((until-from)/2/ms)*ms}
		}
	}
	now := time.Duration(0)
	dues := 0
	for step := range 200_000 {
		now += time.Duration(r.IntN(int(20 * ms)))
		h := hashes[r.IntN(len(hashes))]
		ref := record.Ref(1 + r.IntN(4))
		until := now + time.Duration(r.IntN(int(4*time.Second))) - time.Second
		k := model[h]
		live := k != nil && k.end > now
		switch r.IntN(8) {
		case 0:
			p.Put(h, ref, now, until)
			if k == nil || k.ref != ref || k.end < until.Truncate(ms) {
				grant(h, ref, now, until)
			}
		case 1:
			p.Forget(h, ref)
			if k != nil && k.ref == ref {
				delete(model, h)
			}
		case 2:
			p.Renewed(Renewal{Hash: h, Ref: ref}, now, until)
			if live && k.ref == ref && k.end < until.Truncate(ms) {
				grant(h, ref, now, until)
			}
		case 3:
			most := r.IntN(3)
			got := p.Due(now, nil, most)
			var want []Renewal
			for len(waiting) > 0 && len(want) < most {
				if waiting[0].Until > now {
					want = append(want, waiting[0])
				}
				waiting = waiting[1:]
			}
			if dues += len(got); !slices.Equal(got, want) {
				t.Fatalf("seed %d, step %d: due are %v, want %v", seed, step, got, want)
			}
		default:
			var want kept
			if live {
				want = *k
				if now >= k.due && !k.asked {
					k.asked = true
					waiting = append(waiting, Renewal{Hash: h, Ref: k.ref, Until: k.end})
					waiting = waiting[max(0, len(waiting)-len(p.due.ring)):]
				}
			}
			if ref, until, ok := p.Get(h, now); ok != live || ref != want.ref || until != want.end {
				t.Fatalf("seed %d, step %d: hash %x at %v: %d until %v, %t; want %d until %v",
					seed, step, h, now, ref, until, ok, want.ref, want.end)
			}
			if p.Waiting() != len(waiting) {
				t.Fatalf("seed %d, step %d: %d wait, want %d", seed, step, p.Waiting(), len(waiting))
			}
		}
	}
	if dues < 100 {
		t.Errorf("%d renewals", dues)
	}
}

// TestPointersReplace: which entry of a full set is replaced.
func TestPointersReplace(t *testing.T) {
	const s = time.Second
	for _, c := range []struct {
		what string
		ends [pointerWays]time.Duration
		hit  []int
		gone int
	}{
		{"the one that ends first", [...]time.Duration{5 * s, 4 * s, 3 * s, 6 * s, 7 * s}, nil, 2},
		{"one that was not hit", [...]time.Duration{5 * s, 4 * s, 3 * s, 6 * s, 7 * s}, []int{0, 1, 2, 4}, 3},
		{"all were hit: the one that ends first", [...]time.Duration{5 * s, 4 * s, 3 * s, 6 * s, 7 * s}, []int{0, 1, 2, 3, 4}, 2},
		{"one that is over, hit or not", [...]time.Duration{5 * s, 4 * s, 3 * s, 6 * s, 1 * s}, []int{4}, 4},
	} {
		p := NewPointers(1)
		for i, end := range c.ends {
			p.Put(uint64(i), record.Ref(i+1), 0, end)
		}
		for _, i := range c.hit {
			p.expect(t, uint64(i), 0, record.Ref(i+1), c.ends[i])
		}
		const now = 2 * s
		p.Put(99, 99, now, 9*s)
		p.expect(t, 99, now, 99, 9*s)
		for i, end := range c.ends {
			if i == c.gone {
				p.expect(t, uint64(i), 0, 0, 0)
			} else {
				p.expect(t, uint64(i), 0, record.Ref(i+1), end)
			}
		}
		if t.Failed() {
			t.Fatal(c.what)
		}
	}
}

// TestRenewals: a hit in the second half of a lease asks for the next one, once.
func TestRenewals(t *testing.T) {
	p := NewPointers(1 << 16)
	p.Put(1, 1, 1000*ms, 3000*ms)
	p.Get(1, 2000*ms-1)
	if p.Waiting() != 0 {
		t.Error("asked for too early")
	}
	p.Get(1, 2000*ms)
	p.Get(1, 2500*ms)
	want := Renewal{Hash: 1, Ref: 1, Until: 3000 * ms}
	if p.Waiting() != 1 {
		t.Fatalf("%d wait", p.Waiting())
	}
	if got := p.Due(2600*ms, nil, 64); !slices.Equal(got, []Renewal{want}) {
		t.Fatalf("due are %v", got)
	}
	p.Get(1, 2700*ms)
	if got := p.Due(2700*ms, nil, 64); len(got) != 0 {
		t.Errorf("again: %v", got)
	}
	p.Renewed(want, 2600*ms, 4600*ms)
	p.Get(1, 3599*ms)
	if p.Waiting() != 0 {
		t.Error("asked for too early after it was renewed")
	}
	p.Get(1, 3600*ms)
	if got := p.Due(4600*ms, nil, 64); len(got) != 0 || p.Waiting() != 0 {
		t.Errorf("too late: %v, %d wait", got, p.Waiting())
	}

	// More than the ring has room for: the oldest are dropped.
	p = NewPointers(1 << 20)
	room := len(p.due.ring)
	for i := range room + 10 {
		hash := uint64(i) * (^uint64(0) / uint64(room+10))
		p.Put(hash, record.Ref(i+1), 0, 2*time.Second)
		p.Get(hash, time.Second)
	}
	all := p.Due(time.Second, nil, 1<<20)
	if len(all) != room || all[0].Ref != 11 || all[room-1].Ref != record.Ref(room+10) {
		t.Errorf("%d are due, from %d to %d", len(all), all[0].Ref, all[len(all)-1].Ref)
	}
}

// TestPointersBounds: a cache is as large as its limit allows.
func TestPointersBounds(t *testing.T) {
	if n := unsafe.Sizeof(pointerSet{}); n != setBytes || setBytes != 128 {
		t.Errorf("a set has %d bytes", n)
	}
	if n := unsafe.Sizeof(Renewal{}); n != renewalBytes {
		t.Errorf("a renewal has %d bytes", n)
	}
	for _, limit := range []int64{-1, 1, 152, 10_000, 1 << 20, 16 << 20} {
		p := NewPointers(limit)
		bytes := int64(len(p.sets)*setBytes + len(p.due.ring)*renewalBytes)
		if bytes > limit && p.Cap() > pointerWays || bytes < limit*8/10 {
			t.Errorf("limit %d: %d bytes", limit, bytes)
		}
		live := 0
		for i := range 3 * min(p.Cap(), 1<<14) {
			p.Put(rand.Uint64(), record.Ref(i+1), 0, time.Second)
		}
		for i := range p.sets {
			for k := range p.sets[i].entries {
				if lease(p.sets[i].entries[k].lease.Load()).end() > 0 {
					live++
				}
			}
		}
		if least := min(p.Cap(), 1<<14) * 9 / 10; live < least {
			t.Errorf("limit %d: %d entries, want %d", limit, live, least)
		}
	}
}

// TestPointersConcurrent: under concurrent calls, a reference comes with the end with
// which it was put, and from the hash under which it was put.
func TestPointersConcurrent(t *testing.T) {
	p := NewPointers(1000)
	const hashes = 40
	hashOf := func(ref record.Ref) uint64 { return uint64(ref) % hashes * (^uint64(0) / hashes) }
	endOf := func(ref record.Ref) time.Duration { return time.Duration(1000+uint64(ref)*7919%60_000) * ms }
	rounds := 300_000
	if underRace {
		rounds = 30_000
	}
	var group sync.WaitGroup
	var hits, renewed [4]int
	for g := range hits {
		group.Go(func() {
			r := rand.New(rand.NewPCG(uint64(g), 1))
			var due []Renewal
			for i := range rounds {
				now := time.Duration(i%2000) * ms
				ref := record.Ref(1 + r.IntN(1<<20))
				hash := hashOf(ref)
				switch r.IntN(8) {
				case 0, 1:
					p.Put(hash, ref, 0, endOf(ref))
				case 2:
					p.Forget(hash, ref)
				case 3:
					due = p.Due(now, due[:0], 4)
					for _, d := range due {
						if hashOf(d.Ref) != d.Hash || endOf(d.Ref) != d.Until {
							t.Errorf("due is %+v", d)
							return
						}
						p.Renewed(d, now, d.Until) // with the same end
						renewed[g]++
					}
				default:
					got, until, ok := p.Get(hash, now)
					if ok && (hashOf(got) != hash || endOf(got) != until) {
						t.Errorf("hash %x: %d until %v, want one until %v", hash, got, until, endOf(got))
						return
					}
					if ok {
						hits[g]++
					}
				}
			}
		})
	}
	group.Wait()
	for g := range hits {
		if hits[g] < rounds/20 || renewed[g] == 0 {
			t.Errorf("%d hits and %d renewals of goroutine %d", hits[g], renewed[g], g)
		}
	}
}

// TestPointersHalfWritten: whichever words of an entry a writer has stored, no mixture is returned;
// and if it ends there, the entry is found and replaced as any other.
func TestPointersHalfWritten(t *testing.T) {
	const s = time.Second
	for name, second := range map[string]struct {
		hash uint64
		ref  record.Ref
		end  time.Duration
	}{
		"another lease":            {1, 1, 20 * s},
		"another record":           {1, 2, 10 * s},
		"another lease and record": {1, 2, 20 * s},
		"another key":              {2, 1, 10 * s},
		"all":                      {2, 2, 20 * s},
	} {
		for stored := range 8 {
			p := NewPointers(1)
			p.Put(second.hash, second.ref, 0, second.end)
			e := p.sets[0].find(second.hash)
			words := [...]uint64{e.ref.Load(), e.lease.Load(), e.tag.Load()}
			e.lease.Store(0)
			p.Put(1, 1, 0, 10*s)
			if e := p.sets[0].find(1); e != &p.sets[0].entries[0] {
				t.Fatal("another entry")
			}
			for i, w := range words {
				if stored>>i&1 != 0 {
					[]*atomic.Uint64{&e.ref, &e.lease, &e.tag}[i].Store(w)
				}
			}
			for _, hash := range []uint64{1, 2} {
				ref, until, ok := p.Get(hash, s)
				first := hash == 1 && ref == 1 && until == 10*s
				if ok && !first && (hash != second.hash || ref != second.ref || until != second.end) {
					t.Errorf("%s, stored %03b: hash %d has %d until %v", name, stored, hash, ref, until)
				}
			}
			p.Put(3, 3, 30*s, 40*s)
			p.expect(t, 3, 30*s, 3, 40*s)
			if p.sets[0].find(3) != e {
				t.Errorf("%s, stored %03b: the entry is not used again", name, stored)
			}
		}
	}
}

// TestPointersAllocateNothing, but once.
func TestPointersAllocateNothing(t *testing.T) {
	if underRace {
		return // the race detector allocates
	}
	p := NewPointers(1 << 16)
	due := make([]Renewal, 0, 64)
	i := uint64(0)
	if n := testing.AllocsPerRun(1000, func() {
		i++
		hash := i << 54
		p.Put(hash, record.Ref(i), 0, time.Second)
		p.Get(hash, 600*ms)
		for _, r := range p.Due(600*ms, due, 64) {
			p.Renewed(r, 600*ms, 2*time.Second)
			p.Forget(r.Hash, r.Ref)
		}
	}); n > 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestPointerCaches: one cache for each key, nil for 0 bytes.
func TestPointerCaches(t *testing.T) {
	var c PointerCaches
	k := PointersKey{Addr: "a:1", BootID: 2, Collection: 3, Bytes: 1 << 16}
	keys := []PointersKey{k, k, k, k, k}
	keys[1].Addr = "b:1"
	keys[2].BootID++
	keys[3].Collection++
	keys[4].Bytes *= 2
	seen := map[*Pointers]bool{}
	for _, k := range keys {
		p, release := c.Share(k)
		defer release()
		seen[p] = true
		if again, release := c.Share(k); again != p {
			t.Errorf("two users of %+v share nothing", k)
		} else {
			release()
		}
	}
	if len(seen) != len(keys) {
		t.Errorf("%d caches for %d keys", len(seen), len(keys))
	}
	k.Bytes = 0
	if p, release := c.Share(k); p != nil {
		t.Error("a cache of no bytes")
	} else {
		release()
	}
}

// Of many clients one at a time renews leases.
func TestOneClientRenewsAtATime(t *testing.T) {
	p := NewPointers(1 << 20)
	for i, c := range []struct {
		at   time.Duration
		want bool
	}{{time.Second, true}, {time.Second, false}, {time.Second + 9, false}, {time.Second + 10, true}, {2 * time.Second, true}} {
		if got := p.Turn(c.at, 10); got != c.want {
			t.Errorf("call %d at %v: %t", i, c.at, got)
		}
	}
}
