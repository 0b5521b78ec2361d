package disk

import "fmt"

// Pebble stops writers when level 0 is too deep, until compactions have caught up.
// A frozen database does not compact (guard.go), so a writer stopped in there would
// never return. Pebble's limit is set out of reach (engine.go), and a writer is
// stopped here, where a freeze lets it go.

const (
	// maxSublevels of level 0: each is one more table that a reader looks into,
	// and memory. Pebble's own default is 12 for readers of single keys, of which
	// there are none here; a few more let bursts through.
	maxSublevels = 24
	// throttleEvery bytes, a commit looks again: a memtable makes a sublevel.
	throttleEvery = memTableBytes / 2
)

// throttle waits for compactions if need be. An error means that they will not
// come: nothing was written.
func (db *DB) throttle(e *engine, steps []step) error {
	for i := range steps {
		db.credit -= steps[i].bytes
	}
	if db.credit > 0 {
		return nil
	}
	db.credit = throttleEvery
	for e.Metrics().Levels[0].Sublevels > maxSublevels {
		select {
		case <-db.ctx.Done():
			return ErrClosed
		case <-e.g.frozen:
			return fmt.Errorf("%w: %w", ErrReadOnly, e.g.cause())
		case <-e.compacted:
		}
	}
	return nil
}
