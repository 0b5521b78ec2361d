package replica

import "slices"

// Replay adds an entry of a log, with its term if it begins one, to the history of the
// entries before it, for a member that starts.
func Replay(h History, term, revision uint64) History {
	if term != 0 {
		h = append(slices.Clip(h), Span{term, revision})
	}
	return h
}

// Cut is Replay's reverse: it forgets what follows a revision.
func Cut(h History, after uint64) History { return h.cut(after) }

// Failed reports whether the member takes part no more.
func (m *Member) Failed() bool { return m.role == failed }
