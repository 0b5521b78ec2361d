package main

import (
	. "github.com/mmcloughlin/avo/build"
	. "github.com/mmcloughlin/avo/operand"
	"github.com/mmcloughlin/avo/reg"
)

// Scans of leaves. The coordinates of their objects are cut into high and low
// bits (rstar/leaf.go).

const (
	lowGroup  = 4 * line     // low bits of seven objects
	wordHigh  = 8 * line     // high and low bits of the eight groups of
	wordLow   = 8 * lowGroup // a word of a mask
	itemBytes = 40

	entryBytes = 56 // of what writes sort and split
)

// n and low are where the high and the low bits of the mask's word are.
var n, low reg.GPVirtual

// constants are the vectors in read-only memory.
var constants = map[string]Mem{}

// words returns a vector with the given name.
func words(name string, ws ...uint64) Mem {
	if m, ok := constants[name]; ok {
		return m
	}
	m := GLOBL(name, RODATA|NOPTR)
	for i, w := range ws {
		DATA(8*i, U64(w))
	}
	constants[name] = m
	return m
}

const (
	signBit  = 1 << 63
	highMask = 0xFFFF
	// twoHigh are bytes of VPSHUFB: the low 16 bits of two words, and
	// nothing more.
	twoHigh, nothing = 0xFFFFFFFF_09080100, 0xFFFFFFFF_FFFFFFFF
)

// keys maps float64 to integers of the same order, and back.
func keys(v, zero reg.VecVirtual) {
	t := YMM()
	VPCMPGTQ(v, zero, t)
	VPSRLQ(U8(1), t, t)
	VPXOR(t, v, v)
}

// leafFrame returns base and shift: x, y, x, y.
func leafFrame(n reg.Register) (base, shift reg.VecVirtual) {
	base, shift = YMM(), YMM()
	VBROADCASTI128(Mem{Base: n, Disp: frame}, base)
	VPMOVZXBQ(Mem{Base: n, Disp: frame + 16}, shift)
	return base, shift
}

// leafQuery returns the greatest high bits that a hit may have
// (leafFrame.query).
func leafQuery(n, q reg.Register) reg.GPVirtual {
	zero, ones, v := YMM(), YMM(), YMM()
	VPXOR(zero, zero, zero)
	VPCMPEQQ(zero, zero, ones)
	minima := words("minimaSign", signBit, signBit, 0, 0)
	Comment("A zero becomes -0 in a minimum and 0 in a maximum.")
	VMOVUPD(Mem{Base: q}, v)
	VXORPD(minima, v, v)
	VADDPD(zero, v, v)
	VXORPD(minima, v, v)
	keys(v, zero)
	base, shift := leafFrame(n)
	Comment("Below the base: 0. Beyond reach: all ones.")
	below, d, inside := YMM(), YMM(), YMM()
	VPCMPGTQ(v, base, below)
	VPSUBQ(base, v, d)
	VPANDN(d, below, d)
	VPSRLVQ(shift, d, d)
	VPSRLQ(U8(16), d, inside)
	VPCMPEQQ(zero, inside, inside)
	VPXOR(ones, inside, inside)
	VPOR(inside, d, d)
	Comment("Minima inverted, and after the maxima.")
	VPXOR(words("minimaHigh", highMask, highMask, 0, 0), d, d)
	VPSHUFB(words("twoHigh", twoHigh, nothing, twoHigh, nothing), d, d)
	high, lane, t := XMM(), GP64(), GP64()
	VEXTRACTI128(U8(1), d, high)
	VMOVQ(d.AsX(), t)
	VMOVQ(high, lane)
	SHLQ(U8(32), t)
	ORQ(t, lane)
	return lane
}

// leafMask emits the mask of the objects that the high bits do not rule out.
func leafMask(name string, body func(n, q reg.Register) reg.GPVirtual, vec func() reg.VecVirtual, doc string) {
	TEXT(name, NOSPLIT, signature)
	Doc(doc)
	Pragma("noescape")
	n := Load(Param("n"), GP64()).(reg.GPVirtual)
	lane := leafQuery(n, Load(Param("q"), GP64()))
	x, q := XMM(), vec()
	VMOVQ(lane, x)
	VPBROADCASTQ(x, q)
	ADDQ(U8(line), n)
	loop(n, line, 8, func() reg.GPVirtual { return body(n, q) })
}

