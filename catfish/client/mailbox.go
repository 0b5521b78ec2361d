package client

import (
	"runtime"
	"sync/atomic"

	"github.com/catfish-index/catfish/heartbeat"
	"github.com/catfish-index/catfish/internal/policy"
)

// mailbox is where the heartbeats of a session arrive, in memory that ends
// with the session. A call is counted before it reads retired, and retire
// waits for all counted calls, so none reads memory that was freed. The mailbox
// is empty over plain sockets.
type mailbox struct {
	slot    *heartbeat.Mailbox // nil over plain sockets
	retired atomic.Bool
	looking atomic.Int32 // calls of Pending and Take
}

// Pending reports whether there is a heartbeat to take, without a lock.
func (m *mailbox) Pending() bool {
	if m.slot == nil {
		return false
	}
	m.looking.Add(1)
	p := !m.retired.Load() && m.slot.Pending()
	m.looking.Add(-1)
	return p
}

// Take returns the newest heartbeat, unless it was taken already. A heartbeat that was
// not taken before the next came is lost, also to Backoff.Predictor.
func (m *mailbox) Take() (l Load, ok bool) {
	if m.slot == nil {
		return l, false
	}
	m.looking.Add(1)
	defer m.looking.Add(-1)
	if m.retired.Load() {
		return l, false
	}
	b, ok := m.slot.Take()
	if ok {
		l = policy.LoadOf(b)
	}
	return l, ok
}

// numbers are those of the last heartbeat, taken or not.
func (m *mailbox) numbers() (n [2]uint64, ok bool) {
	if m.slot == nil {
		return n, false
	}
	m.looking.Add(1)
	defer m.looking.Add(-1)
	if m.retired.Load() {
		return n, false
	}
	b, err := m.slot.Latest()
	return b.Numbers, err == nil
}

// retire is called before the memory is freed.
func (m *mailbox) retire() {
	m.retired.Store(true)
	for m.looking.Load() != 0 {
		runtime.Gosched() // The calls take a few loads.
	}
}
