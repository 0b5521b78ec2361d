// Command scanasm generates rstar's scans of a node for amd64
// (scan_amd64.s and its stubs). Run it by `make generate`.
//
// One group is five lines of 64 bytes: min x, min y, max x, max y,
// reference; lane 0 of each, its first 8 bytes, is the version and never a
// hit (rstar/layout.go). Comparisons are ordered, so that a NaN misses.
package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

const (
	line  = 64
	group = 5 * line
	frame = 5 * 8 // of the header line: x, y, scale

	// Predicates of VCMPPD and VCMPPS: greater or equal, less or equal,
	// ordered and signalling.
	ge, le = U8(13), U8(2)
)

func main() {
	ConstraintExpr("amd64,!race")
	leafAVX2()
	leafAVX512("leafMaskAVX512", false, "leafMaskAVX512 is leafMaskPlain, a line at a time.")
	leafAVX512("leafFewAVX512", true,
		"leafFewAVX512 is leafMaskAVX512 for a query that will hit few: it does",
		"not touch the y of groups without a hit by x.")
	innerAVX2()
	innerAVX512()
	distances("leafDistAVX2", float64s, YMM, 32, "leafDistAVX2 is leafDistPlain, four objects at a time.")
	distances("leafDistAVX512", float64s, ZMM, 64, "leafDistAVX512 is leafDistPlain, a line at a time.")
	distances("innerDistAVX2", float32s, YMM, 32, "innerDistAVX2 is innerDistPlain, eight children at a time.")
	distances("innerDistAVX512", float32s, ZMM, 64, "innerDistAVX512 is innerDistPlain, a line at a time.")
	nearest("leafNearAVX512", 8, VCMPPD, VMINPD, VBROADCASTSD,
		"leafNearAVX512 is nearPlain, a line at a time; rest gets a minimum for each lane.")
	nearest("innerNearAVX512", 4, VCMPPS, VMINPS, VBROADCASTSS,
		"innerNearAVX512 is nearPlain, a line at a time; rest gets a minimum for each lane.")
	bounds("leafBoundsAVX2", YMM, 32, VMINPD, VMAXPD, "leafBoundsAVX2 is leafBoundsPlain, four objects at a time.")
	bounds("leafBoundsAVX512", ZMM, 64, VMINPD, VMAXPD, "leafBoundsAVX512 is leafBoundsPlain, a line at a time.")
	bounds("innerBoundsAVX2", YMM, 32, VMINPS, VMAXPS, "innerBoundsAVX2 is innerBoundsPlain, eight children at a time.")
	bounds("innerBoundsAVX512", ZMM, 64, VMINPS, VMAXPS, "innerBoundsAVX512 is innerBoundsPlain, a line at a time.")
	copyLines("copyLinesAVX2", YMM, 32, "copyLinesAVX2 is copyLinesPlain by loads of 32 bytes.")
	copyLines("copyLinesAVX512", ZMM, 64, "copyLinesAVX512 is copyLinesPlain by loads of 64 bytes.")
	prefetch()
	Generate()
}

const signature = "func(n *uint64, groups int, q *float64, m *uint64)"

// fields are the lines of a group in the order of their comparison with
// the query's MaxX, MaxY (which must be greater or equal) and MinX, MinY
// (less or equal).
var fields = [4]struct {
	line, query int
	is          U8
}{{0, 2, ge}, {2, 0, le}, {1, 3, ge}, {3, 1, le}}

// loop emits body for each group; n and m point to the group and to its
// mask of maskBytes.
func loop(maskBytes uint64, n, m reg.GPVirtual, body func()) {
	groups := Load(Param("groups"), GP64())
	Comment("Past the header line.")
	ADDQ(U8(line), n)
	Label("next")
	body()
	ADDQ(U32(group), n)
	ADDQ(Imm(maskBytes), m)
	DECQ(groups)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}

func params() (n, q, m reg.GPVirtual) {
	return Load(Param("n"), GP64()).(reg.GPVirtual), Load(Param("q"), GP64()).(reg.GPVirtual),
		Load(Param("m"), GP64()).(reg.GPVirtual)
}

