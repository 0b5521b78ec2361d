package catfish

import (
	"unsafe"

	"github.com/catfish-index/catfish/rstar"
)

// nearestScan is a nearest in steps: rstar.Browse as pieces.
type nearestScan struct {
	browse *rstar.Browse
	k      int
	within float64
	near   []rstar.Neighbor // of one step
	items  []rstar.Item     // what was found
	ended  bool
	taken  bool
}

// newNearestScan goes on after the objects that were found already.
func newNearestScan(rest *rstar.Browse, found []rstar.Neighbor, req *request) *nearestScan {
	n := &nearestScan{browse: rest, k: int(req.limit), within: req.within}
	n.ended = n.take(found)
	return n
}

// take adds objects to the answer, and reports whether it is complete.
func (n *nearestScan) take(near []rstar.Neighbor) (done bool) {
	for _, x := range near {
		if x.Dist > n.within {
			return true
		}
		n.items = append(n.items, x.Item)
	}
	return len(n.items) == n.k
}

func (n *nearestScan) Step(nodes int) (done bool) {
	if n.ended {
		return true
	}
	n.near, done = n.browse.Next(n.near[:0], n.k-len(n.items), nodes)
	n.ended = n.take(n.near) || done
	return n.ended
}

func (n *nearestScan) Err() error { return n.browse.Err() }
func (n *nearestScan) Count() int { return len(n.items) }
func (n *nearestScan) Close()     { n.browse.Close() }

// Take returns all in one piece: 2.6 MB at most.
func (n *nearestScan) Take() []rstar.Item {
	if n.taken || len(n.items) == 0 {
		return nil
	}
	n.taken = true
	return n.items
}

func (n *nearestScan) Held() int {
	return n.browse.Held() + cap(n.items)*itemBytes + cap(n.near)*int(unsafe.Sizeof(rstar.Neighbor{}))
}
