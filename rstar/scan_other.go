//go:build (!amd64 && !arm64) || race

package rstar

// isas are the instruction sets for scans; isa is the one in use.
var (
	isas = []isaLevel{plain}
	isa  = plain
)

func leafMask(n *uint64, groups int, q *Rect, m *masks)  { leafMaskPlain(n, groups, q, m) }
func innerMask(n *uint64, groups int, q *Rect, m *masks) { innerMaskPlain(n, groups, q, m) }

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

func innerDist(n *uint64, groups int, p *[2]float32, d *distances) { innerDistPlain(n, groups, p, d) }
func innerBounds(n *uint64, groups int, b *bounds)                 { innerBoundsPlain(n, groups, b) }

func leafNear(d *distances, _ int, left, hits *masks, near float64) float64 {
	return nearPlain(d.leaf[:], left, hits, near)
}
func innerNear(d *distances, _ int, left, hits *masks, near float32) float32 {
	return nearPlain(d.inner[:], left, hits, near)
}
func copyLines(dst, src *uint64, lines int) { copyLinesPlain(dst, src, lines) }
