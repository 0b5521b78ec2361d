package prefetch

import (
	"testing"
	"unsafe"
)

// The requested memory need not exist, and does not change.
func TestLines(t *testing.T) {
	b := make([]byte, 4*LineBytes)
	for i := range b {
		b[i] = byte(i)
	}
	p := unsafe.Pointer(&b[0])
	for n := 1; n <= 4; n++ {
		Lines(p, n)
	}
	Lines(p, 1<<16) // beyond what is mapped, perhaps
	for i := range b {
		if b[i] != byte(i) {
			t.Fatalf("byte %d is %d", i, b[i])
		}
	}
}
