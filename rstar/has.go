package rstar

// Has reports whether the tree has an object with this rectangle and id, found as
// Delete finds it: it waits for other writers, and costs as much as Delete's search.
// The error wraps ErrBadRect or ErrClosed.
func (t *Tree) Has(r Rect, id uint64) (bool, error) {
	if err := r.Validate(); err != nil {
		return false, err
	}
	if err := t.lock(); err != nil {
		return false, err
	}
	defer t.mu.Unlock()
	t.tx.begin()
	_, ok := t.tx.find(r, id)
	return ok, nil
}