func leafAVX2() {
	TEXT("leafMaskAVX2", NOSPLIT, signature)
	Doc("leafMaskAVX2 is leafMaskPlain, four objects at a time.")
	Pragma("noescape")
	n, q, m := params()
	var query [4]reg.VecVirtual
	for i := range query {
		query[i] = YMM()
		VBROADCASTSD(Mem{Base: q, Disp: 8 * i}, query[i])
	}
	loop(1, n, m, func() {
		low, high := YMM(), YMM()
		for i, f := range fields {
			a, b := low, high
			if i > 0 {
				a, b = YMM(), YMM()
			}
			VCMPPD(f.is, Mem{Base: n, Disp: f.line * line}, query[f.query], a)
			VCMPPD(f.is, Mem{Base: n, Disp: f.line*line + 32}, query[f.query], b)
			if i > 0 {
				VANDPD(a, low, low)
				VANDPD(b, high, high)
			}
		}
		bits, more := GP32(), GP32()
		VMOVMSKPD(low, bits)
		VMOVMSKPD(high, more)
		SHLL(U8(4), more)
		ORL(more, bits)
		ANDL(U32(0xfe), bits)
		MOVB(bits.As8(), Mem{Base: m})
	})
}

// lanes512 returns a mask register that leaves lane 0 out.
func lanes512(bits uint32) reg.Register {
	g, k := GP32(), K()
	MOVL(U32(bits), g)
	KMOVW(g, k)
	return k
}

// leafAVX512 is leafMaskPlain, a line at a time. With few it does not look
// at the y of groups that have no hit by x.
func leafAVX512(name string, few bool, doc ...string) {
	TEXT(name, NOSPLIT, signature)
	Doc(doc...)
	Pragma("noescape")
	n, q, m := params()
	var query [4]reg.VecVirtual
	for i := range query {
		query[i] = ZMM()
		VBROADCASTSD(Mem{Base: q, Disp: 8 * i}, query[i])
	}
	lanes := lanes512(0xfe)
	loop(1, n, m, func() {
		hits, from := K(), lanes
		for i, f := range fields {
			if few && i == 2 {
				KTESTB(hits, hits)
				JZ(LabelRef("store"))
			}
			VCMPPD(f.is, Mem{Base: n, Disp: f.line * line}, query[f.query], from, hits)
			from = hits
		}
		if few {
			Label("store")
		}
		KMOVB(hits, Mem{Base: m})
	})
}

// offsets returns the query in units of the node's frame, each of its four
// values in all elements of a register (frame.offset).
func offsets(n, q reg.GPVirtual, vec func() reg.VecVirtual) (query [4]reg.VecVirtual) {
	v, h, s, f := YMM(), YMM(), YMM(), XMM()
	VMOVUPD(Mem{Base: q}, v)
	VBROADCASTSD(Mem{Base: n, Disp: frame + 16}, s)
	VBROADCASTF128(Mem{Base: n, Disp: frame}, h)
	VMULPD(s, v, v)
	VSUBPD(h, v, v)
	VCVTPD2PSY(v, f)
	for i := range query {
		query[i] = vec()
		x := f
		if i > 0 {
			x = XMM()
			VPERMILPS(U8(i), f, x)
		}
		VBROADCASTSS(x, query[i])
	}
	return query
}

func innerAVX2() {
	TEXT("innerMaskAVX2", NOSPLIT, signature)
	Doc("innerMaskAVX2 is innerMaskPlain, eight children at a time.")
	Pragma("noescape")
	n, q, m := params()
	query := offsets(n, q, YMM)
	loop(2, n, m, func() {
		low, high := YMM(), YMM()
		for i, f := range fields {
			a, b := low, high
			if i > 0 {
				a, b = YMM(), YMM()
			}
			VCMPPS(f.is, Mem{Base: n, Disp: f.line * line}, query[f.query], a)
			VCMPPS(f.is, Mem{Base: n, Disp: f.line*line + 32}, query[f.query], b)
			if i > 0 {
				VANDPS(a, low, low)
				VANDPS(b, high, high)
			}
		}
		bits, more := GP32(), GP32()
		VMOVMSKPS(low, bits)
		VMOVMSKPS(high, more)
		SHLL(U8(8), more)
		ORL(more, bits)
		ANDL(U32(0xfffc), bits)
		MOVW(bits.As16(), Mem{Base: m})
	})
}

