package remote

import (
	"container/list"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/ycsb"
)

// listCache is a cache without leases whose entries are in one list: FIFO, or LRU
// if hits go to the front.
type listCache struct {
	room int
	lru  bool
	list list.List
	of   map[uint64]*list.Element
}

func (c *listCache) hit(k uint64) bool {
	if e := c.of[k]; e != nil {
		if c.lru {
			c.list.MoveToFront(e)
		}
		return true
	}
	if len(c.of) == c.room {
		delete(c.of, c.list.Remove(c.list.Back()).(uint64))
	}
	c.of[k] = c.list.PushFront(k)
	return false
}

// TestPointersZipf: with room for a tenth of the keys, drawn by Zipf 0.99, more are
// found than by FIFO, though sets have but five places; and more than by LRU over all
// entries if leases are renewed, as then popular records have the longest ones.
func TestPointersZipf(t *testing.T) {
	const (
		keys = 1 << 16
		rate = 256 << 10 // reads a second: each entry sees 2.5 in a second's lease
		read = 4 * rate
	)
	for _, renewing := range []bool{false, true} {
		p := NewPointers(keys / 10 * setBytes / pointerWays)
		fifo := listCache{room: p.Cap(), of: map[uint64]*list.Element{}}
		lru := listCache{room: p.Cap(), of: map[uint64]*list.Element{}, lru: true}
		z, err := ycsb.NewZipf(keys, 0.99)
		if err != nil {
			t.Fatal(err)
		}
		r := ycsb.NewRandom(1, 1)
		first := time.Minute // no lease ends
		if renewing {
			first = record.DefaultGrace
		}
		var due []Renewal
		grants := map[record.Ref]time.Duration{}
		var hits, byFIFO, byLRU, renewals int
		for i := range read {
			now := time.Duration(i) * time.Second / rate
			k := z.Next(r)
			hash := cuckoo.Hash(1, []byte{byte(k), byte(k >> 8), byte(k >> 16)})
			ref := record.Ref(k + 1)
			_, _, ok := p.Get(hash, now)
			if !ok {
				p.Put(hash, ref, now, now+first)
			}
			if renewing && p.Waiting() >= 64 {
				due = p.Due(now, due[:0], 64)
				renewals += len(due)
				for _, r := range due {
					grants[r.Ref] = min(grants[r.Ref]+time.Second, 64*time.Second)
					p.Renewed(r, now, now+grants[r.Ref])
				}
			}
			inFIFO, inLRU := fifo.hit(k), lru.hit(k)
			if i < read/2 {
				continue // caches fill
			}
			hits += count(ok)
			byFIFO += count(inFIFO)
			byLRU += count(inLRU)
		}
		t.Logf("renewing %t: %d entries; hits %.3f, FIFO %.3f, LRU %.3f; %d renewals",
			renewing, p.Cap(), share(hits, read/2), share(byFIFO, read/2), share(byLRU, read/2), renewals)
		if hits <= byFIFO || renewing && hits <= byLRU {
			t.Errorf("renewing %t: %d hits, FIFO %d, LRU %d", renewing, hits, byFIFO, byLRU)
		}
	}
}

func count(ok bool) int {
	if ok {
		return 1
	}
	return 0
}

func share(n, of int) float64 { return float64(n) / float64(of) }

// BenchmarkPointers: hits, and entries put in place of others, in a cache that stays in
// the processor's cache and in one that does not.
func BenchmarkPointers(b *testing.B) {
	for _, bytes := range []int64{16 << 10, 256 << 20} {
		p := NewPointers(bytes)
		n := p.Cap() / 2
		r := rand.New(rand.NewPCG(1, 1))
		hashes := make([]uint64, n)
		for i := range hashes {
			hashes[i] = r.Uint64()
			p.Put(hashes[i], record.Ref(i+1), 0, time.Minute)
		}
		r.Shuffle(n, func(i, j int) { hashes[i], hashes[j] = hashes[j], hashes[i] })
		b.Run(fmt.Sprintf("op=get/KiB=%d", bytes>>10), func(b *testing.B) {
			i, hits := 0, 0
			for b.Loop() {
				_, _, ok := p.Get(hashes[i], time.Second)
				hits += count(ok)
				if i++; i == n {
					i = 0
				}
			}
			b.ReportMetric(share(hits, b.N), "hits/op")
		})
		b.Run(fmt.Sprintf("op=get-parallel/KiB=%d", bytes>>10), func(b *testing.B) {
			b.RunParallel(func(pb *testing.PB) {
				for i := 0; pb.Next(); {
					p.Get(hashes[i], time.Second)
					if i++; i == n {
						i = 0
					}
				}
			})
		})
		b.Run(fmt.Sprintf("op=put/KiB=%d", bytes>>10), func(b *testing.B) {
			for b.Loop() {
				p.Put(r.Uint64(), 1, 0, time.Minute)
			}
		})
	}
}
