package rstar

import (
	"math"
	"math/bits"
	"sync/atomic"
	"unsafe"
)

// The rectangles of a leaf are float64, each coordinate cut in two: 16 high bits and 48
// low bits. The high bits of all objects lie together in the first lines, so that a
// search that finds nothing reads a quarter of a leaf, and one that finds little reads
// that quarter and the lines of its hits. Reading a line at random costs as much as
// reading the 16 lines after it (docs/decisions/leaf-heads.md).
//
// # High and low bits
//
// A coordinate's key is its bits as an integer, inverted for a negative
// coordinate, so that keys are in the order of their coordinates. The leaf's
// frame has for each axis a base and a shift s of 0 to 48:
//
//	d = key - base          unsigned, below 2^(16+s)
//	|  high, 16 bits  |  low, s bits  |
//
// Nothing is rounded: high bits, low bits and frame give the key back,
// whatever the bits. With the least integer as base and s = 48 every key is
// within reach, so every leaf has a frame.
//
// # Why no hit is lost
//
// key, d and the high bits of d are monotone: if a <= b then high(a) <=
// high(b), where a query's key below the base counts as 0 and one beyond
// reach as the greatest value. Zeros have two keys: a query's maximum takes
// the upper one, its minimum the lower. So objects that the high bits rule
// out miss, and the candidates that remain are compared as float64.
//
// A maximum's high bits are stored inverted, so that an object is a candidate
// if each of its four fields is at most the query's: one subtraction,
// saturating at 0, for all of a line.

const (
	highBits    = 16
	highMask    = 1<<highBits - 1
	lowBits     = 48
	lowMask     = 1<<lowBits - 1
	maxShift    = lowBits
	invertedMax = highMask<<(2*highBits) | highMask<<(3*highBits)
)

// key maps float64 to integers of the same order; -0 comes before 0. It is
// its own inverse.
func key(bits uint64) int64 {
	b := int64(bits)
	return b ^ int64(uint64(b>>63)>>1)
}

func keyOf(f float64) int64         { return key(math.Float64bits(f)) }
func ofKey(k int64) float64         { return math.Float64frombits(uint64(key(uint64(k)))) }
func keyDistance(a, b int64) uint64 { return uint64(max(a, b)) - uint64(min(a, b)) }

// lowKey is the key of a minimum, highKey that of a maximum: it makes no
// difference which zero it is.
func lowKey(f float64) int64 {
	if f == 0 {
		return keyOf(math.Copysign(0, -1))
	}
	return keyOf(f)
}

func highKey(f float64) int64 { return keyOf(f + 0) }

// axisFrame says where the high bits of an axis begin and their unit.
type axisFrame struct {
	base  int64
	shift uint
}

// leafFrame is a leaf's lanes 5 to 7.
type leafFrame struct{ x, y axisFrame }

// anywhere reaches every key. The first root has it until it splits.
var anywhere = axisFrame{math.MinInt64, maxShift}

// growth is how far a leaf may grow to either side, in half extents at the
// time it was made, before it needs another frame. With this value leaves
// rarely need one, and there are enough high bits.
const growth = 8

// leafFrameFor returns the frame of a leaf that is made with MBR r.
func leafFrameFor(r Rect) leafFrame {
	return leafFrame{axisFor(r.MinX, r.MaxX, centerX(r)), axisFor(r.MinY, r.MaxY, centerY(r))}
}

func axisFor(lo, hi, center float64) axisFrame {
	if !(lo <= hi) { // empty
		return anywhere
	}
	return axisAround(keyOf(center+0), lowKey(lo), highKey(hi))
}

// axisAround returns a frame with the key c in the middle of its range, with
// room to grow.
func axisAround(c, lo, hi int64) axisFrame {
	most := max(keyDistance(lo, c), keyDistance(hi, c))
	// 2^(15+s) >= growth * most.
	s := max(bits.Len64(most)+bits.Len(growth-1)-(highBits-1), 0)
	if s >= maxShift {
		return anywhere
	}
	a := axisFrame{c - 1<<(highBits-1+s), uint(s)}
	if a.base > c { // less than any integer
		a.base = math.MinInt64
	}
	return a
}

// middle returns the key that axisAround was called with; ok is false if it
// is no longer known.
func (a axisFrame) middle() (c int64, ok bool) {
	return a.base + 1<<(highBits-1+a.shift), a.shift < maxShift && a.base > math.MinInt64
}

// grown returns the frame for a leaf made with frame f whose MBR is now r.
func (f leafFrame) grown(r Rect) leafFrame {
	g := leafFrameFor(r)
	if c, ok := f.x.middle(); ok {
		g.x = axisAround(c, lowKey(r.MinX), highKey(r.MaxX))
	}
	if c, ok := f.y.middle(); ok {
		g.y = axisAround(c, lowKey(r.MinY), highKey(r.MaxY))
	}
	return g
}

// made returns the center of the leaf at its creation, NaN where that is not known.
func (f leafFrame) made() (x, y float64) {
	x, y = math.NaN(), math.NaN()
	if c, ok := f.x.middle(); ok {
		x = ofKey(c)
	}
	if c, ok := f.y.middle(); ok {
		y = ofKey(c)
	}
	return x, y
}

