package store

import (
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// A store in a group
//
// The primary's commit leader hands each batch to the group before the store's own log gets
// it (commit), and waits until all in-sync members have it. So readers, watchers and the
// directory have only what is committed: what a deposed primary has proposed in vain was in
// the group's journal alone, and nothing is undone here. The other members get the same
// entries by Apply, in the commit leader, too: numbers, revisions and times are the
// primary's, nothing is judged.

// Group is what a store needs of its group. Package replica/node has it.
type Group interface {
	// Propose returns when all in-sync members have the entries. After an error that wraps
	// fault.ErrNotPrimary none of them is in the log, now or later.
	Propose(entries []disk.Entry) error
	// Lease is until when this member may be read, by boottime.Now; with replica.OfSecondary in
	// its term, as a secondary, for older values.
	Lease() replica.Lease
	// End is the last revision of the group's log, which need not be committed.
	End() uint64
	// Failed says that the store does not have entries that the group has.
	Failed(err error)
}

// replicatedSync is how often the log of a member's store is made durable. Until then the
// group's journal has the entries.
const replicatedSync = time.Second

// Replicate lets the store take writes, as far as its group does.
func (st *Store) Replicate(g Group) { st.group.Store(&g) }

// propose waits until the group has committed entries.
func (st *Store) propose(entries []disk.Entry) error {
	g := st.group.Load()
	if g == nil {
		return fmt.Errorf("%w: this member is starting", fault.ErrNotPrimary)
	}
	return (*g).Propose(entries)
}

// behind ends this member's part in its group, whose log has entries that the store cannot
// keep.
func (st *Store) behind(err error) error {
	if g := st.group.Load(); g != nil {
		(*g).Failed(err)
	}
	return fmt.Errorf("%w: the group has the write, and this member cannot keep it: %w", fault.ErrUnknownOutcome, err)
}

// CreateNamed creates the collections that the options name. In a group the primary calls
// it, and the others get them from its log.
func (st *Store) CreateNamed() error { return st.createNamed(true) }

// StoreID is the identity of the data directory.
func (st *Store) StoreID() [16]byte { return st.db.Store() }

// Durable is the last revision that survives the end of the machine, without a group's
// journal.
func (st *Store) Durable() uint64 { return st.db.Durable() }

// Terms are those of the log (disk.DB.Terms).
func (st *Store) Terms() []disk.Span { return st.db.Terms() }

// FirstLogged is the first revision that the log has, the next one if it has none.
func (st *Store) FirstLogged() uint64 {
	first, err := st.db.First()
	if err != nil { // The store is closed, or its disk has failed.
		return st.Revision() + 1
	}
	return first
}

// Log has the entries from a revision on (disk.DB.Log).
func (st *Store) Log(from uint64) (*disk.LogIter, error) { return st.db.Log(from) }

var errGap = errors.New("store: entries with a gap")

// Revision is that of the last write that readers may see.
func (st *Store) Revision() uint64 { return st.last.Load() }
