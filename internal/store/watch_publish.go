package store

import (
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/store/disk"
)

// What the commit leader does for watchers.

// collect takes what was committed. Readers do not see it yet.
func (h *hub) collect(entries []disk.Entry) {
	if !h.on.Load() {
		return
	}
	now := h.st.now()
	for i := range entries {
		c, err := changeOf(&entries[i], now, feature.Open)
		if err != nil {
			h.st.o.Logger.Error("a write cannot be told to watchers", "error", err)
			h.broken = true
			return
		}
		h.unpublished = append(h.unpublished, c)
	}
}

// publish makes the collected changes visible to watchers.
func (h *hub) publish() {
	if !h.on.Load() {
		return
	}
	if h.broken {
		// Forgotten rather than left out: watchers look for it in the log, and find
		// what is wrong, or end with ErrLagged.
		h.ring.clear(h.limits.Changes, h.limits.Bytes, h.st.revision)
		h.broken = false
	} else {
		h.ring.append(h.unpublished)
	}
	clear(h.unpublished)
	h.unpublished = h.unpublished[:0]
	if h.count.Load() == 0 && h.turnOff() {
		return
	}
	select {
	case h.wake <- struct{}{}:
	default:
	}
}

// turnOff is called by the commit leader.
func (h *hub) turnOff() bool {
	h.mu.Lock() // It is free: there are no watchers.
	defer h.mu.Unlock()
	first, last := h.ring.kept()
	if h.count.Load() > 0 || h.st.o.Dir == "" && first <= h.left.Load()+1 {
		return false
	}
	h.on.Store(false)
	h.st.keepsOld = h.st.o.Dir != ""
	h.ring.clear(0, 0, last)
	return true
}
