//go:build boost && cgo

package peers

// NDEBUG: Boost checks its invariants by assert, which releases disable. The
// other definition silences Boost's warnings about its own includes.

/*
#cgo CXXFLAGS: -std=c++17 -O3 -march=native -DNDEBUG -DBOOST_ALLOW_DEPRECATED_HEADERS
#include "boost.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"github.com/catfish-index/catfish/rstar"
)

// boostPeers are the R*-tree of Boost.Geometry with 16 and with 32
// entries a node, and packed.
func boostPeers() []Peer {
	inserts := func(name string, entries int) Peer {
		return Peer{
			Name: name, Inserts: true, Deletes: true, Nearest: true,
			New: func(int) (Index, error) { return newBoost(entries) },
		}
	}
	packed := Peer{
		Name: "boost-packed16", Loads: true, Deletes: true, Nearest: true,
		New: func(int) (Index, error) { return newBoost(16) },
	}
	return []Peer{inserts("boost-rstar16", 16), inserts("boost-rstar32", 32), packed}
}

type boostIndex struct{ t *C.peers_boost }

func newBoost(entries int) (Index, error) {
	t := C.peers_boost_new(C.int(entries))
	if t == nil {
		return nil, fmt.Errorf("boost: %d entries a node, want 16, 32 or 42", entries)
	}
	return &boostIndex{t}, nil
}

// cItems and cRects lend Go memory to C for one call. SAFETY: the types
// have the same layout (TestCLayout), and hold no pointers.
func cItems(items []rstar.Item) (*C.peers_item, C.size_t) {
	return (*C.peers_item)(unsafe.Pointer(unsafe.SliceData(items))), C.size_t(len(items))
}

func cRects(qs []rstar.Rect) (*C.peers_rect, C.size_t) {
	return (*C.peers_rect)(unsafe.Pointer(unsafe.SliceData(qs))), C.size_t(len(qs))
}

func (b *boostIndex) Insert(items []rstar.Item) error {
	p, n := cItems(items)
	C.peers_boost_insert(b.t, p, n)
	return nil
}

func (b *boostIndex) Load(items []rstar.Item) error {
	p, n := cItems(items)
	C.peers_boost_load(b.t, p, n)
	return nil
}

func (b *boostIndex) Delete(items []rstar.Item) error {
	p, n := cItems(items)
	if found := C.peers_boost_delete(b.t, p, n); found != n {
		return fmt.Errorf("boost: %d of %d items were in the tree", found, n)
	}
	return nil
}

func (b *boostIndex) Search(qs []rstar.Rect) func(lo, hi int) Answer {
	return func(lo, hi int) Answer {
		p, n := cRects(qs[lo:hi])
		a := C.peers_boost_search(b.t, p, n)
		return Answer{Count: uint64(a.count), Sum: uint64(a.sum)}
	}
}

func (b *boostIndex) Nearest(at []rstar.Rect, k int) func(lo, hi int, ids []uint64) {
	return func(lo, hi int, ids []uint64) {
		p, n := cRects(at[lo:hi])
		_ = ids[:(hi-lo)*k] // C checks no bounds
		C.peers_boost_nearest(b.t, p, n, C.uint(k),
			(*C.uint64_t)(unsafe.Pointer(unsafe.SliceData(ids))))
	}
}

func (b *boostIndex) OutsideBytes() int64 { return 0 }

func (b *boostIndex) Close() error {
	C.peers_boost_free(b.t)
	b.t = nil
	return nil
}

// boostReads returns the nodes that searches visit, and the leaves among
// them. (Tests cannot use cgo themselves.)
func boostReads(b *boostIndex, qs []rstar.Rect) [2]float64 {
	p, n := cRects(qs)
	r := C.peers_boost_reads(b.t, p, n)
	return [2]float64{float64(r.nodes), float64(r.leaves)}
}
