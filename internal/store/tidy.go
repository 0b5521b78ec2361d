package store

import (
	"context"
	"runtime"
	"slices"
	"time"

	"github.com/catfish-index/catfish/internal/store/disk"
)

// Tidy carries out some pieces of maintenance, 0.2 us each:
// places of dead records are freed, the key index grows, expired features
// are deleted. It reports whether there may be more. A caller runs it each 10 ms or so.
func (c *Collection) Tidy(pieces int) (more bool) {
	if c.use() != nil {
		return false
	}
	defer c.using.leave()
	more = c.set.m.Tidy(pieces)
	for _, x := range c.set.takeExpired() {
		if !c.st.reads(x.id) {
			continue // The group that has it deletes it.
		}
		c.st.submit(&write{
			coll: c, kind: disk.Delete, id: x.id, expired: x.revision,
			done: func(_ uint64, err error) {}, // It was written since, or will be tried again.
		})
	}
	return more
}

const (
	// tidyTick is how often collections are tidied, for up to
	// tidyTime in all: a tenth of the time of a processor. Places of dead records
	// are reused after a second, so this is soon enough; and each write tidies
	// up after itself.
	tidyTick = 10 * time.Millisecond
	tidyTime = time.Millisecond
	// tidyPieces is how many pieces of a collection are tidied before other
	// goroutines get its lock, and the processor: 20 us.
	tidyPieces = 64
)

// EveryTick calls do each tidyTick, until ctx is done.
func EveryTick(ctx context.Context, do func(turn int)) {
	tick := time.NewTicker(tidyTick)
	defer tick.Stop()
	for turn := 0; ; turn++ {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		do(turn)
	}
}

// Tidy tidies the first pieces of each collection. The collections that come first in
// this turn get the rest of the time.
func (st *Store) Tidy(turn int) {
	all := slices.DeleteFunc(st.all(), func(e *Entry) bool { return e.Records == nil })
	for i, begun := 0, time.Now(); i < len(all); i++ {
		for e := all[(turn+i)%len(all)]; e.tidy(tidyPieces) && time.Since(begun) < tidyTime; {
			runtime.Gosched()
		}
	}
}
