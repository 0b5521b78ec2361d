package kv

import (
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/record"
)

// Draft is a value that is put in pieces: Append takes the lock for a block at a time,
// 64 KiB, and the value lies in the records' memory from its first block on. One
// goroutine at a time may use it. End it by Put or Discard.
type Draft struct {
	m *Map
	d record.Draft
}

// NewDraft begins a value, which readers see after Put.
func (m *Map) NewDraft() *Draft { return &Draft{m: m} }

// Bytes is the length of the value so far.
func (d *Draft) Bytes() int { return d.d.Bytes() }

// Append adds a piece to the value. After an error, which is record.ErrFull,
// record.ErrTooLarge or ErrClosed, the only useful call is Discard.
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
	return m.heap.Flush(&d.d, m.now()) // uses any free place, and those that are due
}

// Put is Map.Put of an Entry whose Value is nil: the draft is the value. The draft has
// ended in any case, and if Put failed nothing was changed.
func (d *Draft) Put(e Entry, c Condition) (revision uint64, err error) {
	defer d.Discard()
	if len(e.Value) > 0 {
		return 0, fmt.Errorf("%w: a value of %d bytes besides the draft", ErrOptions, len(e.Value))
	}
	return d.m.put(e, c, &d.d, false)
}

// Discard gives up the value, if Put has not ended the draft. A second call does
// nothing.
func (d *Draft) Discard() {
	if d.m.lock() != nil {
		return // The owner has the memory back.
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
