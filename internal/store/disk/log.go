package disk

import (
	"errors"
	"fmt"

	"github.com/cockroachdb/pebble/v2"
)

// LogIter goes through the log in the order of revisions. It is for one
// goroutine, sees what was acknowledged when Log was called, and holds files:
// close it, and ask again for what came later.
type LogIter struct {
	e    *engine
	it   *pebble.Iterator
	next uint64 // revision
	n    Entry
	ok   bool // it stands at next
	err  error
}

// Log begins at a revision. ErrTrimmed: it is no longer kept. ErrAhead: it is
// above Revision() + 1; at that it is empty, which is how a caller waits for the next.
func (db *DB) Log(from uint64) (*LogIter, error) {
	if db.o.IDsOnly {
		return nil, ErrNoLog
	}
	e, iters, err := db.reader()
	if err != nil {
		return nil, err
	}
	defer db.mu.Unlock()
	last := db.revision.Load()
	var it *pebble.Iterator
	from = max(from, 1)
	if from > last+1 {
		err = fmt.Errorf("%w: revision %d, the last one is %d", ErrAhead, from, last)
	} else {
		it, err = iters(&pebble.IterOptions{LowerBound: logKey(from), UpperBound: logKey(last + 1)})
	}
	if err != nil {
		e.release()
		return nil, err
	}
	l := &LogIter{e: e, it: it, next: from, ok: it.First()}
	if l.ok {
		if first, err := parseLogKey(it.Key()); err == nil && first != from {
			err = fmt.Errorf("%w: revision %d, the first one kept is %d", ErrTrimmed, from, first)
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

// Next goes to the next entry, the first one at first. It returns false at the end
// and after an error.
func (l *LogIter) Next() bool {
	if l.err != nil || !l.ok {
		return false
	}
	revision, err := parseLogKey(l.it.Key())
	if err == nil && revision != l.next {
		err = fmt.Errorf("%w: the log goes on with revision %d, not %d", ErrCorrupt, revision, l.next)
	}
	if err == nil {
		// Copied: Pebble's bytes last until it moves.
		l.n, err = parseEntry(revision, append([]byte(nil), l.it.Value()...))
	}
	if err != nil {
		l.err = err
		return false
	}
	l.next++
	l.ok = l.it.Next()
	return true
}

// Entry is where Next went. Its bytes are the caller's.
func (l *LogIter) Entry() Entry { return l.n }

// Err is what ended the iteration, nil at the end of the log.
func (l *LogIter) Err() error {
	if l.err != nil {
		return l.err
	}
	return corrupt(l.it.Error())
}

// Close must be called, once.
func (l *LogIter) Close() error {
	err := l.it.Close()
	l.e.release()
	return err
}

// First returns the first revision that the log keeps, Revision() + 1 if it keeps
// none.
func (db *DB) First() (uint64, error) {
	e, iters, err := db.reader()
	if err != nil {
		return 0, err
	}
	defer e.release()
	defer db.mu.Unlock()
	first, last, err := logEnds(iters)
	if err == nil && last == 0 {
		first = db.revision.Load() + 1
	}
	return first, err
}
