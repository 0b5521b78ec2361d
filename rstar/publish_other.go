//go:build !amd64 || race

package rstar

// orderedStores: there are no cheap ordered stores; publish uses sync/atomic.
const orderedStores = false

func storeOrdered(dst, src *uint64, touched uint64, lines int, odd uint64) {
	panic("rstar: no ordered stores on this platform")
}
