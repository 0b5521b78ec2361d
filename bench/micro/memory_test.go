package micro

import (
	"encoding/binary"
	"fmt"
	"testing"
)

// BenchmarkOwnMemory is table II of the RFP paper: items of 32 bytes that one core copies out
// of its own memory, at random places. The paper does not say how large the memory is: one
// size fits a core's caches, the other none.
func BenchmarkOwnMemory(b *testing.B) {
	const item = 32
	for _, size := range []int{1 << 20, 256 << 20} {
		b.Run(fmt.Sprintf("MiB=%d", size>>20), func(b *testing.B) {
			items := uint64(size / item)
			memory := make([]byte, size)
			for i := range items { // Each item begins with its number, so that reads are checked.
				binary.LittleEndian.PutUint64(memory[i*item:], i)
			}
			var got [item]byte
			wrong, x := uint64(0), uint64(1)
			b.ResetTimer()
			for range b.N {
				// xorshift64 (Marsaglia, 2003): the next place is known before the read ends.
				x ^= x << 13
				x ^= x >> 7
				x ^= x << 17
				at := x % items
				copy(got[:], memory[at*item:])
				wrong |= binary.LittleEndian.Uint64(got[:]) ^ at
			}
			if wrong != 0 {
				b.Fatal("an item is not the one that was asked for")
			}
			b.ReportMetric(float64(b.N)/b.Elapsed().Seconds()/1e6, "Mops")
		})
	}
}