func leafLineAVX2(n, q reg.Register) reg.GPVirtual {
	zero := YMM()
	VPXOR(zero, zero, zero)
	var bits [2]reg.GPVirtual
	for i := range bits {
		h := YMM()
		VMOVDQU(Mem{Base: n, Disp: 32 * i}, h)
		VPSUBUSW(q, h, h)
		VPCMPEQQ(zero, h, h)
		bits[i] = GP64()
		VMOVMSKPD(h, bits[i].As32())
	}
	SHLL(U8(4), bits[1].As32())
	ORL(bits[1].As32(), bits[0].As32())
	ANDL(U32(0xfe), bits[0].As32())
	return bits[0]
}

func leafLineAVX512(n, q reg.Register) reg.GPVirtual {
	h, k, bits := ZMM(), K(), GP64()
	VMOVDQU64(Mem{Base: n}, h)
	VPSUBUSW(q, h, h)
	VPTESTNMQ(h, h, k)
	KMOVB(k, bits.As32())
	ANDL(U32(0xfe), bits.As32())
	return bits
}

// object is what a loop over objects passes to its body.
type object struct {
	rect reg.VecVirtual // min x, min y, max x, max y
	bit  reg.GPVirtual  // of the mask's word
	id   reg.GPVirtual  // where its id is, from the word's first low bits on
}

// objectPlaces returns for each bit of a mask's word the places of the low bits
// (in the low half of the result's 32 bits) and of the id, in bytes from the
// word's first low bits on.
func objectPlaces() []uint64 {
	places := make([]uint64, 32)
	for bit := range uint64(64) {
		if bit%8 == 0 {
			continue // a version
		}
		group, e := bit/8*lowGroup, bit%8-1
		low := group + e/2*line + 8 + e%2*24
		id := group + e/2*line + 56
		if e%2 == 1 {
			id = group + 3*line + 32 + e/2*8
		}
		places[bit/2] |= (low | id<<16) << (bit % 2 * 32)
	}
	return places
}

// objects emits body for the objects in the two words at m; prepare
// comes first, advance after each word, done at the end.
func objects(prepare func(), body func(o object), advance, done func()) {
	Pragma("noescape")
	n, low = Load(Param("n"), GP64()).(reg.GPVirtual), Load(Param("low"), GP64()).(reg.GPVirtual)
	m := Load(Param("m"), GP64())
	base, shift := leafFrame(n)
	inverted := YMM()
	VMOVDQU(words("maximaHigh", 0, 0, highMask, highMask), inverted)
	spread := YMM()
	// Of bytes 0-15 and 8-23 of the low bits: six bytes and two zeros each.
	VMOVDQU(words("spreadLow", 0xFFFF_0504_0302_0100, 0xFFFF_0B0A_0908_0706,
		0xFFFF_0908_0706_0504, 0xFFFF_0F0E_0D0C_0B0A), spread)
	places := GP64()
	LEAQ(words("objectPlaces", objectPlaces()...), places)
	zero := YMM()
	VPXOR(zero, zero, zero)
	prepare()
	ADDQ(U8(line), n)
	left := GP64()
	MOVQ(U32(2), left)
	Label("word")
	bits := GP64()
	MOVQ(Mem{Base: m}, bits)
	TESTQ(bits, bits)
	JZ(LabelRef("empty"))
	Label("object")
	o := object{rect: YMM(), bit: GP64(), id: GP64()}
	TZCNTQ(bits, o.bit)
	MOVL(Mem{Base: places, Index: o.bit, Scale: 4}, o.id.As32())
	at := GP64()
	MOVWLZX(o.id.As16(), at.As32())
	SHRL(U8(16), o.id.As32())
	high := YMM()
	VPMOVZXWQ(Mem{Base: n, Index: o.bit, Scale: 8}, high)
	VPERMQ(U8(0x94), Mem{Base: low, Index: at, Scale: 1}, o.rect)
	VPSHUFB(spread, o.rect, o.rect)
	VPXOR(inverted, high, high)
	VPSLLVQ(shift, high, high)
	VPADDQ(base, o.rect, o.rect)
	VPADDQ(high, o.rect, o.rect)
	keys(o.rect, zero)
	body(o)
	BLSRQ(bits, bits)
	JNZ(LabelRef("object"))
	Label("empty")
	ADDQ(U32(wordHigh), n)
	ADDQ(U32(wordLow), low)
	ADDQ(U8(8), m)
	advance()
	DECQ(left)
	JNZ(LabelRef("word"))
	done()
	VZEROUPPER()
	RET()
}

