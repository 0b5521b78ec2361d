// Command scanasm generates rstar's scans of a node for amd64
// (scan_amd64.s and its stubs). Run it by `make generate`.
//
// An internal node's group is five lines of 64 bytes: min x, min y, max x,
// max y, reference. A leaf has a line of high bits for each group, then four
// lines of low bits and ids (rstar/layout.go). Lane 0 of each line, its first 8
// bytes, is the version and never a hit. Comparisons are ordered, so that a NaN
// misses.
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
	leafMask("leafMaskAVX2", leafLineAVX2, YMM, "leafMaskAVX2 is leafMaskPlain, half a line at a time.")
	leafMask("leafMaskAVX512", leafLineAVX512, ZMM, "leafMaskAVX512 is leafMaskPlain, a line at a time.")
	leafTake()
	leafDistances()
	leafBounds()
	leafPut()
	entriesBounds()
	innerAVX2()
	innerAVX512()
	distances("innerDistAVX2", YMM, 32, "innerDistAVX2 is innerDistPlain, eight children at a time.")
	distances("innerDistAVX512", ZMM, 64, "innerDistAVX512 is innerDistPlain, a line at a time.")
	nearest("leafNearAVX512", 8, VCMPPD, VMINPD, VBROADCASTSD,
		"leafNearAVX512 is nearPlain, a line at a time; rest gets a minimum for each lane.")
	nearest("innerNearAVX512", 4, VCMPPS, VMINPS, VBROADCASTSS,
		"innerNearAVX512 is nearPlain, a line at a time; rest gets a minimum for each lane.")
	bounds("innerBoundsAVX2", YMM, 32, "innerBoundsAVX2 is innerBoundsPlain, eight children at a time.")
	bounds("innerBoundsAVX512", ZMM, 64, "innerBoundsAVX512 is innerBoundsPlain, a line at a time.")
	copyLines("copyLinesAVX2", YMM, 32, "copyLinesAVX2 is copyLinesPlain by loads of 32 bytes.")
	copyLines("copyLinesAVX512", ZMM, 64, "copyLinesAVX512 is copyLinesPlain by loads of 64 bytes.")
	splits()
	chooses()
	encode()
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

// loop emits body, which gives the mask of one group, for each group, step
// bytes apart from n on. The masks, of maskBits each, are shifted together
// into the words at m, the lowest first. Whole words are stored, since a load of
// one that was stored in pieces has to wait. Words after the last are not stored.
func loop(n reg.GPVirtual, step int, maskBits uint64, body func() reg.GPVirtual) {
	groups, m := Load(Param("groups"), GP64()), Load(Param("m"), GP64())
	word, at := GP64(), GP64()
	XORQ(word, word)
	XORQ(at, at)
	Label("next")
	mask := body()
	SHLXQ(at, mask, mask)
	ORQ(mask, word)
	ADDQ(U32(step), n)
	ADDQ(Imm(maskBits), at)
	TESTQ(U32(63), at)
	JNZ(LabelRef("more"))
	MOVQ(word, Mem{Base: m})
	ADDQ(U8(8), m)
	XORQ(word, word)
	Label("more")
	DECQ(groups)
	JNZ(LabelRef("next"))
	TESTQ(U32(63), at)
	JZ(LabelRef("stored"))
	MOVQ(word, Mem{Base: m})
	Label("stored")
	VZEROUPPER()
	RET()
}

// lanes512 returns a mask register that leaves lane 0 out.
func lanes512(bits uint32) reg.Register {
	g, k := GP32(), K()
	MOVL(U32(bits), g)
	KMOVW(g, k)
	return k
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
	n, q := Load(Param("n"), GP64()).(reg.GPVirtual), Load(Param("q"), GP64()).(reg.GPVirtual)
	innerLoopAVX2(n, offsets(n, q, YMM))
}

// innerLoopAVX2 compares the children with a query in units of the frame.
func innerLoopAVX2(n reg.GPVirtual, query [4]reg.VecVirtual) {
	ADDQ(U8(line), n)
	loop(n, group, 16, func() reg.GPVirtual {
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
		bits, more := GP64(), GP64()
		VMOVMSKPS(low, bits.As32())
		VMOVMSKPS(high, more.As32())
		SHLL(U8(8), more.As32())
		ORL(more.As32(), bits.As32())
		ANDL(U32(0xfffc), bits.As32())
		return bits
	})
}

func innerAVX512() {
	TEXT("innerMaskAVX512", NOSPLIT, signature)
	Doc("innerMaskAVX512 is innerMaskPlain, a line at a time.")
	Pragma("noescape")
	n, q := Load(Param("n"), GP64()).(reg.GPVirtual), Load(Param("q"), GP64()).(reg.GPVirtual)
	innerLoopAVX512(n, offsets(n, q, ZMM))
}

// innerLoopAVX512 is innerLoopAVX2, a line at a time.
func innerLoopAVX512(n reg.GPVirtual, query [4]reg.VecVirtual) {
	lanes := lanes512(0xfffc)
	ADDQ(U8(line), n)
	loop(n, group, 16, func() reg.GPVirtual {
		hits := lanes
		for _, f := range fields {
			k := K()
			VCMPPS(f.is, Mem{Base: n, Disp: f.line * line}, query[f.query], hits, k)
			hits = k
		}
		bits := GP64()
		KMOVW(hits, bits.As32())
		return bits
	})
}

// distances emits the distances of an internal node's children from a point,
// in units of its frame, by registers of width bytes.
func distances(name string, vec func() reg.VecVirtual, width int, doc string) {
	TEXT(name, NOSPLIT, "func(n *uint64, groups int, p, d *float32)")
	Doc(doc)
	Pragma("noescape")
	n, p := Load(Param("n"), GP64()), Load(Param("p"), GP64())
	d, groups := Load(Param("d"), GP64()), Load(Param("groups"), GP64())
	x, y, zero := vec(), vec(), vec()
	VBROADCASTSS(Mem{Base: p}, x)
	VBROADCASTSS(Mem{Base: p, Disp: 4}, y)
	VXORPS(zero, zero, zero)
	ADDQ(U8(line), n)
	Label("next")
	for at := 0; at < line; at += width {
		// max(min x - x, x - max x, 0), and so y.
		side := func(c reg.VecVirtual, field int) reg.VecVirtual {
			lo, hi := vec(), vec()
			VMOVUPS(Mem{Base: n, Disp: field*line + at}, lo)
			VSUBPS(c, lo, lo)
			VSUBPS(Mem{Base: n, Disp: (field+2)*line + at}, c, hi)
			VMAXPS(lo, hi, lo)
			VMAXPS(zero, lo, lo)
			VMULPS(lo, lo, lo)
			return lo
		}
		dx, dy := side(x, 0), side(y, 1)
		VADDPS(dx, dy, dx)
		VSQRTPS(dx, dx)
		VMOVUPS(dx, Mem{Base: d, Disp: at})
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

// nearest emits the mask of the elements of d, of elem bytes, that are in left
// and at most near, and the least of the others for each lane.
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

// bounds emits the least minima and the greatest maxima of an internal
// node's groups for each lane, four lines at out.
func bounds(name string, vec func() reg.VecVirtual, width int, doc string) {
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
		op := VMINPS
		if field >= 2 {
			op = VMAXPS
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
