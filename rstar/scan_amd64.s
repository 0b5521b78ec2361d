//go:build amd64 && !race

#include "textflag.h"

// func maskAVX2(n *uint64, groups int, q *Rect, m *masks)
//
// One group is five lines: min x, min y, max x, max y, reference, of
// which lane 0 is the version (layout.go). Each line is two registers of
// four lanes. Ordered comparisons, so that a NaN misses.
TEXT ·maskAVX2(SB), NOSPLIT, $0-32
	MOVQ n+0(FP), SI
	MOVQ groups+8(FP), CX
	MOVQ q+16(FP), DX
	MOVQ m+24(FP), DI

	VBROADCASTSD 0(DX), Y0  // q.MinX
	VBROADCASTSD 8(DX), Y1  // q.MinY
	VBROADCASTSD 16(DX), Y2 // q.MaxX
	VBROADCASTSD 24(DX), Y3 // q.MaxY
	ADDQ         $64, SI    // past the header line

next:
	// $13: q >= entry, $2: q <= entry
	VCMPPD    $13, 0(SI), Y2, Y4   // max x of q >= min x
	VCMPPD    $13, 32(SI), Y2, Y5
	VCMPPD    $13, 64(SI), Y3, Y6  // max y of q >= min y
	VCMPPD    $13, 96(SI), Y3, Y7
	VCMPPD    $2, 128(SI), Y0, Y8  // min x of q <= max x
	VCMPPD    $2, 160(SI), Y0, Y9
	VCMPPD    $2, 192(SI), Y1, Y10 // min y of q <= max y
	VCMPPD    $2, 224(SI), Y1, Y11
	VANDPD    Y4, Y6, Y4
	VANDPD    Y8, Y10, Y8
	VANDPD    Y4, Y8, Y4
	VANDPD    Y5, Y7, Y5
	VANDPD    Y9, Y11, Y9
	VANDPD    Y5, Y9, Y5
	VMOVMSKPD Y4, AX
	VMOVMSKPD Y5, BX
	SHLL      $4, BX
	ORL       BX, AX
	ANDL      $0xfe, AX            // lane 0 is no entry
	MOVB      AX, (DI)
	INCQ      DI
	ADDQ      $320, SI
	DECQ      CX
	JNZ       next

	VZEROUPPER
	RET
