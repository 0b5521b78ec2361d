package limits

import "cmp"

const (
	// WatchedAreas is the default bound of the areas of all watchers of a store.
	WatchedAreas = 1_000_000
	// WatcherUnits is what a watcher counts besides its areas, so that both bounds of a
	// store (10,000 watchers, 1,000,000 areas) are reached together.
	WatcherUnits = 100
	// WatcherBytes is the memory of a watcher, and AreaBytes that of its areas, by their
	// weight.
	WatcherBytes, AreaBytes = 20 << 10, 1 << 10
)

// NewWatchBudget returns one service's budget of the areas that its clients watch; 0:
// WatchedAreas. A source may use a quarter, so that one that uses two services leaves
// half to others.
func NewWatchBudget(name string, areas int) *Budget {
	n := int64(cmp.Or(areas, WatchedAreas))
	return NewBudget(name, n, (n+3)/4)
}
