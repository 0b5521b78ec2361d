//go:build geos && cgo

package peers

/*
#cgo CXXFLAGS: -std=c++17 -O3 -march=native -DNDEBUG
#cgo LDFLAGS: -lgeos_c
#include "geos.h"
*/
import "C"

import (
	"errors"
	"unsafe"

	"github.com/catfish-index/catfish/rstar"
)

// geosPeers is the STR-tree of GEOS by its C interface. Only bulk load is
// measured, as the tree is built by the first search, and no nearest, as
// the C interface finds one object only. The library itself is as the
// distribution compiled it.
func geosPeers() []Peer {
	return []Peer{{
		Name: "geos", Loads: true,
		New: func(int) (Index, error) { return &geosIndex{C.peers_geos_new()}, nil },
	}}
}

var errGEOS = errors.New("geos: the library failed to make a geometry or a tree")

type geosIndex struct{ t *C.peers_geos }

func (g *geosIndex) Insert([]rstar.Item) error { return ErrNotOffered }
func (g *geosIndex) Delete([]rstar.Item) error { return ErrNotOffered }

// Load includes making a geometry of each item: the library requires it.
func (g *geosIndex) Load(items []rstar.Item) error {
	// SAFETY, here and below: same layout (TestCLayout), no pointers.
	p := (*C.peers_geos_item)(unsafe.Pointer(unsafe.SliceData(items)))
	if C.peers_geos_load(g.t, p, C.size_t(len(items))) == 0 {
		return errGEOS
	}
	return nil
}

// Search makes the queries' geometries beforehand, like an optimised program.
func (g *geosIndex) Search(qs []rstar.Rect) func(lo, hi int) Answer {
	p := (*C.peers_geos_rect)(unsafe.Pointer(unsafe.SliceData(qs)))
	if C.peers_geos_prepare(g.t, p, C.size_t(len(qs))) == 0 {
		panic(errGEOS) // out of memory
	}
	return func(lo, hi int) Answer {
		if lo < 0 || hi > len(qs) {
			panic("geos: queries out of range") // C checks no bounds
		}
		a := C.peers_geos_search(g.t, C.size_t(lo), C.size_t(hi))
		return Answer{Count: uint64(a.count), Sum: uint64(a.sum)}
	}
}

func (g *geosIndex) Nearest([]rstar.Rect, int) func(lo, hi int, ids []uint64) {
	panic(ErrNotOffered)
}

func (g *geosIndex) OutsideBytes() int64 { return 0 }

func (g *geosIndex) Close() error {
	C.peers_geos_free(g.t)
	g.t = nil
	return nil
}
