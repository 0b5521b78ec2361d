package replica

// History says which term each entry of a log is of: entry i is of the last span whose
// First is not greater. Terms and Firsts rise. Each primary's first entry begins a
// span, so that a span needs no bytes in other entries.
//
// Two logs with the same term at a revision are the same up to there: one primary
// numbered the entries of a term, in one boot, and a secondary's log is a prefix
// of the log of the primary that it follows.
type History []Span

// Span is the entries of one term.
type Span struct{ Term, First uint64 }

// term returns the term of an entry, 0 for what lies before the first span.
func (h History) term(revision uint64) uint64 {
	for i := len(h) - 1; i >= 0; i-- {
		if h[i].First <= revision {
			return h[i].Term
		}
	}
	return 0
}

// before returns the last revision before the span that has this one. It is less than
// revision whatever another member says that its history is.
func (h History) before(revision uint64) uint64 {
	for i := len(h) - 1; i >= 0; i-- {
		if h[i].First <= revision {
			return max(h[i].First, 1) - 1
		}
	}
	return 0
}

// cut forgets the spans that begin after a revision.
func (h History) cut(revision uint64) History {
	for len(h) > 0 && h[len(h)-1].First > revision {
		h = h[:len(h)-1]
	}
	return h
}

// agree returns the greatest revision up to which two logs are the same. They end at
// end and otherEnd.
func (h History) agree(end uint64, other History, otherEnd uint64) uint64 {
	r := min(end, otherEnd)
	for r > 0 {
		a, b := h.term(r), other.term(r)
		switch {
		case a == b:
			return r
		case a > b:
			r = h.before(r)
		default:
			r = other.before(r)
		}
	}
	return 0
}