func innerAVX512() {
	TEXT("innerMaskAVX512", NOSPLIT, signature)
	Doc("innerMaskAVX512 is innerMaskPlain, a line at a time.")
	Pragma("noescape")
	n, q, m := params()
	query := offsets(n, q, ZMM)
	lanes := lanes512(0xfffc)
	loop(2, n, m, func() {
		hits := lanes
		for _, f := range fields {
			k := K()
			VCMPPS(f.is, Mem{Base: n, Disp: f.line * line}, query[f.query], hits, k)
			hits = k
		}
		KMOVW(hits, Mem{Base: m})
	})
}

func prefetch() {
	TEXT("prefetchLines", NOSPLIT, "func(n *uint64, lines int)")
	Doc("prefetchLines asks for the lines from n on to be brought into the second",
		"level cache: more reads may be on their way there than to the first.")
	Pragma("noescape")
	n := Load(Param("n"), GP64())
	lines := Load(Param("lines"), GP64())
	Label("next")
	PREFETCHT1(Mem{Base: n})
	ADDQ(U8(line), n)
	DECQ(lines)
	JNZ(LabelRef("next"))
	RET()
}

// arithmetic is instructions on float64 or on float32.
type arithmetic struct {
	kind                                           string
	bytes                                          int
	broadcast, xor, move, sub, max, mul, add, root func(...Op)
}

var (
	float64s = arithmetic{"float64", 8, VBROADCASTSD, VXORPD, VMOVUPD, VSUBPD, VMAXPD, VMULPD, VADDPD, VSQRTPD}
	float32s = arithmetic{"float32", 4, VBROADCASTSS, VXORPS, VMOVUPS, VSUBPS, VMAXPS, VMULPS, VADDPS, VSQRTPS}
)

// distances emits the distances of a node's entries from a point, by
// registers of width bytes; those of an internal node are in units of its
// frame.
func distances(name string, a arithmetic, vec func() reg.VecVirtual, width int, doc string) {
	TEXT(name, NOSPLIT, "func(n *uint64, groups int, p, d *"+a.kind+")")
	Doc(doc)
	Pragma("noescape")
	n, p := Load(Param("n"), GP64()), Load(Param("p"), GP64())
	d, groups := Load(Param("d"), GP64()), Load(Param("groups"), GP64())
	x, y, zero := vec(), vec(), vec()
	a.broadcast(Mem{Base: p}, x)
	a.broadcast(Mem{Base: p, Disp: a.bytes}, y)
	a.xor(zero, zero, zero)
	ADDQ(U8(line), n)
	Label("next")
	for at := 0; at < line; at += width {
		// max(min x - x, x - max x, 0), and so y.
		side := func(c reg.VecVirtual, field int) reg.VecVirtual {
			lo, hi := vec(), vec()
			a.move(Mem{Base: n, Disp: field*line + at}, lo)
			a.sub(c, lo, lo)
			a.sub(Mem{Base: n, Disp: (field+2)*line + at}, c, hi)
			a.max(lo, hi, lo)
			a.max(zero, lo, lo)
			a.mul(lo, lo, lo)
			return lo
		}
		dx, dy := side(x, 0), side(y, 1)
		a.add(dx, dy, dx)
		a.root(dx, dx)
		a.move(dx, Mem{Base: d, Disp: at})
	}
	ADDQ(U32(group), n)
	ADDQ(U8(line), d)
	DECQ(groups)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}

