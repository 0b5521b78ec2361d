package kv

import (
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/record"
)

// A Map as a cache
//
// A Map with a limit (Options.MaxBytes) evicts records by second chance, also known as
// CLOCK. A hand goes round the key index, in the order of Scan:
//
//	the record has         the hand
//	expired                evicts it
//	a mark                 clears the mark, and passes
//	a lease that runs      passes
//	neither                evicts it
//
// A put sets the mark, and so does each Get, without a lock (marks.go), and each lease. What
// clients read with a lease does not pass the server, so a lease counts for as long as it
// runs. Its place could not be used before the lease ends anyhow.
//
// An evicted record is deleted: the index drops it, then it is dead, and its place is used
// again after the grace and after its last lease.
//
// Put makes room before it stages. A store, which logs evictions, takes its victims from
// Victims, and removes them by EvictAs.

// cache is what a Map with a limit has besides. The lock guards all but marks.
type cache struct {
	limit int64
	bytes int64 // of the records that the index leads to
	marks marks
	hand  cuckoo.Cursor
	ahead []indexed // what the hand has come to; from next on it is to be judged
	next  int
	look  func(hash, ref uint64) // appends to ahead; made once: a closure allocates
}

const (
	// handPiece is the number of records, or a few more, that the hand takes at once.
	handPiece = 16
	// secondChances bounds the records that the hand passes in one search for victims,
	// 20 us; those that it comes to then are evicted, whatever they have.
	secondChances = 1024
	// No search passes a record more often: the first round may begin in the middle, the
	// second clears marks.
	mostRounds = 3
)

func newCache(limit int64, slabBytes int) *cache {
	c := &cache{limit: limit, marks: newMarks(slabBytes)}
	c.look = func(hash, ref uint64) { c.ahead = append(c.ahead, indexed{hash, record.Ref(ref)}) }
	return c
}

// RecordBytes is what a record counts against Options.MaxBytes: its header, key and value,
// in lines.
func RecordBytes(key, value int, expires bool) int64 {
	return int64(record.PlaceBytes(key, value, expires))
}

func bytesOf(v *record.View) int64 { return RecordBytes(len(v.Key), v.ValueBytes, v.Expiry != 0) }

// weigh is the bytes of a record, 0 of none.
func (m *Map) weigh(ref record.Ref) int64 {
	if ref == 0 {
		return 0
	}
	v, err := m.heap.View(ref, nil)
	if err != nil {
		return 0
	}
	return bytesOf(&v)
}

// MaxBytes is that of the options.
func (m *Map) MaxBytes() int64 {
	if m.cache == nil {
		return 0
	}
	return m.cache.limit
}

// Fits returns record.ErrTooLarge for a record that exceeds the limit alone.
func (m *Map) Fits(key []byte, bytes int64) error {
	if limit := m.MaxBytes(); limit > 0 && bytes > limit {
		return fmt.Errorf("%w: %q takes %d bytes, the limit of its collection, or shard, is %d", record.ErrTooLarge, key, bytes, limit)
	}
	return nil
}

// makeSpace evicts records so that a put does not exceed the limit. old is the record that
// it replaces, 0: none.
func (m *Map) makeSpace(key []byte, bytes int64, old record.Ref, now time.Duration) error {
	if err := m.Fits(key, bytes); err != nil {
		return err
	}
	need := m.cache.bytes + bytes - m.weigh(old) - m.cache.limit
	if left := m.choose(need, now, func(l indexed, v *record.View) bool {
		mortal := v.Expiry != 0
		if l.ref == old || m.remove(l.hash, l.ref, 0, now) != nil {
			return false
		}
		m.count(mortal, false)
		m.counts.Cache.Evicted++
		return true
	}); left > 0 {
		return fmt.Errorf("%w: %d bytes beyond the limit of %d, and nothing to evict", record.ErrFull, left, m.cache.limit)
	}
	return nil
}

