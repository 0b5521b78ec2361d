package store

import "github.com/catfish-index/catfish/internal/mapped"

// Memory is where one structure of a collection lies: its tree, its records or its
// key index. Remote readers may be let into it.
type Memory struct {
	Bytes []byte // zeroed, aligned to pages, sparse
	// Grow, if not nil, makes it usable piece by piece (rstar.Options.Grow,
	// record.Options.Grow, cuckoo.Options.Grow).
	Grow func(bytes int64) (usable int64, err error)
	// GiveBack, if not nil, may return pages of it to the system.
	GiveBack func([]byte)
	// Revoke, if not nil, ends remote reads, and keeps Bytes for local ones.
	Revoke func()
	// Free is called when the collection has gone, and nothing touches it.
	Free func()
	// Of belongs to its maker: how remote readers reach it.
	Of any
}

// Part says what a Memory is for.
type Part uint8

// Parts of a collection.
const (
	TreePart Part = iota
	RecordsPart
	IndexPart
	parts
)

func (p Part) String() string { return [...]string{"tree", "records", "keys"}[p] }

// ownMemory is private memory.
func ownMemory(_ string, _ Part, bytes int64) (Memory, error) {
	b, err := mapped.Map(bytes)
	if err != nil {
		return Memory{}, err
	}
	return Memory{Bytes: b, GiveBack: mapped.GiveBack, Free: func() { _ = mapped.Unmap(b) }}, nil
}
