package lines

import (
	"bytes"
	"encoding/binary"
	"runtime"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"
)

// TestStore: for any length and address, the bytes are those of the source,
// and the others do not change.
func TestStore(t *testing.T) {
	src := []byte("abcdefghijklmnopqrstuvwxyz")
	for off := range 17 {
		for n := range len(src) + 1 {
			dst := bytes.Repeat([]byte{'.'}, 64)
			want := bytes.Clone(dst)
			copy(want[off:], src[:n])
			if got := Store(dst[off:], src[:n]); got != n || !bytes.Equal(dst, want) {
				t.Fatalf("offset %d, %d bytes: %d stored, %q", off, n, got, dst)
			}
		}
	}
	if n := Store(make([]byte, 3), src[:8]); n != 3 {
		t.Fatalf("%d bytes stored in 3", n)
	}
}

// TestStoreIsWhole: a word that is loaded while it is stored is an old one or
// a new one, and earlier stores are visible.
func TestStoreIsWhole(t *testing.T) {
	const last = 20_000
	mem := aligned(2 * Bytes)
	lane := func(i int) *uint64 { return (*uint64)(unsafe.Pointer(&mem[i])) }
	var group sync.WaitGroup
	group.Go(func() {
		var b [8]byte
		for i := uint64(1); i <= last; i++ {
			atomic.StoreUint64(lane(Bytes), i)
			binary.NativeEndian.PutUint64(b[:], i|^i<<32)
			Store(mem, b[:])
		}
	})
	for seen := uint64(0); seen < last; runtime.Gosched() {
		w := atomic.LoadUint64(lane(0))
		if w == 0 {
			continue
		}
		i := uint64(uint32(w))
		if uint32(w>>32) != ^uint32(w) || i < seen {
			t.Fatalf("loaded %#x after %d", w, seen)
		}
		if before := atomic.LoadUint64(lane(Bytes)); before < i {
			t.Fatalf("store %d is seen, the one before it only up to %d", i, before)
		}
		seen = i
	}
	group.Wait()
}
