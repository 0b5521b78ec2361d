package store

import (
	"errors"
	"fmt"
	"sync"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// Writes that are repeated
//
// In a group a client names its writes. The first entry of a write has the name, and each
// member's store has a table of the latest names and what became of their writes. So a
// write whose answer was lost is repeated at any primary, which answers it as the first one
// would have, and makes it if it is not in the log:
//
//	judge    a write whose name is in the table is answered from it. One whose name is that of
//	         a write before it in the batch is answered with it
//	commit   what gets into the store's log gets into the table (keep), from whichever
//	         primary it came
//	start    the table is read from the log, which copies of the store have, too
//
// A primary takes no write before its store has all that the log of its group had when its
// term began (replica/node). So what is not in its table is not in the log, but for what
// the table has forgotten: it has the latest maxOnce names. A client says which revision it
// knew before it sent a write first, and the write has a later one, if any. If the table does
// not go back to it, the write is not made (Name.After).
//
// A write that a precondition refuses leaves nothing in the log. The table has it at this
// primary alone, since its first request may still come, on a connection that has ended.

// Name is how a client names a write, so that it may be repeated. The zero value is of a
// write that has no name.
type Name struct {
	Client uint64 // random; 0: no name
	Number uint64 // of the client's write
	After  uint64 // a revision that readers saw before the write was first sent
	Again  bool   // the write was sent before, and its answer was lost
}

// maxOnce is how many names a store remembers, for writes that are repeated within some
// seconds: at 100,000 writes a second 2.6 s. They take 64 bytes each.
const maxOnce = 1 << 18

// nameKey is what is unique of a name.
type nameKey struct{ client, number uint64 }

func (n *Name) key() nameKey { return nameKey{n.Client, n.Number} }

// outcome is what became of a write with a name.
type outcome struct {
	revision uint64
	replaced bool  // a feature was replaced
	missing  bool  // there was no such box
	err      error // it was refused, or undone
}

// once is the table. Its methods are safe for concurrent use; nil has nothing.
type once struct {
	mu    sync.Mutex
	most  int
	of    map[nameKey]outcome
	order []nameKey // by the time of entering; a ring once it has most
	next  int       // of the ring
	after uint64    // writes of later revisions are all in the table
}

func newOnce(after uint64, most int) *once {
	return &once{most: most, of: map[nameKey]outcome{}, after: after}
}

// find returns what became of a write. known is false if the table may have forgotten it.
func (o *once) find(n *Name) (_ outcome, found, known bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	is, found := o.of[n.key()]
	return is, found, found || n.After >= o.after
}

// add notes entries that are in the log.
func (o *once) add(entries []disk.Entry) {
	if o == nil {
		return
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range entries {
		if e := &entries[i]; e.Client != 0 {
			o.enter(nameKey{e.Client, e.Number}, outcomeOf(e))
		}
	}
}

// refuse notes a write that was refused.
func (o *once) refuse(n *Name, is outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.enter(n.key(), is)
}

func (o *once) enter(k nameKey, is outcome) {
	_, had := o.of[k]
	o.of[k] = is
	switch {
	case had: // It was undone.
	case len(o.order) < o.most:
		o.order = append(o.order, k)
	default:
		oldest := o.order[o.next]
		o.after = max(o.after, o.of[oldest].revision)
		delete(o.of, oldest)
		o.order[o.next] = k
		o.next = (o.next + 1) % o.most
	}
}

// undoneFlag in the flags of an entry with a name: the write could not be carried out, and
// this entry takes it back.
const undoneFlag = 8

var errUndone = fmt.Errorf("%w: it was taken back, since the server could not carry it out", fault.ErrServer)

// outcomeOf returns what became of the write of an entry with a name.
func outcomeOf(e *disk.Entry) outcome {
	if e.Flags&undoneFlag != 0 {
		return outcome{revision: e.Revision, err: errUndone}
	}
	return outcome{revision: e.Revision, replaced: e.Kind == disk.Put && e.OldRevision != 0 && e.Flags&expiredFlag == 0}
}

// name gives the first entry of a write its name.
func (st *Store) name(e *disk.Entry, n Name) {
	if st.once != nil {
		e.Client, e.Number = n.Client, n.Number
	}
}

// restoreOnce reads the table from the log.
func (st *Store) restoreOnce() error {
	first := max(st.FirstLogged(), st.revision+1-min(st.revision, maxOnce))
	o := newOnce(first-1, maxOnce)
	it, err := st.db.Log(first)
	if err != nil {
		return err
	}
	for it.Next() {
		e := it.Entry()
		o.add([]disk.Entry{e})
	}
	st.once = o
	return errors.Join(it.Err(), it.Close())
}

// done looks whether a name was used, and returns what became of its write. ErrBusy: this is
// not known. For a client that sent it before the outcome is unknown, any other one has to
// name a later revision.
func (st *Store) done(n *Name) (is outcome, done bool, err error) {
	if n.Client == 0 || st.once == nil {
		return is, false, nil
	}
	if is, done, known := st.once.find(n); known {
		return is, done, nil
	}
	return is, false, fmt.Errorf("%w: writes since revision %d were forgotten, and write %d of client %x may be one of them", fault.ErrBusy, n.After, n.Number, n.Client)
}

// repeats reports whether a write was made before, and how it ended. The commit leader calls
// it before it judges.
func (st *Store) repeats(w *write) (bool, error) {
	if w.as.Client == 0 || st.once == nil {
		w.as = Name{}
		return false, nil
	}
	q, k := &st.queue, w.as.key()
	if w.first = q.named[k]; w.first != nil {
		return true, nil
	}
	is, done, err := st.done(&w.as)
	if err != nil {
		return false, err
	}
	if done {
		w.ended(is)
		w.known = true
		return true, is.err
	}
	if q.named == nil {
		q.named = map[nameKey]*write{}
	}
	q.named[k] = w
	return false, nil
}

// ended makes a write one that was carried out before.
func (w *write) ended(is outcome) {
	w.revision, w.replaces = is.revision, is.replaced
	if w.box != nil {
		w.box.found, w.box.done = !is.missing, len(w.box.in)
	}
}

// repeated reports whether a write was carried out before, or with another of its batch.
func (w *write) repeated() bool { return w.known || w.first != nil }

// missed reports whether a write found no such box.
func (w *write) missed() bool { return w.err == nil && w.box != nil && !w.box.found }

// nothing reports whether nothing of a write is in the log, by a precondition.
func (w *write) nothing() bool {
	return w.missed() || errors.Is(w.err, kv.ErrExists) || errors.Is(w.err, kv.ErrConflict) || errors.Is(w.err, kv.ErrNotFound)
}

// follow ends the writes of a batch that repeat others of it, and notes those that were
// refused.
func (st *Store) follow(batch []*write) {
	for _, w := range batch {
		switch f := w.first; {
		case w.as.Client == 0:
		case f != nil:
			w.ended(outcome{revision: f.revision, replaced: f.replaces, missing: f.missed()})
			w.err = f.err
		case w.as.Again && !w.known && w.nothing():
			st.once.refuse(&w.as, outcome{revision: st.revision, missing: w.missed(), err: w.err})
		}
	}
}