// leafTake emits the objects of a mask that intersect the query.
func leafTake() {
	TEXT("leafTakeAVX2", NOSPLIT, "func(n, low, m *uint64, q, dst *float64) (bytes int)")
	Doc("leafTakeAVX2 is leafTakePlain, but returns how many bytes it wrote.")
	bytes, dst, turned := GP64(), GP64(), YMM()
	objects(func() {
		Load(Param("dst"), dst)
		q := Load(Param("q"), GP64())
		VPERMPD(U8(0x4e), Mem{Base: q}, turned) // max x, max y, min x, min y
		XORQ(bytes, bytes)
	}, func(o object) {
		id, in, next := GP64(), GP32(), GP64()
		MOVQ(Mem{Base: low, Index: o.id, Scale: 1}, id)
		VMOVUPD(o.rect, Mem{Base: dst, Index: bytes, Scale: 1})
		MOVQ(id, Mem{Base: dst, Index: bytes, Scale: 1, Disp: 32})
		below, above := YMM(), YMM()
		VCMPPD(ge, o.rect, turned, below) // maxima >= minima
		VCMPPD(le, o.rect, turned, above) // minima <= maxima
		VBLENDPD(U8(12), above, below, below)
		VMOVMSKPD(below, in)
		LEAQ(Mem{Base: bytes, Disp: itemBytes}, next)
		CMPL(in, U8(15))
		CMOVQEQ(next, bytes)
	}, func() {}, func() {
		Store(bytes, ReturnIndex(0))
	})
}

// leafDistances emits the distances of the objects of a mask from a point.
func leafDistances() {
	TEXT("leafDistAVX2", NOSPLIT, "func(n, low, m *uint64, groups int, p, d *float64)")
	Doc("leafDistAVX2 is leafDistPlain.")
	p, sign, zero, d := YMM(), YMM(), XMM(), GP64()
	objects(func() {
		VBROADCASTF128(Mem{Base: Load(Param("p"), GP64())}, p)
		Load(Param("d"), d)
		VMOVUPD(words("maximaSign", 0, 0, signBit, signBit), sign)
		VXORPD(zero, zero, zero)
	}, func(o object) {
		// min x - x, min y - y, x - max x, y - max y.
		VSUBPD(p, o.rect, o.rect)
		VXORPD(sign, o.rect, o.rect)
		far, dy := XMM(), XMM()
		VEXTRACTF128(U8(1), o.rect, far)
		VMAXPD(o.rect.AsX(), far, far)
		VMAXPD(zero, far, far)
		VMULPD(far, far, far)
		VPERMILPD(U8(1), far, dy)
		VADDSD(dy, far, far)
		VMOVSD(far, Mem{Base: d, Index: o.bit, Scale: 8})
	}, func() {
		ADDQ(U32(8*line), d)
	}, func() {
		groups := Load(Param("groups"), GP64())
		Load(Param("d"), d)
		Label("root")
		for at := 0; at < line; at += 32 {
			root := YMM()
			VSQRTPD(Mem{Base: d, Disp: at}, root)
			VMOVUPD(root, Mem{Base: d, Disp: at})
		}
		ADDQ(U8(line), d)
		DECQ(groups)
		JNZ(LabelRef("root"))
	})
}

// leafBounds emits the MBR of the objects of a mask.
func leafBounds() {
	TEXT("leafBoundsAVX2", NOSPLIT, "func(n, low, m *uint64, out *float64)")
	Doc("leafBoundsAVX2 is leafBoundsPlain.")
	least, most := YMM(), YMM()
	const inf, minusInf = 0x7FF0000000000000, 0xFFF0000000000000
	objects(func() {
		VMOVUPD(words("leastOfNone", inf, inf, inf, inf), least)
		VMOVUPD(words("mostOfNone", minusInf, minusInf, minusInf, minusInf), most)
	}, func(o object) {
		VMINPD(o.rect, least, least)
		VMAXPD(o.rect, most, most)
	}, func() {}, func() {
		VBLENDPD(U8(12), most, least, least)
		VMOVUPD(least, Mem{Base: Load(Param("out"), GP64())})
	})
}

