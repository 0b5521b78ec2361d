package store

import (
	"github.com/catfish-index/catfish/internal/store/disk"
)

// number is the next revision. Only the commit leader calls it.
func (st *Store) number() uint64 { return st.revision + 1 }

// commit makes writes durable, in the order of their revisions; in a group, after all its
// in-sync members have them.
func (st *Store) commit(entries []disk.Entry) error {
	if st.o.Replicated {
		if err := st.propose(entries); err != nil {
			return err
		}
		if err := st.keep(entries); err != nil {
			return st.behind(err)
		}
		return nil
	}
	return st.keep(entries)
}

// keep brings entries into the log of this store.
func (st *Store) keep(entries []disk.Entry) error {
	last := entries[len(entries)-1].Revision
	logged := entries
	if st.o.Dir == "" {
		logged = st.idsOf(entries)
	}
	if len(logged) > 0 {
		if err := st.db.Commit(logged); err != nil {
			return err
		}
	}
	st.revision = last
	st.last.Store(last)
	st.once.add(entries)
	st.hub.collect(entries)
	return nil
}

// idsOf returns the entries that change the set of ids, without their values, and with
// revisions of their own.
func (st *Store) idsOf(entries []disk.Entry) []disk.Entry {
	ids := st.queue.ids[:0]
	next := st.db.Revision() + 1
	for _, e := range entries {
		if e.Kind == disk.Put && e.OldRevision != 0 {
			continue
		}
		if e.Kind == disk.Put {
			e.Value = nil
		}
		e.Old, e.OldRevision, e.Revision = nil, 0, next
		ids = append(ids, e)
		next++
	}
	st.queue.ids = ids
	return ids
}
