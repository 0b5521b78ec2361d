package server

import (
	"unsafe"

	"github.com/catfish-index/catfish/internal/wire"
	"github.com/catfish-index/catfish/rstar"
)

// nearestScan carries out a nearest in steps: an rstar.Browse as pieces.
type nearestScan struct {
	browse *rstar.Browse
	k      int
	within float64
	near   []rstar.Neighbor // of one step
	found  [][]rstar.Item   // full pieces, and the last one, which is being filled
	n      int              // objects in them
	taken  int              // pieces that Take has returned
	ended  bool
}

// pieceItems is how many objects of an answer are sent at a time, the same as for
// a Scan. All 65,536 at once kept the other clients waiting for 8 ms.
const pieceItems = 32 << 10 / wire.ItemBytes

// newNearestScan continues after the objects that were found already.
func newNearestScan(rest *rstar.Browse, found []rstar.Neighbor, req *request) *nearestScan {
	n := &nearestScan{browse: rest, k: int(req.limit), within: req.within}
	n.ended = n.keep(found)
	return n
}

// keep adds objects to the answer, and reports whether it is complete.
func (n *nearestScan) keep(near []rstar.Neighbor) (done bool) {
	for _, x := range near {
		if x.Dist > n.within {
			return true
		}
		if n.n%pieceItems == 0 {
			n.found = append(n.found, make([]rstar.Item, 0, pieceItems))
		}
		last := &n.found[len(n.found)-1]
		*last = append(*last, x.Item)
		n.n++
	}
	return n.n == n.k
}

func (n *nearestScan) Step(nodes int) (done bool) {
	if n.ended {
		return true
	}
	n.near, done = n.browse.Next(n.near[:0], n.k-n.n, nodes)
	n.ended = n.keep(n.near) || done
	return n.ended
}

func (n *nearestScan) Err() error { return n.browse.Err() }

func (n *nearestScan) Count() int { return n.n }

func (n *nearestScan) Close() { n.browse.Close() }

func (n *nearestScan) Take() []rstar.Item {
	if n.taken == len(n.found) {
		return nil
	}
	piece := n.found[n.taken]
	n.found[n.taken] = nil
	n.taken++
	return piece
}

func (n *nearestScan) Held() int {
	return n.browse.Held() + (len(n.found)-max(n.taken-1, 0))*pieceItems*wire.ItemBytes + cap(n.near)*int(unsafe.Sizeof(rstar.Neighbor{}))
}
