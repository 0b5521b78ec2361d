//go:build arm64 && !race

#include "textflag.h"

// Scans with NEON (Advanced SIMD); scan.go says what they do. They are
// written by hand: they are few and short, and avo, which generates those for
// x86-64, supports x86 only.
// Go's assembler lacks arithmetic on vectors of float32; those instructions
// are WORDs, each with what GNU as calls it. `make test-arm64` assembles the
// comments and compares.
//
// # Order
//
// A reader of a node in place loads its version, what it needs, and the
// version again (publish.go). x86 performs loads in order. Here this is what
// could go wrong, seen from both sides:
//
//	writer                        reader
//	STLR version = v+1   (1)      LDAR version: v, even
//	STLR word = new      (2)      LD1  word: new?
//	STLR version = v+2   (3)      DMB  ISHLD
//	                              LDAR version: v?
//
// The writer: an STLR becomes visible to all after whatever its processor
// wrote before. So a reader that has seen the new word finds version v+1 or a
// later one if it loads the version afterwards.
//
// The reader: only the barrier makes it load the version afterwards. LDAR
// orders what follows it, not what precedes it: without the barrier the second
// LDAR may be performed while version and word are both old, and LD1 after the
// writer has stored both. The reader would take a new word for one of v. DMB
// ISHLD permits no later access until all loads before it are done; so LD1 of
// a new word, then v, is impossible. No LD1 is performed too early either: the
// first LDAR precedes it, and v was stored, in the header's line, after all
// words of v. This holds byte by byte; nothing requires loads of 16 bytes to
// be atomic.
//
// So each kernel that reads a node which a writer may be changing ends with
// DMB ISHLD: leafMask, innerMask and copyLines. What follows them in plain
// Go (appendRefs, leafTakePlain) loads with LDAR, and an LDAR precedes the
// next one. innerDist and innerBounds read a private copy, or the writer's own
// node, and need none.
//
// No test notices a missing barrier, because emulation on x86-64 performs
// loads in order: tools/arm64.sh checks that the three are there.

// laneBits has bit w for lane w of a leaf's line, but none for lane 0.
DATA laneBits<>+0(SB)/8, $0x0008000400020000
DATA laneBits<>+8(SB)/8, $0x0080004000200010
GLOBL laneBits<>(SB), RODATA|NOPTR, $16

// halfBits has bit w for half lane w of an internal node's line, but none
// for lane 0.
DATA halfBits<>+0(SB)/8, $0x0008000400000000
DATA halfBits<>+8(SB)/8, $0x0080004000200010
DATA halfBits<>+16(SB)/8, $0x0800040002000100
DATA halfBits<>+24(SB)/8, $0x8000400020001000
GLOBL halfBits<>(SB), RODATA|NOPTR, $32

// func leafMaskNEON(n *uint64, groups int, most uint64, m *uint64)
TEXT ·leafMaskNEON(SB), NOSPLIT, $0-32
	MOVD n+0(FP), R0
	MOVD groups+8(FP), R1
	MOVD most+16(FP), R2
	MOVD m+24(FP), R3
	ADD  $64, R0
	VDUP R2, V16.D2
	MOVD $laneBits<>(SB), R2
	VLD1 (R2), [V17.H8]
	MOVD ZR, R4 // a word of m
	MOVD ZR, R5 // the group's first bit

next:
	VLD1.P 64(R0), [V0.H8, V1.H8, V2.H8, V3.H8]

	// A lane is a candidate if its fields are the lesser ones.
	VUMIN V16.H8, V0.H8, V4.H8
	VUMIN V16.H8, V1.H8, V5.H8
	VUMIN V16.H8, V2.H8, V6.H8
	VUMIN V16.H8, V3.H8, V7.H8
	VCMEQ V4.D2, V0.D2, V0.D2
	VCMEQ V5.D2, V1.D2, V1.D2
	VCMEQ V6.D2, V2.D2, V2.D2
	VCMEQ V7.D2, V3.D2, V3.D2

	// All ones or none in 16 bits of each lane, then a bit of each.
	VUZP1 V1.S4, V0.S4, V0.S4
	VUZP1 V3.S4, V2.S4, V2.S4
	VUZP1 V2.H8, V0.H8, V0.H8
	VAND  V17.B16, V0.B16, V0.B16
	VADDV V0.H8, V0
	VMOV  V0.H[0], R6
	LSL   R5, R6, R6
	ORR   R6, R4, R4
	ADD   $8, R5
	TST   $63, R5
	BNE   more
	MOVD.P R4, 8(R3)
	MOVD  ZR, R4

more:
	SUBS $1, R1
	BNE  next
	TST  $63, R5
	BEQ  stored
	MOVD R4, (R3)

