package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// encode emits frame.encode. Maxima are negated, as is the point of the
// frame for them, so that all four borders are rounded down, and negated
// again in the end.
func encode() {
	const sign = 1 << 63
	maxima := GLOBL("maxima", RODATA|NOPTR)
	for i, v := range []U64{0, 0, sign, sign} {
		DATA(8*i, v)
	}
	maxima32 := GLOBL("maxima32", RODATA|NOPTR)
	for i, v := range []U64{0, sign | sign>>32} {
		DATA(8*i, v)
	}
	most := ConstData("most", U64(0x7fefffffffffffff))   // MaxFloat64
	least := ConstData("least", U64(0xffefffffffffffff)) // -MaxFloat64
	one := ConstData("one", U32(1))

	TEXT("encodeAVX2", NOSPLIT, "func(f *float64, inv float64, r *float64, b *float32)")
	Doc("encodeAVX2 is encodePlain, all four borders at a time.")
	Pragma("noescape")
	f, r, b := Load(Param("f"), GP64()), Load(Param("r"), GP64()), Load(Param("b"), GP64())
	addr, err := Param("inv").Resolve()
	if err != nil {
		panic(err)
	}
	Comment("Both were often stored just now, in parts: only loads of 8 bytes need")
	Comment("not wait until these are in the cache.")
	pair := func(base reg.Register, at int) reg.VecVirtual {
		v := XMM()
		VMOVSD(Mem{Base: base, Disp: at}, v)
		VMOVHPD(Mem{Base: base, Disp: at + 8}, v, v)
		return v
	}
	x, h, s, inv, flip := YMM(), YMM(), YMM(), YMM(), YMM()
	VMOVUPD(maxima, flip)
	minima := pair(r, 0)
	VINSERTF128(U8(1), pair(r, 16), minima.AsY(), x)
	VXORPD(x, flip, x)
	point := pair(f, 0)
	VINSERTF128(U8(1), point, point.AsY(), h)
	VXORPD(h, flip, h)
	VBROADCASTSD(Mem{Base: f, Disp: 16}, s)
	VBROADCASTSD(addr.Addr, inv)
	VMULPD(s, x, s)
	VSUBPD(h, s, s)
	v := XMM()
	VCVTPD2PSY(s, v)

	Comment("What it stands for, and whether that exceeds the border.")
	back, bound := YMM(), YMM()
	VCVTPS2PD(v, back)
	VADDPD(h, back, back)
	VMULPD(inv, back, back)
	VBROADCASTSD(most, bound)
	VMINPD(bound, back, back)
	VBROADCASTSD(least, bound)
	VMAXPD(bound, back, back)
	VCMPPD(U8(14), x, back, back) // back > x
	far, high := XMM(), XMM()
	VEXTRACTF128(U8(1), back, high)
	VSHUFPS(U8(0x88), high, back.AsX(), far)

	Comment("The float32 below: a smaller magnitude, or a larger negative one.")
	below, zero, step, unit := XMM(), XMM(), XMM(), XMM()
	VPXOR(zero, zero, zero)
	VPCMPEQD(zero, v, zero)
	VPSLLD(U8(31), zero, zero)
	VPOR(zero, v, below) // 0 is -0
	VPSRAD(U8(31), below, step)
	VPBROADCASTD(one, unit)
	VPOR(unit, step, step) // 1, or -1 of a negative one
	VPSUBD(step, below, below)
	VBLENDVPS(far, below, v, v)
	VXORPS(maxima32, v, v)
	VXORPS(zero, zero, zero)
	VADDPS(zero, v, v) // -0 is 0
	VMOVUPS(v, Mem{Base: b})
	VZEROUPPER()
	RET()
}
