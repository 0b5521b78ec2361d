//go:build !amd64 || race

package rstar

// isas are the instruction sets for scans; isa is the one in use.
var (
	isas = []isaLevel{plain}
	isa  = plain
)

func leafMask(n *uint64, groups int, q *Rect, m *masks, _ bool) { leafMaskPlain(n, groups, q, m) }
func innerMask(n *uint64, groups int, q *Rect, m *masks)        { innerMaskPlain(n, groups, q, m) }

// prefetch: Go has none for other processors.
func (t *Tree) prefetch(uint32) {}
