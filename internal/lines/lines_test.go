package lines

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

func (p path) String() string {
	return [...]string{"portable", "sse2", "avx2", "avx512"}[p]
}

// aligned returns n bytes that start at a line boundary.
func aligned(n int) []byte {
	b := make([]byte, n+2*Bytes)
	off := -int(uintptr(unsafe.Pointer(&b[0]))) & (Bytes - 1)
	return b[off : off+n : off+n]
}

func eachPath(t *testing.T, f func(t *testing.T, p path)) {
	for _, p := range paths() {
		t.Run(fmt.Sprint("path=", p), func(t *testing.T) { f(t, p) })
	}
}

// Every start, length and destination offset up to three lines.
func TestCopyAllAlignments(t *testing.T) {
	eachPath(t, func(t *testing.T, p path) {
		src := aligned(4 * Bytes)
		for i := range src {
			src[i] = byte(i + 1)
		}
		dst := aligned(5 * Bytes)
		for from := range Bytes {
			for n := 0; from+n <= len(src); n++ {
				to := (from*7 + n) % Bytes
				for i := range dst {
					dst[i] = 0xEE
				}
				got := copyBy(p, dst[to:to+n], src[from:from+n])
				if got != n {
					t.Fatalf("copied %d of %d", got, n)
				}
				if !bytes.Equal(dst[to:to+n], src[from:from+n]) {
					t.Fatalf("from %d, %d bytes: wrong bytes", from, n)
				}
				if i := outside(dst, to, to+n); i >= 0 {
					t.Fatalf("from %d, %d bytes: wrote dst[%d]", from, n, i)
				}
			}
		}
	})
}

// outside finds a byte that changed outside dst[lo:hi].
func outside(dst []byte, lo, hi int) int {
	for i, b := range dst {
		if (i < lo || i >= hi) && b != 0xEE {
			return i
		}
	}
	return -1
}

func TestCopyTakesTheShorter(t *testing.T) {
	src, dst := aligned(256), aligned(256)
	if n := Copy(dst[:100], src); n != 100 {
		t.Errorf("short dst: %d", n)
	}
	if n := Copy(dst, src[3:70]); n != 67 {
		t.Errorf("short src: %d", n)
	}
	if n := Copy(nil, src) + Copy(dst, nil); n != 0 {
		t.Errorf("empty: %d", n)
	}
}

func TestCopyDoesNotAllocate(t *testing.T) {
	src, dst := aligned(2048), aligned(2048)
	if a := testing.AllocsPerRun(100, func() { Copy(dst[1:], src[5:2000]) }); a != 0 {
		t.Errorf("%v allocations", a)
	}
}

// A writer fills all lanes of a line with one number, ever new: a copy
// may miss numbers, but must not mix two.
func TestNoMixedLine(t *testing.T) {
	eachPath(t, func(t *testing.T, p path) {
		const lines, copies = 8, 60_000
		src, dst := aligned(lines*Bytes), make([]byte, lines*Bytes)
		stop := writer(src, func(line []uint64, n uint64) {
			for l := range line {
				atomic.StoreUint64(&line[l], n)
			}
		})
		defer stop()
		mixed := 0
		for range copies {
			copyBy(p, dst, src)
			for i := 0; i < len(dst); i += Bytes {
				// A line with two consecutive numbers is a state that the
				// memory did have: new up to some lane, old after it.
				if !prefix(dst[i : i+Bytes]) {
					mixed++
				}
			}
		}
		if mixed > 0 {
			t.Errorf("%d lines that never existed", mixed)
		}
	})
}

// prefix reports whether line is n+1 in its first lanes, n in the rest.
func prefix(line []byte) bool {
	at := func(l int) uint64 { return binary.LittleEndian.Uint64(line[l*lane:]) }
	for l := 1; l < Bytes/lane; l++ {
		if d := at(l-1) - at(l); d > 1 {
			return false
		}
	}
	return at(0)-at(Bytes/lane-1) <= 1
}

// The version protocol, with data that changes back and forth between two
// values (claim 2): an even line is one of the two, whole.
func TestVersionedLine(t *testing.T) {
	eachPath(t, func(t *testing.T, p path) {
		const lines, copies = 8, 60_000
		src, dst := aligned(lines*Bytes), make([]byte, lines*Bytes)
		stop := writer(src, func(line []uint64, n uint64) {
			atomic.StoreUint64(&line[0], 2*n-1)
			for l := 1; l < len(line); l++ {
				atomic.StoreUint64(&line[l], n%2)
			}
			atomic.StoreUint64(&line[0], 2*n)
		})
		defer stop()
		even := 0
		for range copies {
			copyBy(p, dst, src)
			for i := 0; i < len(dst); i += Bytes {
				version := binary.LittleEndian.Uint64(dst[i:])
				if version%2 == 1 {
					continue
				}
				even++
				for l := 1; l < Bytes/lane; l++ {
					v := binary.LittleEndian.Uint64(dst[i+l*lane:])
					if v != version/2%2 {
						t.Fatalf("version %d, lane %d: %d", version, l, v)
					}
				}
			}
		}
		if even == 0 {
			t.Error("no line accepted")
		}
	})
}

// writer calls write with ever greater numbers on random lines of src
// until the returned function is called.
func writer(src []byte, write func(line []uint64, n uint64)) (stop func()) {
	var wg sync.WaitGroup
	var done atomic.Bool
	words := unsafe.Slice((*uint64)(unsafe.Pointer(&src[0])), len(src)/lane)
	var ns [64]uint64
	rng := rand.New(rand.NewPCG(1, 2))
	wg.Go(func() {
		for !done.Load() {
			i := rng.IntN(len(src) / Bytes)
			ns[i]++
			write(words[i*Bytes/lane:(i+1)*Bytes/lane], ns[i])
		}
	})
	return func() { done.Store(true); wg.Wait() }
}

func BenchmarkCopy(b *testing.B) {
	for _, p := range paths() {
		for _, n := range []int{64, 2048} {
			b.Run(fmt.Sprintf("path=%v/bytes=%d", p, n), func(b *testing.B) {
				src, dst := aligned(n), aligned(n)
				b.SetBytes(int64(n))
				for b.Loop() {
					copyBy(p, dst, src)
				}
			})
		}
	}
}
