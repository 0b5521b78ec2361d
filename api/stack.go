package api

import "runtime"

// callStack is what a search needs of its stack, gRPC's part and interceptors
// included; the runtime's sizes are powers of two.
const callStack = 16 << 10

// growStack gives a new goroutine the stack that its call needs. It is called where
// gRPC first calls this package. A goroutine begins with 2 to 4 KiB, which are
// doubled as often as they do not suffice, and each time all frames are copied and
// their pointers mended: when that happened deep in a search it took a sixth of the
// whole call. Here there are few frames, and it happens once.
//
//go:noinline
func growStack() {
	var room [callStack / 2]byte // does not fit a half of it, with what is below
	runtime.KeepAlive(&room)
}
