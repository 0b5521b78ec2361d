package store

import (
	"fmt"
	"sync/atomic"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/rstar"
)

// Kind is what a collection holds.
type Kind uint8

// Kinds of collections.
const (
	KindFeatures Kind = iota
	KindBoxes
	KindRecords
)

func (k Kind) String() string { return [...]string{"features", "boxes", "records"}[k] }

// Entry is a collection under a name, as the registry has it: a caller that looks a
// collection up gets its entry, and reads the data by the fields. They do not change. An entry ends
// when the collection is dropped, or gets another name, for which there is a new entry.
//
//	loading -----> serving -----> ended
//	       SetReady        drop, swap
type Entry struct {
	Name   string
	Number uint32 // by which remote clients name it; 0 in a store without an Owner
	Kind   Kind
	// ended is set before the data is closed. A search that ran meanwhile may have found
	// nothing for that reason: read ended after it.
	ended, loading atomic.Bool
	// Tree is of boxes, or of the boxes of features; nil: it has records.
	Tree *rstar.Tree
	// Records are those of a collection of records, or the features by id; nil: it has
	// boxes. A shard has its own.
	Records  *kv.Map
	Features *Collection // nil: of another kind
	Boxes    *Boxes      // those that are kept, in Tree; nil: it is of another kind, or in memory alone
	Kept     *Records    // those that are kept, which all shards share; nil: as for Boxes
	// Memory is where Tree and Records lie.
	Memory [parts]Memory
	// Shards are nil if the collection is not divided. This is shard number Shard.
	Shards *Shards
	Shard  int
	// Attached is for the Owner, which sets it in Attach.
	Attached any

	maxBytes int64           // of a cache (RecordsOptions.MaxBytes)
	account  *limits.Account // of the client that created it; nil: the server's owner
	restored bool            // it came from the log or another group, and no option names it
}

// Shards is what the shards of a collection share. It does not change.
type Shards struct {
	Seed uint64 // of the hash that says which shard a key is of; random
	All  []*Entry
}

// Parts returns all shards of a collection. It returns only e if the collection is not
// divided, or e is a shard other than the first.
func (e *Entry) Parts() []*Entry {
	if e.Shards == nil || e.Shard > 0 {
		return []*Entry{e}
	}
	return e.Shards.All
}

// Is returns ErrKind if the collection is of another kind.
func (e *Entry) Is(k Kind) error {
	if e.Kind != k {
		return fmt.Errorf("%w: %q is one of %s, not of %s", fault.ErrKind, e.Name, e.Kind, k)
	}
	return nil
}

// Ready is ErrNotReady while the collection is being filled (Spec.Loading).
func (e *Entry) Ready() error {
	if !e.Loading() {
		return nil
	}
	return fmt.Errorf("%w: the server is loading %q, which has %d objects so far", fault.ErrNotReady, e.Name, e.objects())
}

// Loading reports whether the collection is being filled.
func (e *Entry) Loading() bool { return e.loading.Load() }

// SetReady ends the loading of a collection.
func (e *Entry) SetReady() { e.loading.Store(false) }

func (e *Entry) objects() int {
	if e.Records != nil {
		return e.Records.Len()
	}
	return e.Tree.Len()
}

// Ended reports whether the collection was dropped, or has another name.
func (e *Entry) Ended() bool { return e.ended.Load() }

// Gone is ErrUnknownCollection if the entry has ended, nil if not.
func (e *Entry) Gone() error {
	if !e.ended.Load() {
		return nil
	}
	return fmt.Errorf("%w: %q was dropped", ErrUnknownCollection, e.Name)
}

// OfClients reports whether clients may drop the collection: one has created it, in this
// process or perhaps in one before.
func (e *Entry) OfClients() bool { return e.account != nil || e.restored }

// fits returns an error unless the collection is as a spec says.
func (e *Entry) fits(s *Spec) error {
	if err := e.Is(s.Kind); err != nil {
		return err
	}
	switch n := len(e.Parts()); {
	case s.Keep && !e.durable():
		return fmt.Errorf("%w: %q is in memory alone", ErrCollectionExists, e.Name)
	case s.Records.Shards > 0 && s.Records.Shards != n: // 0: as it is
		return fmt.Errorf("%w: %q has %d shards, not %d", ErrCollectionExists, e.Name, n, s.Records.Shards)
	case s.Records.MaxBytes > 0 && s.Records.MaxBytes != e.maxBytes:
		return fmt.Errorf("%w: %q has a limit of %d bytes, not %d", ErrCollectionExists, e.Name, e.maxBytes, s.Records.MaxBytes)
	case e.Features != nil && e.Features.Options() != s.Features:
		return e.Features.Options().CheckSame(e.Name, s.Features)
	}
	return nil
}

// durable reports whether the collection is in the store's log: its creation, its drop
// and its writes.
func (e *Entry) durable() bool { return e.Features != nil || e.Boxes != nil || e.Kept != nil }

// logged returns the number that a durable collection has in the log, and the mark of its
// drop there.
func (e *Entry) logged() (num uint32, dropped *atomic.Bool) {
	switch {
	case e.Features != nil:
		return e.Features.num, &e.Features.dropped
	case e.Kept != nil:
		return e.Kept.num, &e.Kept.dropped
	}
	return e.Boxes.num, &e.Boxes.dropped
}

// tidy does up to pieces pieces of the background work.
func (e *Entry) tidy(pieces int) (more bool) {
	if e.Features != nil {
		return e.Features.Tidy(pieces)
	}
	more = e.Records.Tidy(pieces)
	if e.Kept != nil {
		e.Kept.deleteExpired()
		e.Kept.shrink(e.Records)
	}
	return more
}

// revoke ends remote reads, which ask no server and so do not learn that the entry has ended.
func (e *Entry) revoke() {
	for _, p := range e.Parts() {
		for _, m := range p.Memory {
			if m.Revoke != nil {
				m.Revoke()
			}
		}
	}
}

// close ends reads and writes, waits for those in flight, and frees the memory.
func (e *Entry) close() {
	for _, p := range e.Parts() {
		switch {
		case p.Features != nil:
			p.Features.close()
		case p.Boxes != nil:
			p.Boxes.close()
		case p.Tree != nil:
			_ = p.Tree.Close()
		case p.Records != nil:
			if p.Kept != nil {
				p.Kept.dropped.Store(true)
			}
			p.Records.Close()
		}
		for _, m := range p.Memory {
			if m.Free != nil {
				m.Free()
			}
		}
	}
}
