package store

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/rstar"
)

// Writes to boxes, and their path through the commit queue.

// boxWrite takes boxes out of a collection and adds others: an insertion of some, a
// deletion of one, or a move, one for one.
type boxWrite struct {
	c       *Boxes
	out, in []rstar.Item
	set     []boxCount // how often boxes are there then, of a move between groups
	found   bool       // the box to be taken out existed
	counts  []boxCount
	done    int // boxes of in that are in the tree
}

// boxCount is the number of copies of a box after some entry.
type boxCount struct {
	rstar.Item
	n uint64
}

type pendingBox struct {
	c *Boxes
	rstar.Item
}

// weight is the share of a batch that a write takes.
func (w *write) weight() int {
	if w.joins {
		if w.m.MaxBytes() > 0 {
			return maxBatch // How much a cache evicts for it is known when it is carried out.
		}
		return 1 + kv.MostAppended>>16 // of the value that it makes, at most
	}
	if w.box == nil {
		n := 1 + len(w.value)>>16
		if w.rec != nil && w.kind == disk.Put && w.m.MaxBytes() > 0 {
			n += int(2 * maxBatch * w.recordBytes() / w.m.MaxBytes())
		}
		return n
	}
	return max(1, len(w.box.in), len(w.box.set))
}

// InsertLater adds boxes, which belong to the collection until done is called, when
// they are durable, perhaps before InsertLater returns. done may not wait. n is the
// number of boxes in the collection: all, or after an error none, except for an error
// that wraps none of ErrBadRect, ErrSlabFull, disk.ErrReadOnly and ErrClosed.
func (c *Boxes) InsertLater(items []rstar.Item, done func(n int, err error)) {
	c.InsertAs(Name{}, items, done)
}

// InsertAs is InsertLater of a write that may be repeated.
func (c *Boxes) InsertAs(as Name, items []rstar.Item, done func(n int, err error)) {
	for i, it := range items {
		if err := it.Rect.Validate(); err != nil {
			done(0, fmt.Errorf("item %d, id %d: %w", i, it.ID, err))
			return
		}
	}
	b := &boxWrite{c: c, in: items}
	c.submit(as, b, func(err error) { done(b.done, err) })
}

// DeleteLater takes one box out, and reports whether there was one. See InsertLater.
func (c *Boxes) DeleteLater(r rstar.Rect, id uint64, done func(found bool, err error)) {
	c.DeleteAs(Name{}, r, id, done)
}

// DeleteAs is DeleteLater of a write that may be repeated.
func (c *Boxes) DeleteAs(as Name, r rstar.Rect, id uint64, done func(found bool, err error)) {
	if err := r.Validate(); err != nil {
		done(false, err)
		return
	}
	b := &boxWrite{c: c, out: []rstar.Item{{Rect: r, ID: id}}}
	c.submit(as, b, func(err error) { done(b.found && err == nil, err) })
}

// UpdateLater moves a box, and reports whether there was one. See InsertLater.
func (c *Boxes) UpdateLater(old, new rstar.Rect, id uint64, done func(found bool, err error)) {
	c.UpdateAs(Name{}, old, new, id, done)
}

// UpdateAs is UpdateLater of a write that may be repeated.
func (c *Boxes) UpdateAs(as Name, old, new rstar.Rect, id uint64, done func(found bool, err error)) {
	if err := errors.Join(old.Validate(), new.Validate()); err != nil {
		done(false, err)
		return
	}
	b := &boxWrite{c: c, out: []rstar.Item{{Rect: old, ID: id}}, in: []rstar.Item{{Rect: new, ID: id}}}
	c.submit(as, b, func(err error) { done(b.found && err == nil, err) })
}

func (c *Boxes) submit(as Name, b *boxWrite, done func(error)) {
	c.st.submit(&write{as: as, box: b, id: c.name, done: func(_ uint64, err error) { done(err) }})
}

// Insert adds a box, and returns when it is durable, as far as Options.Sync says.
// The error wraps rstar.ErrBadRect, rstar.ErrSlabFull, disk.ErrReadOnly, ErrClosed
// or ErrUnknownCollection (it was dropped); then nothing was changed.
func (c *Boxes) Insert(r rstar.Rect, id uint64) error {
	_, err := c.InsertMany([]rstar.Item{{Rect: r, ID: id}})
	return err
}

