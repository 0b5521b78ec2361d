//go:build amd64 && !race

package rstar

// orderedStores reports that storeOrdered exists.
const orderedStores = true

// storeOrdered is publish by plain stores in program order, which x86
// makes visible in that order. dst and src are nodes of lines*64 bytes.
//
//go:noescape
func storeOrdered(dst, src *uint64, touched uint64, lines int, odd uint64)
