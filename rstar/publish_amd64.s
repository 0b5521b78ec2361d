//go:build amd64 && !race

#include "textflag.h"

// func storeOrdered(dst, src *uint64, touched uint64, lines int, odd uint64)
//
// The steps of publish.go. Only plain 8-byte stores: x86 makes them
// visible in program order (no non-temporal, no string stores).
TEXT ·storeOrdered(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ touched+16(FP), R8
	MOVQ lines+24(FP), CX
	MOVQ odd+32(FP), DX

	// (1) odd versions, the header first
	MOVQ DX, (DI)
	MOVQ R8, R9
odds:
	TESTQ R9, R9
	JZ    data
	BSFQ  R9, BX
	SHLQ  $6, BX
	MOVQ  DX, (DI)(BX*1)
	LEAQ  -1(R9), R10
	ANDQ  R10, R9
	JMP   odds

	// (2) lanes 1-7 of each touched line
data:
	TESTQ R8, R8
	JZ    evens
	BSFQ  R8, BX
	SHLQ  $6, BX
	MOVQ  8(SI)(BX*1), R10
	MOVQ  R10, 8(DI)(BX*1)
	MOVQ  16(SI)(BX*1), R10
	MOVQ  R10, 16(DI)(BX*1)
	MOVQ  24(SI)(BX*1), R10
	MOVQ  R10, 24(DI)(BX*1)
	MOVQ  32(SI)(BX*1), R10
	MOVQ  R10, 32(DI)(BX*1)
	MOVQ  40(SI)(BX*1), R10
	MOVQ  R10, 40(DI)(BX*1)
	MOVQ  48(SI)(BX*1), R10
	MOVQ  R10, 48(DI)(BX*1)
	MOVQ  56(SI)(BX*1), R10
	MOVQ  R10, 56(DI)(BX*1)
	LEAQ  -1(R8), R10
	ANDQ  R10, R8
	JMP   data

	// (3) the next even version, from the last line down to the header
evens:
	INCQ DX
	SHLQ $6, CX
even:
	SUBQ $64, CX
	MOVQ DX, (DI)(CX*1)
	JNZ  even
	RET
