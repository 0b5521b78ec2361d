package store

import (
	"errors"
	"sync/atomic"
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/storestats"
	"github.com/catfish-index/catfish/rstar"
)

// Result is the outcome of a write.
type Result uint8

// Results. Writes that fail change nothing.
const (
	ResultPut       Result = iota // a feature or record was stored, or patched
	ResultDeleted                 // by a call
	ResultExpired                 // by its time
	ResultBoxes                   // a call changed kept boxes
	ResultCondition               // its condition did not hold, or there was no such feature or record
	ResultReadOnly                // the disk is full or failed
	ResultFull                    // there is no memory left for the collection
	ResultFailed                  // any other failure, such as a patch that is no object
	results
)

var resultNames = [results]string{"put", "deleted", "expired", "boxes", "condition", "read_only", "full", "failed"}

func (r Result) String() string {
	if r < results {
		return resultNames[r]
	}
	return "unknown"
}

// counters count writes that pass the commit queue.
type counters struct {
	writes  [results]atomic.Uint64
	batches disk.Histogram // writes
	commits disk.Histogram // microseconds
	lagged  atomic.Uint64
}

// count counts a client's write, or one by expiry.
func (c *counters) count(w *write, err error) {
	if !w.moved {
		c.writes[resultOf(w, err)].Add(1)
	}
}

func resultOf(w *write, err error) Result {
	is := func(all ...error) bool {
		for _, e := range all {
			if errors.Is(err, e) {
				return true
			}
		}
		return false
	}
	switch {
	case err == nil && w.box != nil:
		return ResultBoxes
	case err == nil && w.kind == disk.Put:
		return ResultPut
	case err == nil && w.expired != 0:
		return ResultExpired
	case err == nil:
		return ResultDeleted
	case is(disk.ErrReadOnly):
		return ResultReadOnly
	case is(kv.ErrExists, kv.ErrConflict, kv.ErrNotFound):
		return ResultCondition
	case is(record.ErrFull, cuckoo.ErrFull, cuckoo.ErrTooManyAlike, rstar.ErrSlabFull):
		return ResultFull
	}
	return ResultFailed
}

// timed is commit, and counts its time.
func (st *Store) timed(entries []disk.Entry) error {
	began := time.Now()
	err := st.commit(entries)
	if err == nil {
		st.counters.batches.Observe(uint64(len(entries)))
		st.counters.commits.Observe(uint64(time.Since(began).Microseconds()))
	}
	return err
}

// Stats describe a store.
type Stats = storestats.Store

// Stats counts.
func (st *Store) Stats() Stats {
	c := &st.counters
	s := Stats{
		Writes: map[string]uint64{}, Batches: c.batches.Stats(), Commits: c.commits.Stats(), Revision: st.last.Load(),
		Watchers: int(st.hub.count.Load()), Lagged: c.lagged.Load(),
	}
	for r := range results {
		s.Writes[r.String()] = c.writes[r].Load()
	}
	st.queue.mu.Lock()
	s.Waiting = len(st.queue.waiting)
	st.queue.mu.Unlock()
	st.hub.mu.Lock()
	s.WatchedAreas = st.hub.areas
	st.hub.mu.Unlock()
	if st.o.Dir != "" {
		d := st.db.Stats()
		s.Disk = &d
	}
	return s
}
