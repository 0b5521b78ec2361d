package ofi

import "fmt"

// order is an info's guarantee of the order in which requests take effect at
// the target (fi_endpoint(3), "message ordering"). shim.c requests it.
type order struct {
	tx, rx   uint64 // FI_ORDER_ bits of requests sent, and of those received
	raw, waw uint64 // longest request for which reads and writes after a write are ordered
}

// check compares an order with the promise of package rdma: all bits of want in
// both directions, for requests of any length.
func (o order) check(want uint64) error {
	if missing := want &^ (o.tx & o.rx); missing != 0 {
		return fmt.Errorf("%w: requests would not take effect in order: FI_ORDER bits %#x sent, %#x received, want %#x in both",
			ErrFabric, o.tx, o.rx, want)
	}
	if o.longest() == 0 {
		return fmt.Errorf("%w: requests would not take effect in order: reads after writes of at most %d bytes do, "+
			"writes after writes of at most %d, want more than 0", ErrFabric, o.raw, o.waw)
	}
	return nil
}

// longest is the longest request that is ordered.
func (o order) longest() uint64 { return min(o.raw, o.waw) }
