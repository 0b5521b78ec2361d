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
	taken  bool
}

func newNearestScan(t *rstar.Tree, req *request) *nearestScan {
	return &nearestScan{browse: t.Browse(req.rect.MinX, req.rect.MinY), k: int(req.limit), within: req.within}
}

func (n *nearestScan) Step(nodes int) (done bool) {
	n.near, done = n.browse.Next(n.near[:0], n.k-len(n.items), nodes)
	for _, x := range n.near {
		if x.Dist > n.within {
			return true
		}
		n.items = append(n.items, x.Item)
	}
	return done || len(n.items) == n.k
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