// copyLines emits a copy of whole lines. Plain vector loads, which x86
// keeps in program order, where memmove might use string instructions.
func copyLines(name string, vec func() reg.VecVirtual, width int, doc string) {
	TEXT(name, NOSPLIT, "func(dst, src *uint64, lines int)")
	Doc(doc)
	Pragma("noescape")
	dst, src := Load(Param("dst"), GP64()), Load(Param("src"), GP64())
	lines := Load(Param("lines"), GP64())
	Label("next")
	for at := 0; at < line; at += width {
		v := vec()
		VMOVUPD(Mem{Base: src, Disp: at}, v)
		VMOVUPD(v, Mem{Base: dst, Disp: at})
	}
	ADDQ(U8(line), src)
	ADDQ(U8(line), dst)
	DECQ(lines)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}

// nearest emits which elements of d, of elem bytes, that left names are at
// most near, and the least of the others for each lane.
func nearest(name string, elem int, cmp, least func(...Op), broadcast func(...Op), doc string) {
	kind := map[int]string{8: "float64", 4: "float32"}[elem]
	TEXT(name, NOSPLIT, "func(d *"+kind+", groups int, left, hits *uint64, near "+kind+", rest *"+kind+")")
	Doc(doc)
	Pragma("noescape")
	d, groups := Load(Param("d"), GP64()), Load(Param("groups"), GP64())
	left, hits := Load(Param("left"), GP64()), Load(Param("hits"), GP64())
	rest := Load(Param("rest"), GP64())
	near, min := ZMM(), ZMM()
	// The parameter's place on the stack.
	addr, err := Param("near").Resolve()
	if err != nil {
		panic(err)
	}
	broadcast(addr.Addr, near)
	VMOVUPD(Mem{Base: rest}, min)
	Label("next")
	all, in, out := K(), K(), K()
	if elem == 8 {
		KMOVB(Mem{Base: left}, all)
	} else {
		KMOVW(Mem{Base: left}, all)
	}
	v := ZMM()
	VMOVUPD(Mem{Base: d}, v)
	cmp(le, near, v, all, in) // v <= near
	if elem == 8 {
		KANDNB(all, in, out) // all &^ in
		KMOVB(in, Mem{Base: hits})
	} else {
		KANDNW(all, in, out)
		KMOVW(in, Mem{Base: hits})
	}
	least(v, min, out, min)
	ADDQ(U8(line), d)
	ADDQ(Imm(uint64(8/elem)), left)
	ADDQ(Imm(uint64(8/elem)), hits)
	DECQ(groups)
	JNZ(LabelRef("next"))
	VMOVUPD(min, Mem{Base: rest})
	VZEROUPPER()
	RET()
}

// bounds emits the least minima and the greatest maxima of a node's groups
// for each lane, four lines at out.
func bounds(name string, vec func() reg.VecVirtual, width int, least, most func(...Op), doc string) {
	TEXT(name, NOSPLIT, "func(n *uint64, groups int, out *uint64)")
	Doc(doc)
	Pragma("noescape")
	n, groups := Load(Param("n"), GP64()), Load(Param("groups"), GP64())
	out := Load(Param("out"), GP64())
	ADDQ(U8(line), n)
	acc := map[[2]int]reg.VecVirtual{}
	for field := range 4 {
		for at := 0; at < line; at += width {
			acc[[2]int{field, at}] = vec()
			VMOVUPD(Mem{Base: n, Disp: field*line + at}, acc[[2]int{field, at}])
		}
	}
	Label("next")
	for field := range 4 {
		op := least
		if field >= 2 {
			op = most
		}
		for at := 0; at < line; at += width {
			a := acc[[2]int{field, at}]
			op(Mem{Base: n, Disp: field*line + at}, a, a)
		}
	}
	ADDQ(U32(group), n)
	DECQ(groups)
	JNZ(LabelRef("next"))
	for field := range 4 {
		for at := 0; at < line; at += width {
			VMOVUPD(acc[[2]int{field, at}], Mem{Base: out, Disp: field*line + at})
		}
	}
	VZEROUPPER()
	RET()
}
