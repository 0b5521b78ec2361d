package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// chooses emits what rstar/growth.go computes about the children of an
// internal node.
func chooses() {
	growth("growthAVX2", YMM, XMM, 32, "growthAVX2 is growthPlain, four children at a time.")
	growth("growthAVX512", ZMM, YMM, 64, "growthAVX512 is growthPlain, eight children at a time.")
	atMost("atMostAVX2", false, "atMostAVX2 is atMostPlain, four children at a time.")
	atMost("atMostAVX512", true, "atMostAVX512 is atMostPlain, eight children at a time.")
	meetAVX2()
	meetAVX512()
}

// growth emits by how much the margin of each child's box grows if it takes r,
// in registers of width bytes that are loaded from half as many, and the least
// of these for each lane.
func growth(name string, vec, half func() reg.VecVirtual, width int, doc string) {
	TEXT(name, NOSPLIT, "func(n *uint64, groups int, r *float32, floor, out, rest *float64)")
	Doc(doc)
	Pragma("noescape")
	n, groups := Load(Param("n"), GP64()), Load(Param("groups"), GP64())
	r, floor := Load(Param("r"), GP64()), Load(Param("floor"), GP64())
	g, rest := Load(Param("out"), GP64()), Load(Param("rest"), GP64())
	var query [4]reg.VecVirtual
	for i := range query {
		query[i] = vec()
		h := half()
		VBROADCASTSS(Mem{Base: r, Disp: 4 * i}, h)
		VCVTPS2PD(h, query[i])
	}
	least := vec()
	VBROADCASTSD(Mem{Base: floor}, least) // +Inf
	ADDQ(U8(line), n)
	Label("next")
	for at := 0; at < 2*line; at += width {
		load := func(field int) reg.VecVirtual {
			v := vec()
			VCVTPS2PD(Mem{Base: n, Disp: field*line + at/2}, v)
			return v
		}
		// Extents along an axis, of the box and of it with r.
		side := func(axis int) (was, will reg.VecVirtual) {
			lo, hi := load(axis), load(axis+2)
			was, will = vec(), vec()
			VSUBPD(lo, hi, was)
			VMINPD(query[axis], lo, lo)
			VMAXPD(query[axis+2], hi, hi)
			VSUBPD(lo, hi, will)
			return was, will
		}
		w, willW := side(0)
		h, willH := side(1)
		VADDPD(h, w, w)
		VADDPD(willH, willW, willW)
		VSUBPD(w, willW, w)
		if at == 0 {
			// The version's lane gets +Inf, also if it looks like NaN.
			VMAXPD(Mem{Base: floor}, w, w)
		}
		VMINPD(w, least, least)
		VMOVUPD(w, Mem{Base: g, Disp: at})
	}
	ADDQ(U32(group), n)
	ADDQ(U32(2*line), g)
	DECQ(groups)
	JNZ(LabelRef("next"))
	VMOVUPD(least, Mem{Base: rest})
	VZEROUPPER()
	RET()
}

// atMost emits which of 16 float64 for each group are at most a bound.
func atMost(name string, masks bool, doc string) {
	TEXT(name, NOSPLIT, "func(from *float64, groups int, bound float64, m *uint64)")
	Doc(doc)
	Pragma("noescape")
	g := Load(Param("from"), GP64()).(reg.GPVirtual)
	addr, err := Param("bound").Resolve()
	if err != nil {
		panic(err)
	}
	vec, width := YMM, 32
	if masks {
		vec, width = ZMM, 64
	}
	bound := vec()
	VBROADCASTSD(addr.Addr, bound)
	loop(g, 2*line, 16, func() reg.GPVirtual {
		all := GP64()
		for at := 0; at < 2*line; at += width {
			bits := GP64()
			if at == 0 {
				bits = all
			}
			if masks {
				k := K()
				VCMPPD(ge, Mem{Base: g, Disp: at}, bound, k) // bound >= g
				KMOVB(k, bits.As32())
			} else {
				v := vec()
				VCMPPD(ge, Mem{Base: g, Disp: at}, bound, v)
				VMOVMSKPD(v, bits.As32())
			}
			if at > 0 {
				SHLL(U8(at/8), bits.As32())
				ORL(bits.As32(), all.As32())
			}
		}
		return all
	})
}

const meetSignature = "func(n *uint64, groups int, q *float32, m *uint64)"

// given loads a query in units of the frame.
func given(q reg.GPVirtual, vec func() reg.VecVirtual) (query [4]reg.VecVirtual) {
	for i := range query {
		query[i] = vec()
		VBROADCASTSS(Mem{Base: q, Disp: 4 * i}, query[i])
	}
	return query
}

func meetAVX2() {
	TEXT("meetAVX2", NOSPLIT, meetSignature)
	Doc("meetAVX2 is meetPlain, eight children at a time.")
	Pragma("noescape")
	n, q := Load(Param("n"), GP64()).(reg.GPVirtual), Load(Param("q"), GP64()).(reg.GPVirtual)
	innerLoopAVX2(n, given(q, YMM))
}

func meetAVX512() {
	TEXT("meetAVX512", NOSPLIT, meetSignature)
	Doc("meetAVX512 is meetPlain, a line at a time.")
	Pragma("noescape")
	n, q := Load(Param("n"), GP64()).(reg.GPVirtual), Load(Param("q"), GP64()).(reg.GPVirtual)
	innerLoopAVX512(n, given(q, ZMM))
}
