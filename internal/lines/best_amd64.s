//go:build !race

#include "textflag.h"

// All three: DI dst, SI src, CX lines left, AX lines copied, DX tries left at
// this line, R8 lane 0 before both reads, R9 after, R10 between. The order of
// the loads is part of the proof (package comment): do not rearrange them.

// func copyAVX512(dst, src unsafe.Pointer, n, tries int) int
TEXT ·copyAVX512(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX
	TESTQ CX, CX
	JLE  done512
line512:
	MOVQ tries+24(FP), DX
look512:
	MOVQ (SI), R8
	VMOVDQA64 (SI), Z0
	VMOVDQA64 (SI), Z1
	MOVQ (SI), R9
	VPCMPEQQ Z0, Z1, K1
	KMOVW K1, BX
	VMOVQ X0, R10
	CMPL BX, $0xff
	JNE  again512
	CMPQ R8, R10
	JNE  again512
	CMPQ R9, R10
	JNE  again512
	VMOVDQU64 Z0, (DI)
	ADDQ $64, SI
	ADDQ $64, DI
	INCQ AX
	DECQ CX
	JNZ  line512
done512:
	VZEROUPPER
	MOVQ AX, ret+32(FP)
	RET
again512:
	PAUSE
	DECQ DX
	JNZ  look512
	JMP  done512

// func copyAVX2(dst, src unsafe.Pointer, n, tries int) int
TEXT ·copyAVX2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX
	TESTQ CX, CX
	JLE  done256
line256:
	MOVQ tries+24(FP), DX
look256:
	MOVQ (SI), R8
	VMOVDQA (SI), Y0
	VMOVDQA 32(SI), Y1
	VMOVDQA 32(SI), Y2
	VMOVDQA (SI), Y3
	MOVQ (SI), R9
	VPXOR Y1, Y2, Y2
	VPXOR Y0, Y3, Y3
	VPOR Y2, Y3, Y3
	VMOVQ X0, R10
	VPTEST Y3, Y3
	JNZ  again256
	CMPQ R8, R10
	JNE  again256
	CMPQ R9, R10
	JNE  again256
	VMOVDQU Y0, (DI)
	VMOVDQU Y1, 32(DI)
	ADDQ $64, SI
	ADDQ $64, DI
	INCQ AX
	DECQ CX
	JNZ  line256
done256:
	VZEROUPPER
	MOVQ AX, ret+32(FP)
	RET
again256:
	PAUSE
	DECQ DX
	JNZ  look256
	JMP  done256

// func copySSE2(dst, src unsafe.Pointer, n, tries int) int
TEXT ·copySSE2(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX
	PXOR X8, X8
	TESTQ CX, CX
	JLE  done128
line128:
	MOVQ tries+24(FP), DX
look128:
	MOVQ (SI), R8
	MOVO (SI), X0
	MOVO 16(SI), X1
	MOVO 32(SI), X2
	MOVO 48(SI), X3
	MOVO 48(SI), X7
	MOVO 32(SI), X6
	MOVO 16(SI), X5
	MOVO (SI), X4
	MOVQ (SI), R9
	PXOR X0, X4
	PXOR X1, X5
	PXOR X2, X6
	PXOR X3, X7
	POR  X5, X4
	POR  X7, X6
	POR  X6, X4
	PCMPEQB X8, X4
	PMOVMSKB X4, BX
	MOVQ X0, R10
	CMPL BX, $0xffff
	JNE  again128
	CMPQ R8, R10
	JNE  again128
	CMPQ R9, R10
	JNE  again128
	MOVOU X0, (DI)
	MOVOU X1, 16(DI)
	MOVOU X2, 32(DI)
	MOVOU X3, 48(DI)
	ADDQ $64, SI
	ADDQ $64, DI
	INCQ AX
	DECQ CX
	JNZ  line128
done128:
	MOVQ AX, ret+32(FP)
	RET
again128:
	PAUSE
	DECQ DX
	JNZ  look128
	JMP  done128
