package cuckoo

import (
	"errors"
	"fmt"
	"math/bits"
)

// Index maps hashes to references. The package comment says which calls may run at the
// same time.
type Index interface {
	// Lookup appends the references of all items with this hash to dst, each
	// once, perhaps among those of others with a similar hash. It does not
	// allocate if dst has room, for which 16 is nearly always enough.
	Lookup(dst []uint64, hash uint64) []uint64
	// Prefetch asks for the memory that a Lookup of this hash is going to read, and
	// does not wait for it. After a number of these calls, as many Lookups wait for the
	// memory of all once. Like Lookup it takes no lock.
	Prefetch(hash uint64)
	// PrefetchWrite is the same for the other memory that writes read. It is called
	// under their lock.
	PrefetchWrite(hash uint64)
	// Insert adds an item. Items that are equal in hash and reference are the
	// caller's mistake, which is not noticed.
	Insert(hash, ref uint64) error
	// Replace gives an item another reference, in place. It returns
	// ErrNotFound if there is no such item.
	Replace(hash, old, ref uint64) error
	// Delete removes an item. It returns ErrNotFound if there is no such item.
	Delete(hash, ref uint64) error
	// Scan calls f for items at the cursor, whose zero value is the beginning, and
	// returns the cursor of the rest; Done says that there is none. It ends soon after
	// limit items. Between two calls writes may change anything. An item that is
	// present during all of the scan is given at least once, one that is moved in the
	// meantime perhaps twice. ErrScanLost: too many items were moved since the last
	// call; begin again.
	Scan(c Cursor, limit int, f func(hash, ref uint64)) (Cursor, error)
	// Advance continues a growth in progress by that number of buckets, and reports
	// whether it is still in progress. Each write does the same for two buckets of each
	// table, so this is only for an owner with time to spare.
	Advance(buckets int) bool
	Len() int
	Stats() Stats
}

// Kind is an implementation of Index.
type Kind uint8

// The kinds. See the package comment.
const (
	GCuckoo Kind = iota
	Conventional
	Compact
)

var kindNames = [...]string{"gcuckoo", "conventional", "compact"}

func (k Kind) String() string {
	if int(k) < len(kindNames) {
		return kindNames[k]
	}
	return fmt.Sprintf("Kind(%d)", uint8(k))
}

// Options configure New. Zero values are the defaults.
type Options struct {
	// Items is the number of items a bucket, 1 to MaxItems, 5 by default.
	// Kind Compact has seven, always.
	Items int
	// Buckets is the initial number of buckets of each of the two tables, a power of
	// two, 64 by default. In kind Compact it is the number of heads of chains, which
	// stays the same.
	Buckets int
	// MaxLoad is the load factor from which the tables grow: by default 0.48
	// with one item a bucket, 0.8 with two, 0.9 with three, 0.94 with four and
	// 0.96 with five (docs/decisions/key-index.md). With 1 they grow only
	// when the stash fills.
	MaxLoad float64
	// MaxKicks bounds the random walk of kind Conventional, 500 by default,
	// the usual bound (Li et al., EuroSys 2014, use 250 to 2000).
	MaxKicks int
	Seed     uint64 // of the hash of keys
	BootID   uint64 // of the server
	// Grow, if not nil, makes the slab usable piece by piece: it makes at least its
	// first bytes ready for remote readers, and returns the number of bytes that are.
	// New calls it, and so does a growth before it makes its tables (kind Compact:
	// before it links a bucket beyond that). If it fails, or gives less, there is no
	// growth for now (growth.go), and a write that finds no room fails with ErrFull and
	// its error. nil: all of the slab is usable.
	Grow func(bytes int64) (usable int64, err error)
	// Release, if set, is called when the tables at these bytes of the slab are out of
	// use. The owner may give the memory back to the system if it reads as zeros from
	// then on; readers notice.
	Release func(offset, bytes uint64)
}

// defaultMaxLoad is by items a bucket.
var defaultMaxLoad = [MaxItems + 1]float64{1: 0.48, 2: 0.8, 3: 0.9, 4: 0.94, 5: 0.96}

const (
	defaultBuckets  = 64 // 8 KiB
	defaultMaxKicks = 500
	maxKicksLimit   = 1 << 20
)

func (o Options) withDefaults() (Options, error) {
	if o.Items == 0 {
		o.Items = MaxItems
	}
	if o.Items < 1 || o.Items > MaxItems {
		return o, fmt.Errorf("%w: %d items a bucket, want 1 to %d", ErrOptions, o.Items, MaxItems)
	}
	if o.Buckets == 0 {
		o.Buckets = defaultBuckets
	}
	if o.Buckets < 1 || o.Buckets > 1<<maxLog2 || bits.OnesCount(uint(o.Buckets)) != 1 {
		return o, fmt.Errorf("%w: %d buckets, want a power of two up to %d", ErrOptions, o.Buckets, 1<<maxLog2)
	}
	if o.MaxLoad == 0 {
		o.MaxLoad = defaultMaxLoad[o.Items]
	}
	if !(o.MaxLoad > 0 && o.MaxLoad <= 1) {
		return o, fmt.Errorf("%w: maximal load %v, want above 0 and at most 1", ErrOptions, o.MaxLoad)
	}
	if o.MaxKicks == 0 {
		o.MaxKicks = defaultMaxKicks
	}
	if o.MaxKicks < 1 || o.MaxKicks > maxKicksLimit {
		return o, fmt.Errorf("%w: %d kicks, want 1 to %d", ErrOptions, o.MaxKicks, maxKicksLimit)
	}
	return o, nil
}

