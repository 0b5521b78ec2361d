#include "textflag.h"

// func flush(p unsafe.Pointer, lines int)
TEXT ·flush(SB), NOSPLIT, $0-16
	MOVQ p+0(FP), AX
	MOVQ lines+8(FP), CX

next:
	CLFLUSH (AX)
	ADDQ    $64, AX
	DECQ    CX
	JNZ     next
	MFENCE
	RET