stored:
	DMB $9 // ISHLD
	RET

// func innerMaskNEON(n *uint64, groups int, q *[4]float32, m *uint64)
TEXT ·innerMaskNEON(SB), NOSPLIT, $0-32
	MOVD  n+0(FP), R0
	MOVD  groups+8(FP), R1
	MOVD  q+16(FP), R2
	MOVD  m+24(FP), R3
	ADD   $64, R0
	VLD4R (R2), [V16.S4, V17.S4, V18.S4, V19.S4]
	MOVD  $halfBits<>(SB), R2
	VLD1  (R2), [V30.H8, V31.H8]
	MOVD  ZR, R4 // a word of m
	MOVD  ZR, R5 // the group's first bit

next:
	VLD1.P 64(R0), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1.P 64(R0), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1.P 64(R0), [V20.S4, V21.S4, V22.S4, V23.S4]
	VLD1.P 64(R0), [V24.S4, V25.S4, V26.S4, V27.S4]
	ADD    $64, R0 // references

	// The query's maxima >= min x and min y.
	WORD $0x6e20e600 // fcmge v0.4s, v16.4s, v0.4s
	WORD $0x6e21e601 // fcmge v1.4s, v16.4s, v1.4s
	WORD $0x6e22e602 // fcmge v2.4s, v16.4s, v2.4s
	WORD $0x6e23e603 // fcmge v3.4s, v16.4s, v3.4s
	WORD $0x6e24e624 // fcmge v4.4s, v17.4s, v4.4s
	WORD $0x6e25e625 // fcmge v5.4s, v17.4s, v5.4s
	WORD $0x6e26e626 // fcmge v6.4s, v17.4s, v6.4s
	WORD $0x6e27e627 // fcmge v7.4s, v17.4s, v7.4s

	// Max x and max y >= the query's minima.
	WORD $0x6e32e694 // fcmge v20.4s, v20.4s, v18.4s
	WORD $0x6e32e6b5 // fcmge v21.4s, v21.4s, v18.4s
	WORD $0x6e32e6d6 // fcmge v22.4s, v22.4s, v18.4s
	WORD $0x6e32e6f7 // fcmge v23.4s, v23.4s, v18.4s
	WORD $0x6e33e718 // fcmge v24.4s, v24.4s, v19.4s
	WORD $0x6e33e739 // fcmge v25.4s, v25.4s, v19.4s
	WORD $0x6e33e75a // fcmge v26.4s, v26.4s, v19.4s
	WORD $0x6e33e77b // fcmge v27.4s, v27.4s, v19.4s

	VAND V4.B16, V0.B16, V0.B16
	VAND V5.B16, V1.B16, V1.B16
	VAND V6.B16, V2.B16, V2.B16
	VAND V7.B16, V3.B16, V3.B16
	VAND V24.B16, V20.B16, V20.B16
	VAND V25.B16, V21.B16, V21.B16
	VAND V26.B16, V22.B16, V22.B16
	VAND V27.B16, V23.B16, V23.B16
	VAND V20.B16, V0.B16, V0.B16
	VAND V21.B16, V1.B16, V1.B16
	VAND V22.B16, V2.B16, V2.B16
	VAND V23.B16, V3.B16, V3.B16

	// All ones or none in 16 bits of each half lane, then a bit of each.
	VUZP1 V1.H8, V0.H8, V0.H8
	VUZP1 V3.H8, V2.H8, V2.H8
	VAND  V30.B16, V0.B16, V0.B16
	VAND  V31.B16, V2.B16, V2.B16
	VORR  V2.B16, V0.B16, V0.B16
	VADDV V0.H8, V0
	VMOV  V0.H[0], R6
	LSL   R5, R6, R6
	ORR   R6, R4, R4
	ADD   $16, R5
	TST   $63, R5
	BNE   more
	MOVD.P R4, 8(R3)
	MOVD  ZR, R4

more:
	SUBS $1, R1
	BNE  next
	TST  $63, R5
	BEQ  stored
	MOVD R4, (R3)

stored:
	DMB $9 // ISHLD
	RET

// func innerDistNEON(n *uint64, groups int, p *[2]float32, d *float32)
TEXT ·innerDistNEON(SB), NOSPLIT, $0-32
	MOVD  n+0(FP), R0
	MOVD  groups+8(FP), R1
	MOVD  p+16(FP), R2
	MOVD  d+24(FP), R3
	ADD   $64, R0
	VLD2R (R2), [V16.S4, V17.S4]
	VEOR  V18.B16, V18.B16, V18.B16

next:
	MOVD $4, R4 // quarters of a line