// choose calls take with records, by second chance, until it has taken that many bytes,
// or all that it would take, and returns how many are left. take may remove the record.
func (m *Map) choose(bytes int64, now time.Duration, take func(l indexed, v *record.View) bool) (left int64) {
	c := m.cache
	for passed, rounds := 0, 0; bytes > 0; passed++ {
		for ; c.next == len(c.ahead); c.next = 0 {
			if rounds > mostRounds {
				return bytes
			}
			if m.turn() {
				rounds++
			}
		}
		l := c.ahead[c.next]
		c.next++
		marked := c.marks.take(l.ref)
		chances := passed < secondChances && rounds < mostRounds
		if marked && chances && m.mortal == 0 {
			continue
		}
		v, err := m.heap.View(l.ref, nil)
		if err != nil {
			continue // It was replaced since the hand has come to it.
		}
		if chances && !expired(v.Expiry, now) && (marked || m.heap.Leased(l.ref, now)) {
			continue
		}
		if n := bytesOf(&v); take(l, &v) {
			bytes -= n
		}
	}
	return bytes
}

// turn moves the hand on, and reports whether it begins another round.
func (m *Map) turn() (round bool) {
	c := m.cache
	c.ahead = c.ahead[:0]
	next, err := m.index.Scan(c.hand, handPiece, c.look)
	if c.hand = next; err != nil || next.Done {
		c.hand = cuckoo.Cursor{}
		return true
	}
	return false
}

// published accounts for a new record that the index leads to instead of one of before bytes.
func (c *cache) published(v *record.View, ref record.Ref, before int64) {
	c.bytes += bytesOf(v) - before
	c.marks.begin(ref, true)
}

// Victim is a record that is to be evicted.
type Victim struct {
	Key   []byte
	Bytes int64
}

// Victims chooses up to most records, until they have that many bytes, which stay until EvictAs. It
// leaves out those of which skip reports so, and returns fewer if there are no others.
func (m *Map) Victims(bytes int64, most int, skip func(key []byte) bool) (all []Victim) {
	if m.lock() != nil {
		return nil
	}
	defer m.mu.Unlock()
	chosen := map[record.Ref]bool{}
	m.choose(bytes, m.now(), func(l indexed, v *record.View) bool {
		if chosen[l.ref] || len(all) == most || skip(v.Key) {
			return false
		}
		chosen[l.ref] = true
		all = append(all, Victim{append([]byte(nil), v.Key...), bytesOf(v)})
		return true
	})
	return all
}

// EvictAs removes the record of a key, as DeleteAs does, and counts it as evicted.
func (m *Map) EvictAs(key []byte, revision uint64) error {
	err := m.DeleteAs(key, Condition{}, revision)
	if err == nil {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.counts.Deletes--
		m.counts.Cache.Evicted++
	}
	return err
}

// Bytes is what the records count against the limit, and Weigh what the record of a key
// does, 0: there is none. A record that has expired counts until it is deleted.
func (m *Map) Bytes() int64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.cache == nil {
		return 0
	}
	return m.cache.bytes
}

// Weigh is documented at Bytes.
func (m *Map) Weigh(key []byte) int64 {
	if m.lock() != nil {
		return 0
	}
	defer m.mu.Unlock()
	ref, _, _ := m.find(cuckoo.Hash(m.seed, key), key, m.now())
	return m.weigh(ref)
}

// CacheStats describe a Map with a limit; of others they are zero.
type CacheStats struct {
	LimitBytes int    `json:"limit_bytes"`
	Bytes      int    `json:"bytes"` // of records, up to the limit
	Evicted    uint64 `json:"evicted"`
	// Gets that the server has carried out, by whether the key had a record.
	Hits   uint64 `json:"hits"`
	Misses uint64 `json:"misses"`
}

func (s *CacheStats) add(o CacheStats) {
	s.LimitBytes += o.LimitBytes
	s.Bytes += o.Bytes
	s.Evicted += o.Evicted
	s.Hits += o.Hits
	s.Misses += o.Misses
}
