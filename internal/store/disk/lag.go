package disk

// State follows the log
//
// A write of an existing key goes to the log alone. Its state is written back later, in
// the order of revisions, and only if the key was not written again by then:
//
//	log      | r1 K | r2 L | r3 K | r4 M | r5 K |
//	          '-- written back --' '--- lag ---'
//	                        applied             last
//	state    L of r2, K and M of before; K of r1 and r3 is never written
//
// That saves most of what a write costs here. The log is written in order, state
// at random: each state goes through the WAL, a place in a memtable that is not in
// a processor's cache, a flush, and compactions with what lies beside it. Objects
// that move are written again and again, and no reader needs their states between.
//
// The state of a key:
//
//	(1) Entries up to applied are in state. Pebble has that number, under a key of
//	    its own, which is written in the batch that writes back.
//	(2) After it, a Put with an old revision is in the log only. All else is in
//	    state, too: new keys, so that Keys finds them, and what removes keys.
//	(3) So a key's state is its last Put of (2), if no later entry of (2)
//	    removed or created the key again; and else what is in state.
//
// Load and Check read it so, from one view of Pebble, in which (1) holds since
// batches are atomic. So nothing is lost by a crash. The committer has in memory which
// keys lag (newest), and finds it out again when it opens.
//
// The lag is bounded by bytes of the log (lagBytes), and part of the log that is kept:
// Commit writes back before it trims. Open writes all of it back, or each Load of a
// restart would read it.
//
// Programs of formats 1 and 2 would take old states for new ones: the first write
// that lags raises the format.

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

const (
	// lagFormat is the format of a data directory in which state may lag.
	lagFormat = 3
	// lagBytes of the log may be ahead of state, or lagShare of it if that is
	// less: 80,000 moves of 400 bytes. They take 10 MB of memory, and a start some 0.2 s.
	lagBytes = 32 << 20
	lagShare = 4
)

// lag lists the states that are not written back. Only the committer uses it. Its zero
// value is that of a directory in which none ever was.
type lag struct {
	on     bool // Pebble has applied
	newest map[string]*lagging
	span   retention // of the entries after applied, all of them

	key    []byte
	caught []*lagging // by the Commit in progress
}

// lagging is the last entry of a key, which is in the log only.
type lagging struct {
	key      string // of its state
	revision uint64
}

var appliedKey = []byte{appliedPrefix}

// lags reports whether an entry goes to the log only.
func (n *Entry) lags() bool { return n.Kind == Put && n.OldRevision != 0 }

// readApplied returns the revision up to which state has all. ok is false if state does
// not lag at all.
func readApplied(iters view) (applied uint64, ok bool, err error) {
	it, err := iters(&pebble.IterOptions{LowerBound: appliedKey, UpperBound: termsKey})
	if err != nil {
		return 0, false, err
	}
	if ok = it.First(); ok {
		k, v := it.Key(), it.Value()
		if len(k) != len(appliedKey) || len(v) != 8 {
			err = fmt.Errorf("%w: key %x with %d bytes is none of ours", ErrCorrupt, k, len(v))
		} else if applied = binary.LittleEndian.Uint64(v); it.Next() {
			err = fmt.Errorf("%w: key %x is none of ours", ErrCorrupt, it.Key())
		}
	}
	return applied, ok, errors.Join(err, it.Error(), it.Close())
}

func setApplied(b *pebble.Batch, revision uint64) {
	_ = b.Set(appliedKey, binary.LittleEndian.AppendUint64(nil, revision), nil)
}

// eachEntry calls f with the log's entries from a revision to before another. They
// are f's until it returns.
func eachEntry(iters view, from, to uint64, f func(*Entry)) error {
	it, err := iters(&pebble.IterOptions{LowerBound: logKey(from), UpperBound: logKey(to)})
	if err != nil {
		return err
	}
	next := from
	for ok := it.First(); ok && err == nil; ok = it.Next() {
		var n Entry
		var revision uint64
		if revision, err = parseLogKey(it.Key()); err == nil {
			n, err = parseEntry(revision, it.Value())
		}
		if err == nil && revision != next {
			err = fmt.Errorf("%w: the log goes on with revision %d, not %d", ErrCorrupt, revision, next)
		}
		if err == nil {
			f(&n)
			next++
		}
	}
	if err = errors.Join(err, it.Error(), it.Close()); err == nil && next != to {
		err = fmt.Errorf("%w: the log ends before revision %d, not %d", ErrCorrupt, next, to)
	}
	return err
}

