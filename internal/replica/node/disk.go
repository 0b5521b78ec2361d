package node

import (
	"time"

	"github.com/catfish-index/catfish/internal/replica"
	"github.com/catfish-index/catfish/internal/replica/journal"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// diskWork is one step of the journal.
type diskWork struct {
	entries  []disk.Entry
	truncate bool
	after    uint64
	sync     bool // at once; else within lazySync
	cuts     uint64
}

const (
	// lazySync is how long a secondary that has acknowledged entries as received waits
	// before it makes them durable.
	lazySync = 50 * time.Millisecond
	// rotateBytes is the size of a file of the journal.
	rotateBytes = 32 << 20
)

// runDisk carries out the work of the journal, and makes it durable: once for all work
// that has collected.
func (n *Node) runDisk(j *journal.Journal, h replica.History) {
	clean := n.writeJournal(j, h)
	<-n.ended
	if err := j.Close(n.m.Doubt()); err != nil && clean {
		n.log.Error("the journal could not be closed", "error", err)
	}
}

// writeJournal returns whether all went well.
func (n *Node) writeJournal(j *journal.Journal, history replica.History) bool {
	var work []diskWork
	dirty, waits := false, false // waits: lazy will make durable what is dirty
	lazy := time.AfterFunc(time.Hour, func() { n.disk.put(diskWork{sync: true}) })
	defer lazy.Stop()
	cuts := uint64(0)
	for {
		if work = n.disk.take(work); work == nil {
			return true
		}
		sync := false
		var err error
		for _, w := range work {
			switch {
			case w.truncate:
				err = j.Truncate(w.after)
				history = replica.Cut(history, w.after)
			case len(w.entries) > 0:
				err = j.Append(w.entries)
				for i := range w.entries {
					history = replica.Replay(history, w.entries[i].Term(), w.entries[i].Revision)
				}
				dirty = true
			}
			sync, cuts = sync || w.sync, max(cuts, w.cuts)
			if err != nil {
				n.notify(replica.Failed{Revision: j.End()})
				n.log.Error("the journal cannot be written: this member takes part no more", "error", err)
				return false
			}
		}
		if dirty && !sync {
			if !waits { // Once: later entries must not put it off.
				lazy.Reset(lazySync)
				waits = true
			}
			continue
		}
		waits = false
		if dirty {
			if err := j.Sync(); err != nil {
				n.notify(replica.Failed{Revision: j.End()})
				n.log.Error("the journal cannot be made durable: this member takes part no more", "error", err)
				return false
			}
			dirty = false
		}
		n.send(event{is: replica.Synced{Through: j.End()}, cuts: cuts})
		if j.Bytes() > rotateBytes {
			if err = j.Rotate(history); err == nil {
				err = j.Forget(n.o.Store.Durable())
			}
			if err != nil {
				n.log.Error("the journal cannot begin a file", "error", err)
			}
		}
	}
}
