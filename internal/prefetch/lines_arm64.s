#include "textflag.h"

// func Lines(p unsafe.Pointer, lines int)
TEXT ·Lines(SB), NOSPLIT, $0-16
	MOVD p+0(FP), R0
	MOVD lines+8(FP), R1

next:
	PRFM (R0), PLDL2KEEP
	ADD  $64, R0
	SUBS $1, R1
	BNE  next
	RET
