package peers

import (
	"testing"
	"unsafe"

	"github.com/catfish-index/catfish/rstar"
)

// TestCLayout: items and rectangles are lent to C as they are, so they
// must be what boost.h and geos.h declare, doubles and then an id.
func TestCLayout(t *testing.T) {
	var it rstar.Item
	for _, c := range []struct {
		what      string
		got, want uintptr
	}{
		{"MinX", unsafe.Offsetof(it.Rect.MinX), 0},
		{"MinY", unsafe.Offsetof(it.Rect.MinY), 8},
		{"MaxX", unsafe.Offsetof(it.Rect.MaxX), 16},
		{"MaxY", unsafe.Offsetof(it.Rect.MaxY), 24},
		{"end of Rect", unsafe.Sizeof(it.Rect), 32},
		{"ID", unsafe.Offsetof(it.ID), 32},
		{"end of Item", unsafe.Sizeof(it), 40},
	} {
		if c.got != c.want {
			t.Errorf("%s is at %d bytes, in C at %d", c.what, c.got, c.want)
		}
	}
}
