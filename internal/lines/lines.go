// Package lines copies memory that another CPU, perhaps in another process,
// changes at the same time, so that every aligned 64-byte line of the source
// arrives as one snapshot: the guarantee that PCIe gives an RDMA Read.
//
// # Why two reads
//
// No x86 manual promises that a load wider than 16 bytes is atomic, and it is
// not everywhere: a core that executes 512-bit loads as two halves, as AMD's
// Zen 4 does, may admit a store in between. So every line is collected twice
// and accepted when both reads are equal (Afek et al., "Atomic snapshots of
// shared memory", J. ACM 1993, section 3), and the first lane is also read
// before and after both:
//
//	time ->   a0        c1 (all 8 lanes)      c2 (all 8 lanes)      b0
//	          lane 0    in any order      T   in any order          lane 0
//
// x86 keeps loads in program order (TSO), and Go's atomic loads are
// sequentially consistent, so all of c1 comes before T and all of c2
// after it. Each lane of 8 aligned bytes is read whole.
//
// Claim 1: if no lane took on an old value again during the copy, then
// c1 = c2 is the line at T. A lane that had value v in c1 and in c2 did
// not change between the two, so it held v at T; this holds for all.
//
// Claim 2: a line under package rstar's version protocol (lane 0 is set to an
// odd number, data lanes change, lane 0 is set to the next even number; never
// the same number twice) is the line at T, or carries an odd version that no
// reader accepts, even when data lanes change back and forth. Acceptance
// requires that a0 = lane 0 of c1 and c2 = b0 = v. Lane 0 never repeats, so
// it was v from a0 to b0. If v is even, no data lane may change while it
// lasts, so none changed from a0 to b0, an interval that covers both reads.
//
// The second read hits the first-level cache: the price is some 2 ns per line
// where the miss costs 100.
package lines

import "unsafe"

// Bytes is the size of a line.
const Bytes = 64

// lane is the unit that a processor reads and writes whole.
const lane = 8

// tries bounds the attempts at one line before the copier returns to Go code,
// where the goroutine can be preempted. A writer needs tens of ns to take the
// line away again, two reads need a few: one attempt is nearly always enough.
const tries = 64

// A path is one implementation of the copy; all pass the same tests.
type path uint8

const (
	portable path = iota // Go's atomic loads, on every platform
	sse2                 // every amd64
	avx2
	avx512
)

// Copy copies min(len(dst), len(src)) bytes and returns that number. Each
// aligned line of src that it touches, including incomplete first and last
// ones, is copied as one snapshot (see the package comment). It may read, but
// never returns, the bytes around src up to the borders of its first and last
// lines, which share src's pages. It does not allocate. src and dst must not
// overlap.
//
// It repeats a line until the line stays unchanged for two reads, however
// long that takes; a writer that stores without pause slows it down.
func Copy(dst, src []byte) int { return copyBy(best, dst, src) }

// copyBy is Copy with a given path.
//
// SAFETY: the pointers stay within the lines that hold src[:n] and
// within dst[:n]. Lines never straddle pages, so where one byte of src
// is mapped, its whole line is.
//
//go:nocheckptr
func copyBy(p path, dst, src []byte) int {
	n := min(len(dst), len(src))
	if n == 0 {
		return 0
	}
	s, d := unsafe.Pointer(&src[0]), unsafe.Pointer(&dst[0])
	var line [Bytes]byte
	done := 0
	if off := int(uintptr(s) % Bytes); off != 0 {
		copyLines(p, unsafe.Pointer(&line), unsafe.Add(s, -off), 1)
		done = copy(dst[:n], line[off:])
	}
	if whole := (n - done) / Bytes; whole > 0 {
		copyLines(p, unsafe.Add(d, done), unsafe.Add(s, done), whole)
		done += whole * Bytes
	}
	if done < n {
		copyLines(p, unsafe.Pointer(&line), unsafe.Add(s, done), 1)
		copy(dst[done:n], line[:])
	}
	return n
}

// copyLines copies n aligned lines, however often they change.
//
//go:nocheckptr
func copyLines(p path, dst, src unsafe.Pointer, n int) {
	for {
		k := try(p, dst, src, n)
		if n -= k; n == 0 {
			return
		}
		dst, src = unsafe.Add(dst, k*Bytes), unsafe.Add(src, k*Bytes)
	}
}