// reach reports whether the frame can represent a key.
func (a axisFrame) reach(k int64) bool {
	return uint64(k-a.base)>>a.shift <= highMask && k >= a.base
}

func (f leafFrame) reaches(r Rect) bool {
	return f.x.reach(keyOf(r.MinX)) && f.x.reach(keyOf(r.MaxX)) &&
		f.y.reach(keyOf(r.MinY)) && f.y.reach(keyOf(r.MaxY))
}

// cut returns the high and low bits of a coordinate within reach.
func (a axisFrame) cut(v float64) (high, low uint64) {
	d := uint64(keyOf(v) - a.base)
	return d >> a.shift & highMask, d & (1<<a.shift - 1)
}

func (a axisFrame) join(high, low uint64) float64 {
	return ofKey(a.base + int64(high<<a.shift+low))
}

// halves is a rectangle as a leaf stores it.
type halves struct {
	high uint64
	low  [3]uint64
}

func (f leafFrame) encode(r Rect) halves {
	h0, t0 := f.x.cut(r.MinX)
	h1, t1 := f.y.cut(r.MinY)
	h2, t2 := f.x.cut(r.MaxX)
	h3, t3 := f.y.cut(r.MaxY)
	return halves{
		(h0 | h1<<16 | h2<<32 | h3<<48) ^ invertedMax,
		[3]uint64{t0 | t1<<48, t1>>16 | t2<<32, t2>>32 | t3<<16},
	}
}

func (f leafFrame) decode(h halves) Rect {
	high, t := h.high^invertedMax, &h.low
	return Rect{
		f.x.join(high&highMask, t[0]&lowMask),
		f.y.join(high>>16&highMask, t[0]>>48|t[1]<<16&lowMask),
		f.x.join(high>>32&highMask, t[1]>>32|t[2]<<32&lowMask),
		f.y.join(high>>48, t[2]>>16),
	}
}

// high returns the high bits of a query's maximum (up) or minimum, which may
// be out of reach.
func (a axisFrame) high(v float64, up bool) uint64 {
	k := lowKey(v)
	if up {
		k = highKey(v)
	}
	if k < a.base {
		return 0
	}
	return min(uint64(k-a.base)>>a.shift, highMask)
}

// query returns the greatest high bits that an object intersecting q may
// have, field by field.
func (f leafFrame) query(q *Rect) uint64 {
	return f.x.high(q.MaxX, true) | f.y.high(q.MaxY, true)<<16 |
		(highMask-f.x.high(q.MinX, false))<<32 | (highMask-f.y.high(q.MinY, false))<<48
}

// shifts packs the shifts of both axes: x, y, x, y, a byte each, as the
// vector code expects them.
func (f leafFrame) shifts() uint64 {
	return uint64(f.x.shift|f.y.shift<<8) * 0x10001
}

// validShifts reports whether s is the shifts of a frame in whose low bits
// four coordinates have room.
func validShifts(s uint64) bool {
	f := leafFrameOf(0, 0, s)
	return f.shifts() == s && f.x.shift <= maxShift && f.y.shift <= maxShift
}

func leafFrameOf(x, y, shifts uint64) leafFrame {
	return leafFrame{
		axisFrame{int64(x), uint(shifts & 0xFF)},
		axisFrame{int64(y), uint(shifts >> 8 & 0xFF)},
	}
}

func (n node) leafFrame() leafFrame {
	return leafFrameOf(n[laneFrameX], n[laneFrameY], n[laneFrameScale])
}

func (n node) setLeafFrame(f leafFrame) {
	n[laneFrameX], n[laneFrameY] = uint64(f.x.base), uint64(f.y.base)
	n[laneFrameScale] = f.shifts()
}

// halves returns object i's rectangle as it is stored.
func (n node) halves(i int) halves {
	t := n[int(lowSlot[i])+n.groups()*lanes:]
	return halves{n[highSlot[i]], [3]uint64(t[:3])}
}

func (n node) setHalves(i int, h halves) {
	n[highSlot[i]] = h.high
	copy(n[int(lowSlot[i])+n.groups()*lanes:], h.low[:])
}

// reframeLeaf gives the leaf a frame that also reaches r.
func (n node) reframeLeaf(r Rect) {
	var rects [maxLeafFanout]Rect
	c := n.count()
	for i := range c {
		rects[i] = n.rect(i)
	}
	n.setLeafFrame(n.leafFrame().grown(n.mbr().Union(r)))
	for i := range c {
		n.setRect(i, rects[i])
	}
}

// loadLeafFrame reads the frame of a leaf in place.
func loadLeafFrame(n *uint64) leafFrame {
	// SAFETY: a node has a header line.
	h := (*[lanes]uint64)(unsafe.Pointer(n))
	return leafFrameOf(atomic.LoadUint64(&h[laneFrameX]), atomic.LoadUint64(&h[laneFrameY]),
		atomic.LoadUint64(&h[laneFrameScale]))
}