// leafPut emits the code that turns entries into objects of a leaf.
func leafPut() {
	TEXT("leafPutAVX2", NOSPLIT, "func(n, low, m *uint64, es *float64)")
	Doc("leafPutAVX2 is leafPutPlain; es are the entries that m names, one after",
		"the other. Nobody else may use the node: it stores across words.")
	Pragma("noescape")
	n, low := Load(Param("n"), GP64()), Load(Param("low"), GP64())
	m, es := Load(Param("m"), GP64()), Load(Param("es"), GP64())
	base, shift := leafFrame(n)
	zero, inverted, pick, packed, places := YMM(), YMM(), YMM(), YMM(), GP64()
	VPXOR(zero, zero, zero)
	VMOVDQU(words("maximaHigh", 0, 0, highMask, highMask), inverted)
	VMOVDQU(words("fourHigh", twoHigh, nothing, 0x09080100_FFFFFFFF, nothing), pick)
	// Six bytes of each of two words.
	const packLow, packHigh = 0x0908_0504_0302_0100, 0xFFFFFFFF_0D0C_0B0A
	VMOVDQU(words("packLow", packLow, packHigh, packLow, packHigh), packed)
	LEAQ(words("objectPlaces", objectPlaces()...), places)
	ADDQ(U8(line), n)
	left := GP64()
	MOVQ(U32(2), left)
	Label("word")
	bits := GP64()
	MOVQ(Mem{Base: m}, bits)
	TESTQ(bits, bits)
	JZ(LabelRef("empty"))
	Label("object")
	bit, id, at := GP64(), GP64(), GP64()
	TZCNTQ(bits, bit)
	MOVL(Mem{Base: places, Index: bit, Scale: 4}, id.As32())
	MOVWLZX(id.As16(), at.As32())
	SHRL(U8(16), id.As32())
	d, high := YMM(), YMM()
	VMOVDQU(Mem{Base: es}, d)
	keys(d, zero)
	VPSUBQ(base, d, d)
	VPSRLVQ(shift, d, high)
	whole := YMM()
	VPSLLVQ(shift, high, whole)
	VPSUBQ(whole, d, d)
	VPXOR(inverted, high, high)
	VPSHUFB(pick, high, high)
	VPSHUFB(packed, d, d)
	upper := XMM()
	VEXTRACTI128(U8(1), high, upper)
	VPOR(upper, high.AsX(), upper)
	VMOVQ(upper, Mem{Base: n, Index: bit, Scale: 8})
	maxima := XMM()
	VEXTRACTI128(U8(1), d, maxima)
	// Twelve bytes each; the second overwrites the excess of the first.
	VMOVDQU(d.AsX(), Mem{Base: low, Index: at, Scale: 1})
	VMOVQ(maxima, Mem{Base: low, Index: at, Scale: 1, Disp: 12})
	VPEXTRD(U8(2), maxima, Mem{Base: low, Index: at, Scale: 1, Disp: 20})
	ref := GP64()
	MOVQ(Mem{Base: es, Disp: 32}, ref)
	MOVQ(ref, Mem{Base: low, Index: id, Scale: 1})
	ADDQ(U8(entryBytes), es)
	BLSRQ(bits, bits)
	JNZ(LabelRef("object"))
	Label("empty")
	ADDQ(U32(wordHigh), n)
	ADDQ(U32(wordLow), low)
	ADDQ(U8(8), m)
	DECQ(left)
	JNZ(LabelRef("word"))
	VZEROUPPER()
	RET()
}

// entriesBounds emits the MBR of entries.
func entriesBounds() {
	TEXT("mbrAVX2", NOSPLIT, "func(es *float64, n int, out *float64)")
	Doc("mbrAVX2 is mbrPlain.")
	Pragma("noescape")
	es, n := Load(Param("es"), GP64()), Load(Param("n"), GP64())
	least, most := YMM(), YMM()
	VMOVUPD(Mem{Base: es}, least)
	VMOVUPD(least, most)
	Label("next")
	VMINPD(Mem{Base: es}, least, least)
	VMAXPD(Mem{Base: es}, most, most)
	ADDQ(U8(entryBytes), es)
	DECQ(n)
	JNZ(LabelRef("next"))
	VBLENDPD(U8(12), most, least, least)
	VMOVUPD(least, Mem{Base: Load(Param("out"), GP64())})
	VZEROUPPER()
	RET()
}
