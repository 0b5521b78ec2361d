package store

import (
	"unsafe"

	"github.com/catfish-index/catfish/rstar"
)

// What a search keeps
//
// A search holds memory: the tree's entries of an area before it looks at the records,
// the features that are to be sorted, ids that are to be deleted. It reports the bytes
// to its caller (Query.Hold), which counts them against a budget. Most searches keep
// little, and report nothing.

// keptStep is the change after which a search reports again.
const keptStep = 64 << 10

const (
	itemBytes  = int64(unsafe.Sizeof(rstar.Item{}))
	foundBytes = 64 // of an id that is to be deleted, besides its bytes
)

// kept counts the bytes that one search keeps.
type kept struct {
	now, reported int64
	hold          func(int64) error // nil: no reports
}

// keep adds more bytes, or subtracts them. The error ends the search.
func (k *kept) keep(more int64) error {
	if k.now += more; k.hold == nil || k.now-k.reported < keptStep && k.reported-k.now < keptStep {
		return nil
	}
	k.reported = k.now
	return k.hold(k.now)
}

// end reports that nothing is kept any more.
func (k *kept) end() {
	if k.reported != 0 {
		k.reported = 0
		_ = k.hold(0) // It only shrinks.
	}
}

func (b *Buffer) keep(more int64) error { return b.kept.keep(more) }

// drop is keep of fewer bytes.
func (b *Buffer) drop(less int64) { _ = b.kept.keep(-less) }
