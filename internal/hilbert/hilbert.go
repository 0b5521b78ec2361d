// Package hilbert numbers the cells of a square along a Hilbert curve (Hilbert, 1891), by
// which places that are close on the plane are mostly close in the order.
package hilbert

// Of returns the position of a cell along the curve through 2^32 x 2^32 cells. Cells with
// consecutive positions are neighbours. The first k bits of both coordinates alone decide
// the first 2k bits of the position: each quarter of the square is one run of the curve.
func Of(x, y uint32) (d uint64) {
	for s := uint32(1) << 31; s > 0; s /= 2 {
		right, upper := x&s != 0, y&s != 0
		quarter := uint64(s) * uint64(s)
		switch {
		case !right && !upper:
			x, y = y, x
		case !right:
			d += quarter
		case upper:
			d += 2 * quarter
		default:
			d += 3 * quarter
			x, y = s-1-y&(s-1), s-1-x&(s-1)
		}
	}
	return d
}
