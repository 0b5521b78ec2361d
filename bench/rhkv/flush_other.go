//go:build !amd64

package rhkv

import "unsafe"

const canFlush = false

func flush(unsafe.Pointer, int) { panic("rhkv: no flush on this processor") }