// readLag finds the lagging states of an opened engine.
func (e *engine) readLag(o Options) error {
	l := &e.lag
	l.span.limit = min(o.lagBytes, o.LogBytes/lagShare)
	applied, ok, err := readApplied(e.NewIter)
	if l.on = ok; err != nil || !ok {
		return err
	}
	if applied > e.last {
		return fmt.Errorf("%w: state of revision %d, the log ends at %d", ErrCorrupt, applied, e.last)
	}
	return eachEntry(e.NewIter, applied+1, e.last+1, func(n *Entry) { l.add(n) })
}

// add notes an entry that is in the log. It is called for each.
func (l *lag) add(n *Entry) {
	if l.on = l.on || n.lags(); !l.on {
		return
	}
	l.span.add(n.Revision, n.logBytes())
	switch n.Kind {
	case Put, Delete:
		l.key = append(appendCollection(l.key[:0], statePrefix, n.Collection), n.Key...)
		old := l.newest[string(l.key)]
		switch {
		case !n.lags():
			if old != nil {
				delete(l.newest, old.key)
			}
		case old != nil:
			old.revision = n.Revision
		default:
			if l.newest == nil {
				l.newest = map[string]*lagging{}
			}
			k := string(l.key)
			l.newest[k] = &lagging{k, n.Revision}
		}
	case Drop:
		all := string(collectionKey(statePrefix, n.Collection))
		for k := range l.newest {
			if k[:collectionBytes] == all {
				delete(l.newest, k)
			}
		}
	}
}

// due returns what must be written back: [from, to), the oldest n segments. That is the
// excess, and what begins before a revision that will be trimmed.
func (l *lag) due(trimmed, last uint64) (from, to uint64, n int) {
	s, bytes := l.span.segments, l.span.bytes
	for n < len(s) && (bytes > l.span.limit || s[n].first < trimmed) {
		bytes -= s[n].bytes
		n++
	}
	if n == 0 {
		return 0, 0, 0
	}
	if to = last + 1; n < len(s) {
		to = s[n].first
	}
	return s[0].first, to, n
}

// writeBack adds to a batch the states of [from, to) that are a key's last.
func (e *engine) writeBack(b *pebble.Batch, from, to uint64) error {
	l := &e.lag
	l.caught = l.caught[:0]
	err := eachEntry(e.NewIter, from, to, func(n *Entry) {
		if !n.lags() {
			return
		}
		l.key = append(appendCollection(l.key[:0], statePrefix, n.Collection), n.Key...)
		if last := l.newest[string(l.key)]; last != nil && last.revision == n.Revision {
			stageState(b, n)
			l.caught = append(l.caught, last)
		}
	})
	setApplied(b, to-1)
	return err
}

// wroteBack is called when that batch is committed, before add of its entries.
func (l *lag) wroteBack(segments int) {
	for _, c := range l.caught {
		delete(l.newest, c.key)
	}
	clear(l.caught)
	for range segments {
		l.span.trim()
	}
}

// catchUp writes back all lagging states that an engine found when it was opened.
func (e *engine) catchUp() error {
	from, to, n := e.lag.due(e.last+1, e.last)
	if n == 0 {
		return nil
	}
	b := e.NewBatch()
	defer b.Close()
	if err := e.writeBack(b, from, to); err != nil {
		return err
	}
	// It need not be durable: without it, the states lag again.
	if err := b.Commit(pebble.NoSync); err != nil {
		e.g.freeze(err)
	}
	if e.g.cause() == nil { // Otherwise another engine will read the lag again.
		e.lag.wroteBack(n)
	}
	return nil
}

// overlay has the states that Load shows instead of those in state. Load does not ask
// it about keys not in state: one that was dropped, and created again, is in state.
type overlay map[string]*Entry

// readOverlay reads it from a view.
func readOverlay(iters view, collection uint32) (overlay, error) {
	applied, ok, err := readApplied(iters)
	if err != nil || !ok {
		return nil, err
	}
	_, last, err := logEnds(iters)
	if err != nil {
		return nil, err
	}
	o := overlay{}
	err = eachEntry(iters, applied+1, last+1, func(n *Entry) {
		switch {
		case n.Collection != collection:
		case n.lags():
			c := *n
			c.Value = append([]byte(nil), n.Value...)
			c.Key, c.Old = nil, nil
			o[string(n.Key)] = &c
		case n.Kind == Put || n.Kind == Delete:
			delete(o, string(n.Key))
		}
	})
	return o, err
}
