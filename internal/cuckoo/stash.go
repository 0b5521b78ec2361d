package cuckoo

// The stash takes items for which the tables have no room. Readers look into it only if
// the first bucket is marked, so an item in it slows down only lookups of keys of that
// bucket.

// stashLine is the line of the item at place i of the stash.
func (t *table) stashLine(i int) *Line {
	return t.at(stashOffset + uint64(i/MaxItems)*LineBytes)
}

func (t *table) stashRef(i int) uint64 { return t.stashLine(i).ref(i % MaxItems) }

// stashFind returns the place of an item, or -1.
func (t *table) stashFind(hash, ref uint64) int {
	if t.stats.Stash == 0 {
		return -1
	}
	for i := range StashItems {
		if t.stashHashes[i] == hash && t.stashRef(i) == ref {
			return i
		}
	}
	return -1
}

// stashPut reports whether there was room.
func (t *table) stashPut(hash, ref uint64) bool {
	if t.stats.Stash == StashItems {
		return false
	}
	i := 0
	for t.stashRef(i) != 0 {
		i++
	}
	p := t.line(t.vertex(hash, 0))
	if !p.Stashed() && mutant != noStashMark {
		l := *p
		l[laneMeta] |= metaStashed
		t.publish(p, &l)
	}
	t.stashHashes[i] = hash
	p = t.stashLine(i)
	l := *p
	l.set(i%MaxItems, signatureOf(hash), ref)
	t.publish(p, &l)
	if t.stats.Stashed == 0 {
		t.stats.FirstStash = t.stats.Items + 1
	}
	t.stats.Stashed++
	t.stats.Stash++
	t.stats.StashMost = max(t.stats.StashMost, t.stats.Stash)
	return true
}

// stashHas reports whether an item of the stash has this first bucket.
func (t *table) stashHas(v uint64) bool {
	for i := range StashItems {
		if t.stashRef(i) != 0 && t.vertex(t.stashHashes[i], 0) == v {
			return true
		}
	}
	return false
}

// stashEmpty tries to move one item into the tables, the next with each call.
func (t *table) stashEmpty() {
	if t.stats.Stash == 0 {
		return
	}
	for t.stashRef(t.stashNext) == 0 {
		t.stashNext = (t.stashNext + 1) % StashItems
	}
	i := t.stashNext
	t.stashNext = (i + 1) % StashItems
	hash := t.stashHashes[i]
	t.own(t.vertex(hash, 0))
	t.own(t.vertex(hash, 1))
	if !t.rule.place(hash, t.stashRef(i)) {
		return
	}
	t.moves.add(hash)
	p := t.stashLine(i)
	l := *p
	l.set(i%MaxItems, 0, 0)
	t.publish(p, &l)
	t.stats.Stash--
}
