package rstar

// Show has searches, counts and nearest of this process leave out the objects for which only
// returns false, from the next leaf that they visit on; nil: they find all. Insert, Delete, Update,
// Has and Len know all objects, and so do readers of the tree's memory. only is called at any time by
// any goroutine.
func (t *Tree) Show(only func(r Rect) bool) {
	if only == nil {
		t.shown.Store(nil)
		return
	}
	t.shown.Store(&only)
}

// shows reports whether a search finds an object.
func (t *Tree) shows(r Rect) bool {
	only := t.shown.Load()
	return only == nil || (*only)(r)
}

// shownOf removes from items, from mark on, those that are not shown.
func (t *Tree) shownOf(items []Item, mark int) []Item {
	only := t.shown.Load()
	if only == nil {
		return items
	}
	n := mark
	for i := mark; i < len(items); i++ {
		if (*only)(items[i].Rect) {
			items[n] = items[i]
			n++
		}
	}
	return items[:n]
}