// InsertMany adds boxes together, by one commit, and returns the number of boxes added:
// see InsertLater.
func (c *Boxes) InsertMany(items []rstar.Item) (n int, err error) {
	ended := make(chan struct{})
	c.InsertLater(items, func(done int, e error) {
		n, err = done, e
		close(ended)
	})
	<-ended
	return n, err
}

// Delete takes one box out, and reports whether there was one. Errors are Insert's.
func (c *Boxes) Delete(r rstar.Rect, id uint64) (bool, error) {
	return await(func(done func(bool, error)) { c.DeleteLater(r, id, done) })
}

// Update moves a box, and reports whether there was one. A search sees it at one of
// the two places. Errors are Insert's.
func (c *Boxes) Update(old, new rstar.Rect, id uint64) (bool, error) {
	return await(func(done func(bool, error)) { c.UpdateLater(old, new, id, done) })
}

func await(begin func(done func(bool, error))) (found bool, err error) {
	ended := make(chan struct{})
	begin(func(f bool, e error) {
		found, err = f, e
		close(ended)
	})
	<-ended
	return found, err
}

// count returns the number of copies of a box in the tree.
func (c *Boxes) count(it rstar.Item) (uint64, error) {
	if n := c.more[it]; n > 0 {
		return n + 1, nil
	}
	ok, err := c.tree.Has(it.Rect, it.ID)
	if !ok || err != nil {
		return 0, err
	}
	return 1, nil
}

// counted notes the number of copies of a box.
func (c *Boxes) counted(n boxCount) {
	if n.n > 1 {
		c.more[n.Item] = n.n - 1
	} else {
		delete(c.more, n.Item)
	}
}

// prepareBoxes judges and numbers a write.
func (st *Store) prepareBoxes(w *write) error {
	q, b := &st.queue, w.box
	if repeated, err := st.repeats(w); repeated || err != nil {
		return err
	}
	if b.c.dropped.Load() {
		return fmt.Errorf("%w: collection %q was dropped", ErrUnknownCollection, b.c.name)
	}
	if err := st.mayWriteBoxes(w); err != nil {
		return err
	}
	if w.moved {
		return st.prepareSet(w)
	}
	b.found, b.counts = true, make([]boxCount, 0, len(b.out)+len(b.in))
	for _, it := range b.out {
		n, err := st.countBefore(b, it)
		if err != nil {
			return err
		}
		if b.found = n > 0; !b.found {
			return nil
		}
		b.counts = append(b.counts, boxCount{it, n - 1})
	}
	if len(b.in) > 0 {
		if err := b.c.tree.RoomFor(q.boxes + len(b.in)); err != nil {
			return err
		}
	}
	if q.pendingBoxes == nil {
		q.pendingBoxes = map[pendingBox]uint64{}
	}
	for _, n := range b.counts {
		q.pendingBoxes[pendingBox{b.c, n.Item}] = n.n
	}
	for _, it := range b.in {
		n, err := st.countBefore(b, it)
		if err != nil {
			return err // The tree was closed: all the others fail, too.
		}
		b.counts = append(b.counts, boxCount{it, n + 1})
		q.pendingBoxes[pendingBox{b.c, it}] = n + 1
	}
	q.boxes += len(b.in)
	st.numbered += uint64(len(b.counts))
	w.revision = st.numbered
	return nil
}

// prepareSet is prepareBoxes of a move between groups.
func (st *Store) prepareSet(w *write) error {
	q, b := &st.queue, w.box
	if err := st.prepareMovedBox(); err != nil {
		return err
	}
	if q.pendingBoxes == nil {
		q.pendingBoxes = map[pendingBox]uint64{}
	}
	b.found, b.counts = true, nil
	for _, n := range b.set {
		has, err := st.countBefore(b, n.Item)
		if err != nil {
			return err
		}
		if n.n == has {
			continue
		}
		if n.n > has {
			if err := b.c.tree.RoomFor(q.boxes + int(n.n-has)); err != nil {
				return err
			}
			q.boxes += int(n.n - has)
		}
		b.counts = append(b.counts, n)
		q.pendingBoxes[pendingBox{b.c, n.Item}] = n.n
	}
	st.numbered += uint64(len(b.counts))
	w.revision = st.numbered
	return nil
}

