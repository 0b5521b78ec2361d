package kv

import (
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/record"
)

// A Map's work beside its requests: it frees places of dead records, empties sparse
// spans, continues the table's growth, and removes expired records. All of it is done
// in small pieces, some with each write and some with each Tidy.

const (
	// tidyEachWrite: a write leaves one dead record; twice as many are freed. A write
	// of a record that expires examines as many that do, or a bucket of them: so at any
	// rate of such writes at most half of the records have expired.
	tidyEachWrite = 2
	// tidyWhenFull: the memory has no room; this takes a millisecond, and so is done
	// once in one at most.
	tidyWhenFull  = 4096
	tidyFullEvery = time.Millisecond
)

// Tidy does the given number of pieces of such work, some 0.2 us each, and reports
// whether more may be left.
func (m *Map) Tidy(pieces int) (more bool) {
	if m.lock() != nil {
		return false
	}
	defer m.mu.Unlock()
	now := m.now()
	more = m.tidy(now, pieces)
	more = m.index.Advance(pieces) || more
	more = m.expire(now, pieces) || more
	m.heap.Trim(1)
	return more
}

// tidy frees places, and reports whether it freed any.
func (m *Map) tidy(now time.Duration, most int) bool {
	n := m.heap.Reclaim(now, most)
	if most > tidyEachWrite {
		n += m.heap.Compact(now, most, m.relocate)
	}
	return n > 0
}

// makeRoom is for a write that found no room, and reports whether it freed any. The
// places of records that have expired become free after the grace.
func (m *Map) makeRoom(now time.Duration) bool {
	if m.wasFull != 0 && now-m.wasFull < tidyFullEvery {
		return false
	}
	m.wasFull = now
	m.expire(now, tidyWhenFull)
	return m.tidy(now, tidyWhenFull)
}

// relocate makes the index lead to the place to which a record was moved.
func (m *Map) relocate(key []byte, from, to record.Ref) bool {
	hash := cuckoo.Hash(m.seed, key)
	if m.index.Replace(hash, uint64(from), uint64(to)) != nil {
		return false
	}
	if m.follow != nil && m.follow(from, to) != nil {
		// The index leads to the old place again: that record is still alive.
		_ = m.index.Replace(hash, uint64(to), uint64(from))
		return false
	}
	if m.cache != nil {
		m.cache.marks.begin(to, m.cache.marks.take(from))
	}
	m.heap.Advance(m.now()) // No index leads to the old record now.
	return true
}

// expire removes those of the next few records that have expired, and reports whether
// to continue: a quarter of them had. Examining takes a cold read or two a record, so
// it is left out while no record ever expires.
func (m *Map) expire(now time.Duration, most int) (more bool) {
	if m.mortal == 0 {
		return false
	}
	m.looks = m.looks[:0]
	next, err := m.index.Scan(m.expiring, most, m.look)
	m.expiring = next
	if err != nil || next.Done {
		m.expiring = cuckoo.Cursor{}
	}
	gone := 0
	for _, l := range m.looks {
		v, err := m.heap.View(l.ref, nil)
		switch {
		case err != nil || !expired(v.Expiry, now):
		case m.expired != nil:
			m.expired(v.Key, v.Revision)
		default:
			gone++
			if m.remove(l.hash, l.ref, 0, now) == nil {
				m.count(true, false)
				m.counts.Expired++
			}
		}
	}
	return gone > 0 && 4*gone >= len(m.looks)
}

// indexed is a record that the index leads to.
type indexed struct {
	hash uint64
	ref  record.Ref
}

// Stats describes a Map.
type Stats struct {
	Puts     uint64       `json:"puts"`
	Deletes  uint64       `json:"deletes"`
	Expired  uint64       `json:"expired"`
	Cache    CacheStats   `json:"cache,omitzero"`
	Revision uint64       `json:"revision"` // of the last write
	Records  record.Stats `json:"records"`
	Index    cuckoo.Stats `json:"index"`
}

// Add adds those of another Map: Revision becomes the later one, each maximum the
// larger one.
func (s *Stats) Add(o Stats) {
	s.Puts += o.Puts
	s.Deletes += o.Deletes
	s.Expired += o.Expired
	s.Cache.add(o.Cache)
	s.Revision = max(s.Revision, o.Revision)
	s.Records.Add(o.Records)
	s.Index.Add(o.Index)
}

// Len is the number of records, those included that have expired and are not removed
// yet.
func (m *Map) Len() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.index.Len()
}

// Stats returns the statistics.
func (m *Map) Stats() Stats {
	m.mu.Lock()
	defer m.mu.Unlock()
	s := m.counts
	s.Revision, s.Records, s.Index = m.revision, m.heap.Stats(), m.index.Stats()
	if m.cache != nil {
		s.Cache.LimitBytes, s.Cache.Bytes = int(m.cache.limit), int(m.cache.bytes)
		s.Cache.Hits, s.Cache.Misses = m.gate.gets()
	}
	return s
}

// Grant gives leases on records whose references a client has, in the order of refs: how
// long it may keep each, counted from when it sent its request; 0: not at all.
func (m *Map) Grant(refs []record.Ref, dst []time.Duration) []time.Duration {
	if m.lock() != nil {
		return append(dst, make([]time.Duration, len(refs))...)
	}
	defer m.mu.Unlock()
	dst = m.heap.GrantMany(refs, m.now(), dst)
	if m.cache != nil {
		for i, lease := range dst[len(dst)-len(refs):] {
			if lease > 0 {
				m.cache.marks.set(refs[i])
			}
		}
	}
	return dst
}
