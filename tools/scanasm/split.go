package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// splits emits what rstar/orders.go needs to cut nodes.
func splits() {
	ranksAVX2()
	ranksAVX512()
	sweep()
}

const ranksSignature = "func(keys *int32, n int, ranks *int32)"

// ranks emits the number of lesser keys for each key, 48 keys at a time: count
// compares the registers that hold them with one key after another.
func ranks(vec func() reg.VecVirtual, width int, zero func(reg.VecVirtual),
	count func(one reg.GPVirtual, key, rank []reg.VecVirtual),
) {
	const chunk = 48 * 4
	keys, n := Load(Param("keys"), GP64()), Load(Param("n"), GP64())
	out := Load(Param("ranks"), GP64())
	left, at := GP64(), GP64()
	MOVQ(n, left)
	MOVQ(keys, at)
	key, rank := make([]reg.VecVirtual, chunk/width), make([]reg.VecVirtual, chunk/width)
	for i := range key {
		key[i], rank[i] = vec(), vec()
	}
	Label("chunk")
	for i := range key {
		VMOVUPD(Mem{Base: at, Disp: i * width}, key[i])
		zero(rank[i])
	}
	one, todo := GP64(), GP64()
	MOVQ(keys, one)
	MOVQ(n, todo)
	Label("next")
	count(one, key, rank)
	ADDQ(U8(4), one)
	DECQ(todo)
	JNZ(LabelRef("next"))
	for i := range key {
		VMOVUPD(rank[i], Mem{Base: out, Disp: i * width})
	}
	ADDQ(U32(chunk), at)
	ADDQ(U32(chunk), out)
	SUBQ(U8(48), left)
	JG(LabelRef("chunk"))
	VZEROUPPER()
	RET()
}

func ranksAVX2() {
	TEXT("ranksAVX2", NOSPLIT, ranksSignature)
	Doc("ranksAVX2 is ranksPlain, eight keys at a time.")
	Pragma("noescape")
	other, less := YMM(), YMM()
	ranks(YMM, 32, func(v reg.VecVirtual) { VPXOR(v, v, v) }, func(one reg.GPVirtual, key, rank []reg.VecVirtual) {
		VPBROADCASTD(Mem{Base: one}, other)
		for i := range key {
			VPCMPGTD(other, key[i], less) // -1 where key > other
			VPSUBD(less, rank[i], rank[i])
		}
	})
}

func ranksAVX512() {
	TEXT("ranksAVX512", NOSPLIT, ranksSignature)
	Doc("ranksAVX512 is ranksPlain, sixteen keys at a time.")
	Pragma("noescape")
	minus := ZMM()
	VPTERNLOGD(U8(0xff), minus, minus, minus)
	ranks(ZMM, 64, func(v reg.VecVirtual) { VPXORD(v, v, v) }, func(one reg.GPVirtual, key, rank []reg.VecVirtual) {
		for i := range key {
			k := K()
			VPCMPGTD_BCST(Mem{Base: one}, key[i], k)
			VPSUBD(minus, rank[i], k, rank[i])
		}
	})
}

// sweep emits the minima of the first and of the last corners of an order.
func sweep() {
	TEXT("sweepAVX2", NOSPLIT, "func(cs *float64, perm *uint8, n int, head, tail *float64)")
	Doc("sweepAVX2 is sweepPlain, all four borders at a time.")
	Pragma("noescape")
	cs, perm := Load(Param("cs"), GP64()), Load(Param("perm"), GP64())
	n := Load(Param("n"), GP64())
	head, tail := Load(Param("head"), GP64()), Load(Param("tail"), GP64())
	last, far := GP64(), GP64()
	LEAQ(Mem{Base: perm, Index: n, Scale: 1, Disp: -1}, last)
	MOVQ(n, far)
	SHLQ(U8(5), far)
	LEAQ(Mem{Base: tail, Index: far, Scale: 1, Disp: -32}, tail)
	first, rest := YMM(), YMM()
	entry := func(at reg.Register) Mem {
		i := GP64()
		MOVBQZX(Mem{Base: at}, i)
		SHLQ(U8(5), i)
		return Mem{Base: cs, Index: i, Scale: 1}
	}
	VMOVUPD(entry(perm), first)
	VMOVUPD(entry(last), rest)
	Label("next")
	VMINPD(entry(perm), first, first)
	VMINPD(entry(last), rest, rest)
	VMOVUPD(first, Mem{Base: head})
	VMOVUPD(rest, Mem{Base: tail})
	INCQ(perm)
	DECQ(last)
	ADDQ(U8(32), head)
	SUBQ(U8(32), tail)
	DECQ(n)
	JNZ(LabelRef("next"))
	VZEROUPPER()
	RET()
}
