package kv

import (
	"fmt"
	"time"

	"github.com/catfish-index/catfish/record"
)

// Draft is a value that is put in pieces: the lock is taken for a block at a time,
// 64 KiB, and the value lies in the records' memory from its first block on. It is
// for one goroutine at a time. End it by Put or Discard.
type Draft struct {
	m *Map
	d record.Draft
}

// NewDraft begins a value, of which nobody knows until Put.
func (m *Map) NewDraft() *Draft { return &Draft{m: m} }

// Bytes is how long the value is so far.
func (d *Draft) Bytes() int { return d.d.Bytes() }

// Append adds a piece to the value. After an error, which is record.ErrFull,
// record.ErrTooLarge or ErrClosed, only Discard makes sense.
func (d *Draft) Append(piece []byte) error {
	for {
		piece = piece[d.d.Gather(piece):]
		if len(piece) == 0 {
			return nil
		}
		if err := d.flush(); err != nil {
			return err
		}
	}
}

func (d *Draft) flush() error {
	m := d.m
	if err := m.lock(); err != nil {
		return err
	}
	defer m.mu.Unlock()
	return m.heap.Flush(&d.d, m.now()) // which uses any free place, and what is due
}

// Put is Map.Put of an Entry whose Value is nil: the draft is the value. Either
// way the draft has ended, and if it failed nothing was changed.
func (d *Draft) Put(e Entry, c Condition) (revision uint64, err error) {
	defer d.Discard()
	if len(e.Value) > 0 {
		return 0, fmt.Errorf("%w: a value of %d bytes besides the draft", ErrOptions, len(e.Value))
	}
	return d.m.put(e, c, &d.d)
}

// Discard gives up the value, if Put has not ended the draft. A second time does
// nothing.
func (d *Draft) Discard() {
	if d.m.lock() != nil {
		return // The memory is its owner's again.
	}
	defer d.m.mu.Unlock()
	d.m.heap.Discard(&d.d)
}

// write stores a record, whose value is d if that is not nil.
func (m *Map) write(r *record.Record, d *record.Draft, now time.Duration) (record.Ref, error) {
	if d != nil {
		return m.heap.PutDraft(*r, d, now)
	}
	return m.heap.Put(*r, now)
}
