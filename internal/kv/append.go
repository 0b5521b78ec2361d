package kv

import (
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/record"
)

// MostAppended is the largest value that Append makes: each call copies the whole value,
// which takes its caller 0.1 ms at this size.
const MostAppended = 1 << 20

// Append puts e.Value behind the value of the present record, whose expiry and flags stay.
// A key without a record gets e. record.ErrTooLarge: the value would exceed MostAppended.
func (m *Map) Append(e Entry, c Condition) (revision uint64, err error) {
	return m.put(e, c, nil, true)
}

// join makes e the record after an Append to ref.
func (m *Map) join(e *Entry, ref record.Ref) error {
	v, err := m.heap.View(ref, e.Key)
	if err != nil {
		return fmt.Errorf("kv: append to %q: %w", e.Key, err)
	}
	if err := CheckAppend(e.Key, v.ValueBytes, len(e.Value)); err != nil {
		return err
	}
	e.Expiry, e.Flags = time.Duration(v.Expiry), v.Flags
	if v.Blocks() > 0 {
		if v, m.joined.record, err = m.heap.Read(ref, e.Key, m.joined.record); err != nil {
			return fmt.Errorf("kv: append to %q: %w", e.Key, err)
		}
	}
	m.joined.value = append(append(m.joined.value[:0], v.Value...), e.Value...)
	e.Value = m.joined.value
	return nil
}

// CheckAppend refuses a value that is too long, with record.ErrTooLarge.
func CheckAppend(key []byte, has, more int) error {
	if has+more > MostAppended {
		return fmt.Errorf("%w: %d bytes behind the %d of %q, want at most %d together", record.ErrTooLarge, more, has, key, MostAppended)
	}
	return nil
}
