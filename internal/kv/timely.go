package kv

import (
	"errors"
	"time"

	"github.com/catfish-index/catfish/internal/record"
)

const (
	// timely is the age of a reference up to which a reader believes bytes read by it
	// without a check sum. The place is not used again for twice as long, so it does
	// not matter whether the processor reads the clock a little before the last bytes
	// have come.
	timely = record.DefaultGrace / 2
	// sumBytes is the size up to which a check sum is computed all the same: reading
	// the clock takes 50 ns, as long as the sum of this number of bytes.
	sumBytes = 1 << 10
)

// ReadSince is Read for a caller that took the reference since a time of Options.Now,
// 0: unknown. A late reader needs the check sum to notice that a place was used again;
// a reader in time by that clock reads long records without. For a record of 8 KiB this
// is two thirds of the time.
func (m *Map) ReadSince(ref record.Ref, since time.Duration, b *Buffer) (v record.View, err error) {
	if !b.inside {
		if err := m.Enter(b); err != nil {
			return v, err
		}
		defer m.Leave(b)
	}
	if since > 0 && ref.Bytes() > sumBytes {
		v, b.record, err = m.heap.ReadTimely(ref, b.record)
		whole := v.Blocks() == 0 && (b.LongestValue == 0 || v.ValueBytes <= b.LongestValue)
		if (err == nil || errors.Is(err, record.ErrDead)) && whole && m.now()-since < timely {
			return v, err
		}
	}
	return m.copyTo(b, ref, nil)
}
