//go:build race

package record

// plainStores: the race detector does not know that readers notice.
const plainStores = false
