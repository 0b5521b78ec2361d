//go:build !race

package record

// plainStores: the bytes of a record are stored in place, in any order. The
// guardian's stores are not (readers.go says why that suffices).
const plainStores = true