quarter:
	FMOVQ 64(R0), F1   // min y
	FMOVQ 128(R0), F2  // max x
	FMOVQ 192(R0), F3  // max y
	FMOVQ.P 16(R0), F0 // min x
	WORD $0x4eb0d400 // fsub v0.4s, v0.4s, v16.4s
	WORD $0x4ea2d602 // fsub v2.4s, v16.4s, v2.4s
	WORD $0x4eb1d421 // fsub v1.4s, v1.4s, v17.4s
	WORD $0x4ea3d623 // fsub v3.4s, v17.4s, v3.4s
	WORD $0x4e22f400 // fmax v0.4s, v0.4s, v2.4s
	WORD $0x4e23f421 // fmax v1.4s, v1.4s, v3.4s
	WORD $0x4e32f400 // fmax v0.4s, v0.4s, v18.4s
	WORD $0x4e32f421 // fmax v1.4s, v1.4s, v18.4s
	WORD $0x6e20dc00 // fmul v0.4s, v0.4s, v0.4s
	WORD $0x6e21dc21 // fmul v1.4s, v1.4s, v1.4s
	WORD $0x4e21d400 // fadd v0.4s, v0.4s, v1.4s
	WORD $0x6ea1f800 // fsqrt v0.4s, v0.4s
	FMOVQ.P F0, 16(R3)
	SUBS $1, R4
	BNE  quarter
	ADD  $256, R0 // the other four lines of the group
	SUBS $1, R1
	BNE  next
	RET

// func innerBoundsNEON(n *uint64, groups int, b *bounds)
TEXT ·innerBoundsNEON(SB), NOSPLIT, $0-24
	MOVD n+0(FP), R0
	MOVD groups+8(FP), R1
	MOVD b+16(FP), R2
	ADD  $64, R0
	MOVD R0, R3
	VLD1.P 64(R3), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1.P 64(R3), [V4.S4, V5.S4, V6.S4, V7.S4]
	VLD1.P 64(R3), [V8.S4, V9.S4, V10.S4, V11.S4]
	VLD1.P 64(R3), [V12.S4, V13.S4, V14.S4, V15.S4]

next:
	VLD1.P 64(R0), [V16.S4, V17.S4, V18.S4, V19.S4]
	VLD1.P 64(R0), [V20.S4, V21.S4, V22.S4, V23.S4]
	VLD1.P 64(R0), [V24.S4, V25.S4, V26.S4, V27.S4]
	VLD1.P 64(R0), [V28.S4, V29.S4, V30.S4, V31.S4]
	ADD    $64, R0 // references
	WORD $0x4eb0f400 // fmin v0.4s, v0.4s, v16.4s
	WORD $0x4eb1f421 // fmin v1.4s, v1.4s, v17.4s
	WORD $0x4eb2f442 // fmin v2.4s, v2.4s, v18.4s
	WORD $0x4eb3f463 // fmin v3.4s, v3.4s, v19.4s
	WORD $0x4eb4f484 // fmin v4.4s, v4.4s, v20.4s
	WORD $0x4eb5f4a5 // fmin v5.4s, v5.4s, v21.4s
	WORD $0x4eb6f4c6 // fmin v6.4s, v6.4s, v22.4s
	WORD $0x4eb7f4e7 // fmin v7.4s, v7.4s, v23.4s
	WORD $0x4e38f508 // fmax v8.4s, v8.4s, v24.4s
	WORD $0x4e39f529 // fmax v9.4s, v9.4s, v25.4s
	WORD $0x4e3af54a // fmax v10.4s, v10.4s, v26.4s
	WORD $0x4e3bf56b // fmax v11.4s, v11.4s, v27.4s
	WORD $0x4e3cf58c // fmax v12.4s, v12.4s, v28.4s
	WORD $0x4e3df5ad // fmax v13.4s, v13.4s, v29.4s
	WORD $0x4e3ef5ce // fmax v14.4s, v14.4s, v30.4s
	WORD $0x4e3ff5ef // fmax v15.4s, v15.4s, v31.4s
	SUBS $1, R1
	BNE  next
	VST1.P [V0.S4, V1.S4, V2.S4, V3.S4], 64(R2)
	VST1.P [V4.S4, V5.S4, V6.S4, V7.S4], 64(R2)
	VST1.P [V8.S4, V9.S4, V10.S4, V11.S4], 64(R2)
	VST1.P [V12.S4, V13.S4, V14.S4, V15.S4], 64(R2)
	RET

// func copyLinesNEON(dst, src *uint64, lines int)
TEXT ·copyLinesNEON(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD lines+16(FP), R2

next:
	VLD1.P 64(R1), [V0.D2, V1.D2, V2.D2, V3.D2]
	VST1.P [V0.D2, V1.D2, V2.D2, V3.D2], 64(R0)
	SUBS   $1, R2
	BNE    next
	DMB    $9 // ISHLD
	RET
