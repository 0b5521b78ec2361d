//go:build arm64 && !race

package rstar

// isa is the instruction set that scans use; tests iterate over isas, the
// fastest first. Every processor that Go supports has NEON.
var (
	isas = []isaLevel{neon, plain}
	isa  = isas[0]
)

func leafMask(n *uint64, groups int, q *Rect, m *masks) {
	if isa == plain {
		leafMaskPlain(n, groups, q, m)
		return
	}
	leafMaskNEON(n, groups, loadLeafFrame(n).query(q), &m[0])
}

func innerMask(n *uint64, groups int, q *Rect, m *masks) {
	if isa == plain {
		innerMaskPlain(n, groups, q, m)
		return
	}
	f := loadFrame(n)
	innerMaskNEON(n, groups, &[4]float32{
		f.offset(q.MaxX, f.hx), f.offset(q.MaxY, f.hy),
		f.offset(q.MinX, f.hx), f.offset(q.MinY, f.hy),
	}, &m[0])
}

// The next five have no NEON path. The first three go object by object, whose
// four float64 take two registers and whose low bits need more shuffles than
// arithmetic; the last two compare little and branch on what they find.

func leafTake(n *uint64, k int, m *masks, q *Rect, dst []Item) int {
	return leafTakePlain(n, k, m, q, dst)
}

func leafDist(n *uint64, k, count int, p *[2]float64, d *distances) {
	m := firstObjects(count)
	leafDistPlain(n, k, &m, p, d)
}

func leafBounds(n *uint64, k, count int) Rect {
	m := firstObjects(count)
	return leafBoundsPlain(n, k, &m)
}

func leafNear(d *distances, _ int, left, hits *masks, near float64) float64 {
	return nearPlain(d.leaf[:], left, hits, near)
}

func innerNear(d *distances, _ int, left, hits *masks, near float32) float32 {
	return nearPlain(d.inner[:], left, hits, near)
}

func innerDist(n *uint64, groups int, p *[2]float32, d *distances) {
	if isa == plain {
		innerDistPlain(n, groups, p, d)
		return
	}
	innerDistNEON(n, groups, p, &d.inner[0])
}

func innerBounds(n *uint64, groups int, b *bounds) {
	if isa == plain {
		innerBoundsPlain(n, groups, b)
		return
	}
	innerBoundsNEON(n, groups, b)
}

func copyLines(dst, src *uint64, lines int) {
	if isa == plain {
		copyLinesPlain(dst, src, lines)
		return
	}
	copyLinesNEON(dst, src, lines)
}

// leafMaskNEON is leafMaskPlain, a line at a time; most is the query's high
// bits (leafFrame.query).
//
//go:noescape
func leafMaskNEON(n *uint64, groups int, most uint64, m *uint64)

// innerMaskNEON is innerMaskPlain, a line at a time; q is the query's
// offsets, the maxima first.
//
//go:noescape
func innerMaskNEON(n *uint64, groups int, q *[4]float32, m *uint64)

// innerDistNEON is innerDistPlain, four children at a time. The node does
// not change meanwhile.
//
//go:noescape
func innerDistNEON(n *uint64, groups int, p *[2]float32, d *float32)

// innerBoundsNEON is innerBoundsPlain, a group at a time. The node does not
// change meanwhile.
//
//go:noescape
func innerBoundsNEON(n *uint64, groups int, b *bounds)

// copyLinesNEON is copyLinesPlain, a line at a time.
//
//go:noescape
func copyLinesNEON(dst, src *uint64, lines int)