// ask asks the hook for memory, and returns the number of usable bytes.
func (o *Options) ask(want, has uint64) (usable uint64, err error) {
	if o.Grow == nil || want <= has {
		return max(want, has), nil
	}
	got, err := o.Grow(int64(want))
	if err == nil && got < int64(want) {
		err = fmt.Errorf("cuckoo: %d bytes usable, wanted %d", got, want)
	}
	if err != nil {
		return has, err
	}
	return uint64(got), nil
}

// New makes an empty index in mem: zeros, which begin at a line boundary. It touches
// only the memory that it needs.
func New(kind Kind, mem []byte, o Options) (Index, error) {
	switch kind {
	case GCuckoo, Conventional:
		return newTable(kind, mem, o)
	case Compact:
		return newCompact(mem, o)
	}
	return nil, fmt.Errorf("%w: %v", ErrOptions, kind)
}

// Stats describes an index. Events are counted since New.
type Stats struct {
	Items    int    `json:"items"`    // the stash's included
	Buckets  int    `json:"buckets"`  // of the present tables, both; Compact: heads and overflow
	Capacity int    `json:"capacity"` // places in them
	Bytes    uint64 `json:"bytes"`
	Growing  bool   `json:"growing"`
	Grown    uint64 `json:"grown"` // growths begun

	Inserts     uint64 `json:"inserts"`
	Kicks       uint64 `json:"kicks"`        // items moved to their other bucket
	LongestKick int    `json:"longest_kick"` // most of them for one insertion
	// Cases of G-Cuckoo with one item a bucket (RHKV, Algorithm 1): neither,
	// one or both of the buckets belong to a component; both and there is room
	// in both or the one component (C1), in one of two (C2), in none (C3).
	CaseA     uint64 `json:"case_a"`
	CaseB     uint64 `json:"case_b"`
	CaseC1    uint64 `json:"case_c1"`
	CaseC2    uint64 `json:"case_c2"`
	CaseC3    uint64 `json:"case_c3"`
	Disagreed uint64 `json:"disagreed"` // C1 or C2 by the counts, but no way to the room, because of deletions
	Rebuilt   uint64 `json:"rebuilt"`   // components determined again because of that

	Stash       int    `json:"stash"`        // items in it now
	StashMost   int    `json:"stash_most"`   // most at any time
	Stashed     uint64 `json:"stashed"`      // items put into it
	FirstStash  int    `json:"first_stash"`  // Items when the first one was put there, 0: none
	Loops       uint64 `json:"loops"`        // Conventional: walks that reached MaxKicks
	BoundedOut  uint64 `json:"bounded_out"`  // G-Cuckoo, several items a bucket: searches that gave up
	Overflows   uint64 `json:"overflows"`    // Compact: overflow buckets linked
	Merges      uint64 `json:"merges"`       // Compact: overflow buckets given back after deletions
	LongestLink int    `json:"longest_link"` // Compact: most buckets in a chain at any time
}

// Add adds those of another index: the longest, and the most at any time, are the
// larger ones, and FirstStash is the smaller one.
func (s *Stats) Add(o Stats) {
	s.Items += o.Items
	s.Buckets += o.Buckets
	s.Capacity += o.Capacity
	s.Bytes += o.Bytes
	s.Growing = s.Growing || o.Growing
	s.Grown += o.Grown
	s.Inserts += o.Inserts
	s.Kicks += o.Kicks
	s.LongestKick = max(s.LongestKick, o.LongestKick)
	s.CaseA += o.CaseA
	s.CaseB += o.CaseB
	s.CaseC1 += o.CaseC1
	s.CaseC2 += o.CaseC2
	s.CaseC3 += o.CaseC3
	s.Disagreed += o.Disagreed
	s.Rebuilt += o.Rebuilt
	s.Stash += o.Stash
	s.StashMost = max(s.StashMost, o.StashMost)
	s.Stashed += o.Stashed
	if s.FirstStash == 0 || o.FirstStash > 0 && o.FirstStash < s.FirstStash {
		s.FirstStash = o.FirstStash
	}
	s.Loops += o.Loops
	s.BoundedOut += o.BoundedOut
	s.Overflows += o.Overflows
	s.Merges += o.Merges
	s.LongestLink = max(s.LongestLink, o.LongestLink)
}

// Load is the load factor.
func (s Stats) Load() float64 { return float64(s.Items) / float64(s.Capacity) }

// Errors of New and of writes.
var (
	ErrOptions  = errors.New("cuckoo: bad option")
	ErrMemory   = errors.New("cuckoo: bad memory")
	ErrRef      = errors.New("cuckoo: bad reference")
	ErrNotFound = errors.New("cuckoo: no such item")
	// ErrFull: the slab has no room for larger tables, or Options.Grow gives none; then
	// its error is wrapped, too.
	ErrFull = errors.New("cuckoo: slab is full")
	// ErrTooManyAlike: this item's buckets and the stash are full although the tables
	// are not. This does not happen by chance, but where many keys were chosen so that
	// their hashes agree, and growing would not help.
	ErrTooManyAlike = errors.New("cuckoo: too many items with similar hashes")
	ErrScanLost     = errors.New("cuckoo: too much was moved since the scan's last call")
)

// Errors of remote readers.
var (
	// ErrTorn: a line was being written. Read it again.
	ErrTorn    = errors.New("cuckoo: torn line")
	ErrLayout  = errors.New("cuckoo: unknown layout")
	ErrCorrupt = errors.New("cuckoo: corrupt slab")
	// ErrGrown: the tables lie beyond the part of the slab that the reader knows, so
	// nothing was read. Ask the server for the size now, and give up if it is no
	// larger.
	ErrGrown = errors.New("cuckoo: the tables are beyond the memory that is known")
)
