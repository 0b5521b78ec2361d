package api

import "runtime"

// callStack is what a search needs of its stack, gRPC's part and interceptors
// included; the runtime's sizes are powers of two.
const callStack = 16 << 10

// growStack gives a new goroutine the stack that its call needs. It is called where
// gRPC first calls this package. A goroutine begins with 2 to 4 KiB. The runtime
// doubles a stack that does not suffice, and each time copies all frames and
// adjusts their pointers: when that happened deep in a search it took a sixth of
// the whole call. Here there are few frames, and it happens once.
//
//go:noinline
func growStack() {
	var room [callStack / 2]byte // does not fit half of it, with the frames below
	runtime.KeepAlive(&room)
}
