package kv

import (
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/record"
)

// ScanBuffer is what Scan needs besides the Map, for one goroutine at a time. The
// zero value is ready.
type ScanBuffer struct{ Buffer }

// scanPiece is the number of records that a call of Scan gives, or a few more: that
// takes 10 us, one of them under the writers' lock.
const scanPiece = 32

// Scan calls f with a few records, perhaps none, from the cursor on, whose zero value
// is the beginning, and returns the cursor of the rest; Done says that there is none. A
// record whose key has one during all of the scan is given at least once, as it was at
// a moment of the scan; one that is moved meanwhile perhaps twice. Its View is good
// during the call of f, and without a value if that is longer than b.LongestValue.
// cuckoo.ErrScanLost: too many items were moved since the last call.
func (m *Map) Scan(c cuckoo.Cursor, b *ScanBuffer, f func(record.Ref, record.View)) (cuckoo.Cursor, error) {
	if err := m.gate.enter(&b.of, &b.stripe); err != nil {
		return c, err
	}
	defer b.stripe.leave()
	for {
		from, next, err := m.scanIndex(c, b)
		if err != nil {
			return c, err
		}
		given := 0
		for _, ref := range b.refs {
			var v record.View
			v, err = m.copyTo(&b.Buffer, record.Ref(ref), nil)
			now := m.now()
			dead := errors.Is(err, record.ErrDead) // since the index led to it
			if errors.Is(err, record.ErrStale) && !dead || now-from >= record.DefaultGrace {
				break // too late: its place may be used again
			}
			if err != nil && !dead {
				return c, fmt.Errorf("kv: scan: %w", err)
			}
			given++
			if !expired(v.Expiry, now) {
				f(record.Ref(ref), v)
			}
		}
		if given == len(b.refs) {
			return next, nil
		}
	}
}

// scanIndex takes references under the writers' lock. They are good for a grace
// from then on.
func (m *Map) scanIndex(c cuckoo.Cursor, b *ScanBuffer) (from time.Duration, next cuckoo.Cursor, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	b.refs = b.refs[:0]
	next, err = m.index.Scan(c, scanPiece, func(_, ref uint64) { b.refs = append(b.refs, ref) })
	return m.now(), next, err
}
