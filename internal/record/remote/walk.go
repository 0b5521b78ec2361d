package remote

import (
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/offload"
)

// Errors of an Item besides those of package record.
var (
	// ErrLate: the read came back after Item.Until. Look the key up again.
	ErrLate = fmt.Errorf("%w: the reference was too old when its read came back", record.ErrStale)
	// ErrTooLarge: more bytes than the limits allow. Ask the server.
	ErrTooLarge = errors.New("record/remote: too large")
	// ErrUnread: the walk ended before the answer was complete.
	ErrUnread = errors.New("record/remote: not read")
)

// Item is one record to read, and the answer.
type Item struct {
	Ref record.Ref
	Key []byte // that it must have, nil: any
	// Until is the latest time for the answer to arrive, by the clock of the Walk; 0:
	// any time.
	Until time.Duration

	// View is the answer, with the whole value. It is good until the next
	// Reset of the Walk.
	View record.View
	// Err is nil, or one of record.ErrDead (View is complete then),
	// record.ErrStale, record.ErrMalformed, record.ErrRef (also ErrGrown), ErrLate,
	// ErrTooLarge, ErrUnread.
	Err error
}

// Limits bound a Walk.
type Limits struct {
	// Block is the block size of the read channel: a longer record cannot be read. With
	// record.MaxBlockBytes every record can.
	Block int
	// Bytes bounds the memory of all answers of a Walk together.
	Bytes int
}

// Walk reads records. It is made by NewWalk, and used again after Reset.
type Walk struct {
	space  record.Space
	limits Limits
	now    func() time.Duration

	items []Item
	next  int    // of items
	longs []long // in the order in which their heads came
	turn  int    // of longs: the first with blocks to read
	arena []byte // the memory of the answers
	bytes int    // taken by answers of this walk
}

// long is a record of which the head has come. Its Item says ErrUnread until
// all blocks have.
type long struct {
	item  int
	head  record.View
	dead  error // nil or ErrDead
	next  int   // block
	at    int   // where its part of the value begins
	left  int   // blocks that have not come
	value []byte
}

// NewWalk makes a Walk over the slab of a heap. now is the clock of
// Item.Until; it may be nil if no Item has one.
func NewWalk(space record.Space, limits Limits, now func() time.Duration) *Walk {
	return &Walk{space: space, limits: limits, now: now}
}

// Reset gives the Walk items to read, in which it puts the answers. Views of the last
// items are void.
func (w *Walk) Reset(items []Item) {
	clear(w.longs)
	w.items, w.next, w.longs, w.turn, w.bytes = items, 0, w.longs[:0], 0, 0
	w.arena = w.arena[:0]
	for i := range items {
		items[i].View, items[i].Err = record.View{}, ErrUnread
	}
}

// Tags of reads: a record's is its item; a block's has a bit, the index in longs, the
// number of the block, and the offset of its part of the value.
const (
	blockTag  = 1 << 62
	atBits    = 29 // record.MaxValueBytes
	blockBits = 13 // record.MaxBlockBytes / 8 bytes of a reference
	longShift = atBits + blockBits
)

// maxLongs is the number of heads that tags can distinguish.
const maxLongs = 1 << (62 - longShift)

// Next names all records first, then blocks.
func (w *Walk) Next() (offload.Ref, bool, error) {
	for w.next < len(w.items) {
		i := w.next
		w.next++
		ref := w.items[i].Ref
		if err := w.check(ref); err != nil {
			w.items[i].Err = err
			continue
		}
		return offload.Ref{Offset: ref.Offset(), Len: uint32(ref.Bytes()), Read: offload.Read{Hop: 1}, Tag: uint64(i)}, true, nil
	}
	for w.turn < len(w.longs) {
		l := &w.longs[w.turn]
		if l.next == l.head.Blocks() || w.failed(l) {
			w.turn++
			continue
		}
		ref, n := l.head.Block(l.next, l.at)
		tag := blockTag | uint64(w.turn)<<longShift | uint64(l.next)<<atBits | uint64(l.at)
		l.next++
		l.at += n
		if err := w.check(ref); err != nil {
			w.items[l.item].Err = err
			continue
		}
		return offload.Ref{Offset: ref.Offset(), Len: uint32(ref.Bytes()), Read: offload.Read{Hop: 2}, Tag: tag}, true, nil
	}
	return offload.Ref{}, false, nil
}

// failed reports whether a block was wrong, so that no other is needed.
func (w *Walk) failed(l *long) bool { return !errors.Is(w.items[l.item].Err, ErrUnread) }

func (w *Walk) check(ref record.Ref) error {
	if err := w.space.Check(ref); err != nil {
		return err
	}
	if ref.Bytes() > w.limits.Block {
		return fmt.Errorf("%w: a read of %d bytes, limit %d", ErrTooLarge, ref.Bytes(), w.limits.Block)
	}
	return nil
}

// Visit takes the bytes of a read.
func (w *Walk) Visit(ref offload.Ref, b []byte) (offload.Verdict, error) {
	if ref.Tag&blockTag == 0 {
		i := int(ref.Tag)
		w.visitRecord(i, &w.items[i], b)
		return offload.Accept, nil
	}
	l := &w.longs[ref.Tag&^blockTag>>longShift]
	if !w.failed(l) {
		w.visitBlock(l, &w.items[l.item], int(ref.Tag>>atBits&(1<<blockBits-1)), int(ref.Tag&(1<<atBits-1)), b)
	}
	return offload.Accept, nil
}

func (w *Walk) visitRecord(i int, it *Item, b []byte) {
	if w.late(it) {
		it.Err = ErrLate
		return
	}
	own, err := w.room(len(b))
	if err != nil {
		it.Err = err
		return
	}
	copy(own, b)
	v, err := w.space.Parse(it.Ref, own, it.Key)
	if err != nil && !errors.Is(err, record.ErrDead) {
		w.arena = w.arena[:len(w.arena)-len(own)]
		w.bytes -= len(own)
		it.Err = err
		return
	}
	if v.Blocks() == 0 {
		it.View, it.Err = v, err
		return
	}
	value, full := w.room(v.ValueBytes)
	if len(w.longs) == maxLongs {
		full = fmt.Errorf("%w: more than %d records in blocks", ErrTooLarge, maxLongs)
	}
	if full != nil {
		it.Err = full
		return
	}
	w.longs = append(w.longs, long{item: i, head: v, dead: err, left: v.Blocks(), value: value})
}

func (w *Walk) visitBlock(l *long, it *Item, k, at int, b []byte) {
	if w.late(it) {
		it.Err = ErrLate
		return
	}
	ref, n := l.head.Block(k, at)
	data, err := w.space.ParseBlock(ref, b, n)
	if err != nil {
		it.Err = err
		return
	}
	copy(l.value[at:], data)
	if l.left--; l.left == 0 {
		it.View, it.Err = l.head.Whole(l.value), l.dead
	}
}

func (w *Walk) late(it *Item) bool { return it.Until > 0 && w.now() >= it.Until }

// room returns memory for an answer. Memory of earlier answers stays in place.
func (w *Walk) room(n int) ([]byte, error) {
	if n > w.limits.Bytes-w.bytes {
		return nil, fmt.Errorf("%w: %d bytes after %d of others, limit %d", ErrTooLarge, n, w.bytes, w.limits.Bytes)
	}
	w.bytes += n
	if len(w.arena)+n > cap(w.arena) {
		w.arena = make([]byte, 0, max(n, 2*cap(w.arena)))
	}
	at := len(w.arena)
	w.arena = w.arena[:at+n]
	return w.arena[at : at+n : at+n], nil
}
