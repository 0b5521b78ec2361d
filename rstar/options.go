package rstar

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"unsafe"
)

// Options describe a tree. The zero value works.
type Options struct {
	// NodeBytes is the size of a node: 64*(1+5k) bytes for k in 2..12,
	// so 704, 1024, 1344, ... 3904, holding 7k entries. 0 means
	// DefaultNodeBytes.
	NodeBytes int
	// SlabBytes is the size of the slab, rounded down to whole nodes: at
	// least 256 nodes, less than 2^32. 0 means DefaultSlabBytes. It is
	// address space; memory is allocated when touched. Ignored with Memory.
	SlabBytes int64
	// Memory, if not nil, is used as the slab instead of a mapping of
	// the tree's own: zeroed, 64-byte aligned. The caller keeps
	// ownership and may free it after Close has returned.
	Memory []byte
	// Grow, if not nil, makes the slab usable piece by piece: it makes at least its
	// first bytes ready for remote readers, and returns the number of bytes that are,
	// no fewer than before. Writers call it, one at a time, before they use more. If it
	// fails, a write that needs more fails with ErrSlabFull and its error. nil: all of
	// the slab is usable.
	Grow func(bytes int64) (usable int64, err error)
	// BootID distinguishes one life of a tree from the next for remote
	// readers. 0 means a random id.
	BootID uint64
	// Strategy says how objects are inserted, how nodes are split, and how many
	// children an inner node has.
	Strategy Strategy
	// PortableStores makes the writer use sync/atomic even where an assembly
	// routine is available (publish.go). The bytes are the same; it is
	// slower.
	PortableStores bool
}

// Strategy says where insertions put objects, and how they split nodes and when.
type Strategy int

const (
	// Revised is the revised R*-tree (Beckmann and Seeger, SIGMOD 2009).
	// It never reinserts, so readers meet fewer moves.
	Revised Strategy = iota
	// Original is the R*-tree (Beckmann et al., SIGMOD 1990), with forced
	// reinsertion.
	Original
	// OriginalDoubles is Original with no more children in an inner node than
	// objects in a leaf, as where boxes of both are four doubles (the paper's
	// nodes). Levels, nodes and splits are those of such a tree. The format stays:
	// boxes are float32, rounded outwards, and half of an inner node's room is
	// not used.
	OriginalDoubles
)

var strategyNames = [...]string{"revised", "original", "original-doubles"}

func (s Strategy) valid() bool { return s >= Revised && s <= OriginalDoubles }

// original reports whether objects are inserted and nodes split as in 1990.
func (s Strategy) original() bool { return s != Revised }

func (s Strategy) String() string {
	if !s.valid() {
		return fmt.Sprintf("Strategy(%d)", int(s))
	}
	return strategyNames[s]
}

// ParseStrategy reads "revised", "original" or "original-doubles". Errors wrap
// ErrBadOptions.
func ParseStrategy(name string) (Strategy, error) {
	if s := slices.Index(strategyNames[:], name); s >= 0 {
		return Strategy(s), nil
	}
	return 0, fmt.Errorf("%w: strategy %q, want one of %s", ErrBadOptions, name, strings.Join(strategyNames[:], ", "))
}

// Strategies lists the names of all strategies, the default one first.
func Strategies() []string { return slices.Clone(strategyNames[:]) }

func (s Strategy) check() error {
	if s.valid() {
		return nil
	}
	return fmt.Errorf("%w: Strategy is %d, want Revised (0), Original (1) or OriginalDoubles (2)", ErrBadOptions, int(s))
}

// MarshalText writes the name.
func (s Strategy) MarshalText() ([]byte, error) {
	if err := s.check(); err != nil {
		return nil, err
	}
	return []byte(s.String()), nil
}

// UnmarshalText reads a name that MarshalText wrote.
func (s *Strategy) UnmarshalText(name []byte) (err error) {
	*s, err = ParseStrategy(string(name))
	return err
}

// minFillPercent is m/M, the best value of each paper: section 4.2 of
// 1990, section 5.1 of 2009.
func (s Strategy) minFillPercent() int {
	if s.original() {
		return 40
	}
	return 20
}

// Validate checks the options as New does, without making a tree. Errors
// wrap ErrBadOptions.
func (o Options) Validate() error {
	_, err := o.withDefaults()
	return err
}

// withDefaults sets zero fields to their defaults and validates.
func (o Options) withDefaults() (Options, error) {
	if o.NodeBytes == 0 {
		o.NodeBytes = DefaultNodeBytes
	}
	if nodeGroups(o.NodeBytes) == 0 {
		return o, fmt.Errorf("%w: nodes of %d bytes, want 64*(1+5k) for k in 2..12 (704 to 3904)",
			ErrBadOptions, o.NodeBytes)
	}
	if o.Memory != nil {
		o.SlabBytes = int64(len(o.Memory))
	} else if o.SlabBytes == 0 {
		o.SlabBytes = DefaultSlabBytes
	}
	chunks := o.SlabBytes / int64(o.NodeBytes)
	if chunks < minSlabChunks || chunks > maxSlabChunks {
		return o, fmt.Errorf("%w: a slab of %d bytes, want %d to %d for nodes of %d bytes",
			ErrBadOptions, o.SlabBytes, minSlabChunks*int64(o.NodeBytes),
			maxSlabChunks*int64(o.NodeBytes), o.NodeBytes)
	}
	p := uintptr(unsafe.Pointer(unsafe.SliceData(o.Memory)))
	if p%LineBytes != 0 {
		return o, fmt.Errorf("%w: Memory begins at %#x, want a multiple of %d",
			ErrBadOptions, p, LineBytes)
	}
	if err := o.Strategy.check(); err != nil {
		return o, err
	}
	for o.BootID == 0 {
		o.BootID = rand.Uint64()
	}
	return o, nil
}
