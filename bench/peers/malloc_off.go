//go:build !cgo || !(boost || geos)

package peers

// mallocBytes is 0: no peer uses malloc.
func mallocBytes() int64 { return 0 }
