package rhkv

import "unsafe"

const canFlush = true

// flush writes lines, at least one, from the one of p on back to memory, and waits for it.
//
//go:noescape
func flush(p unsafe.Pointer, lines int)
