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
