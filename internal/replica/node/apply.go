package node

import (
	"sync"

	"github.com/catfish-index/catfish/internal/replica"
)

// applier brings published entries into the store, but for those that its own commit leader
// has proposed.
type applier struct {
	n       *Node
	mu      sync.Mutex
	more    sync.Cond
	through uint64
	closed  bool
}

// applyBytes bounds what is applied at a time.
const applyBytes = 4 << 20

func newApplier(n *Node) *applier {
	a := &applier{n: n}
	a.more.L = &a.mu
	return a
}

// put lets the store have the entries up to a revision.
func (a *applier) put(through uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if through > a.through {
		a.through = through
		a.more.Signal()
	}
}

func (a *applier) close() {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.closed = true
	a.more.Broadcast()
}

func (a *applier) run() {
	n := a.n
	for {
		a.mu.Lock()
		for a.through <= n.o.Store.Revision() && !a.closed {
			a.more.Wait()
		}
		through, closed := a.through, a.closed
		a.mu.Unlock()
		if closed {
			return
		}
		for n.ctx.Err() == nil {
			has := n.o.Store.Revision()
			if has >= through {
				break
			}
			entries, ok := n.tail.after(has, through, applyBytes)
			if !ok || len(entries) == 0 {
				n.failed(has+1, errTail)
				return
			}
			if err := n.o.Store.Apply(entries); err != nil {
				n.failed(has+1, err)
				return
			}
		}
	}
}

// failed ends this member's part: its store does not follow the log.
func (n *Node) failed(revision uint64, err error) {
	n.log.Error("an entry of the log could not be applied: this member takes part no more", "revision", revision, "error", err)
	n.notify(replica.Failed{Revision: revision})
}