// countBefore returns the number of copies that a write finds.
func (st *Store) countBefore(b *boxWrite, it rstar.Item) (uint64, error) {
	if n, ok := st.queue.pendingBoxes[pendingBox{b.c, it}]; ok {
		return n, nil
	}
	return b.c.count(it)
}

// appendEntries appends the log's entries of a write.
func (w *write) appendEntries(entries []disk.Entry) []disk.Entry {
	n := len(entries)
	if w.box == nil {
		if len(w.evicts) > 0 {
			entries = w.rec.evictions(entries, w.evicts)
		}
		entries = append(entries, w.entry())
		w.store().joinEntries(entries[n:])
		return entries
	}
	entries = appendBoxEntries(entries, w.box.c.num, w.box.counts, w.revision-uint64(len(w.box.counts))+1, w.moved)
	if len(entries) > n {
		w.box.c.st.name(&entries[n], w.as)
	}
	w.box.c.st.joinEntries(entries[n:])
	return entries
}

func appendBoxEntries(entries []disk.Entry, num uint32, counts []boxCount, first uint64, moved bool) []disk.Entry {
	buf := make([]byte, 0, len(counts)*(boxKeyBytes+boxValueBytes))
	for i, n := range counts {
		e := disk.Entry{Collection: num, Kind: disk.Delete, Flags: boxFlag, Revision: first + uint64(i)}
		mark := uint64(0)
		if moved {
			e.Flags, mark = e.Flags|movedFlag, copyMark
		}
		begin := len(buf)
		buf = appendBoxKey(buf, n.Item)
		e.Key = buf[begin:len(buf):len(buf)]
		if n.n > 0 {
			e.Kind = disk.Put
			buf = binary.LittleEndian.AppendUint64(buf, n.n|mark)
			e.Value = buf[begin+boxKeyBytes : len(buf) : len(buf)]
		}
		entries = append(entries, e)
	}
	return entries
}

// publishBoxes makes a write visible to readers.
func (st *Store) publishBoxes(w *write) (err error) {
	b := w.box
	if len(b.counts) == 0 {
		return nil
	}
	var ok bool
	switch {
	case len(b.set) > 0:
		for _, n := range b.counts {
			if err := b.c.setCount(n); err != nil {
				return err
			}
		}
		return nil
	case len(b.out) == 0:
		for i, it := range b.in {
			if err := b.c.tree.Insert(it.Rect, it.ID); err != nil {
				return err
			}
			b.c.counted(b.counts[i])
			b.done++
		}
		return nil
	case len(b.in) == 0:
		ok, err = b.c.tree.Delete(b.out[0].Rect, b.out[0].ID)
	default:
		ok, err = b.c.tree.Update(b.out[0].Rect, b.in[0].Rect, b.in[0].ID)
	}
	if err == nil && !ok {
		err = fmt.Errorf("%w: box %d was counted, and is not in the tree", ErrCorrupt, b.out[0].ID)
	}
	if err != nil {
		return err
	}
	for _, n := range b.counts {
		b.c.counted(n)
	}
	return nil
}

// undoBoxes is undo: it logs the number of copies of each box of a write.
func (st *Store) undoBoxes(w *write) (err error) {
	b := w.box
	counts := make([]boxCount, 0, len(b.counts))
	for _, n := range b.counts {
		if n.n, err = b.c.count(n.Item); err != nil {
			break
		}
		counts = append(counts, n)
	}
	if err == nil {
		entries := appendBoxEntries(nil, b.c.num, counts, st.number(), w.moved)
		if st.name(&entries[0], w.as); w.as.Client != 0 {
			entries[0].Flags |= undoneFlag
		}
		err = st.commit(entries)
	}
	if err != nil {
		st.o.Logger.Error("a write is in the log, but could not be carried out or undone", "collection", b.c.name, "revision", w.revision, "error", err)
	}
	return errors.Join(w.err, err)
}
