package cuckoo

import "unsafe"

// OnStore calls f after each store of a writer to the slab.
func OnStore(x Index, f func(offset, value uint64)) {
	t := x.(*table)
	t.onStore = nil
	if f != nil {
		t.onStore = func(w *uint64, v uint64) {
			f(uint64(uintptr(unsafe.Pointer(w))-uintptr(t.base)), v)
		}
	}
}

// OnLoad calls f between the loads of a local reader.
func OnLoad(x Index, f func()) { x.(*table).onLoad = f }

// Slab is the memory in use.
func Slab(x Index) []byte { return x.(*table).mem[:x.(*table).end] }

// Aligned returns n bytes of zeros that begin at a line.
func Aligned(n int) []byte { return aligned(n) }

// Key makes a hash with these low bits of its halves.
func Key(p1, p2, n uint64) uint64 { return key(p1, p2, n) }

// Replica is an Index for lookups alone, in a copy of a slab.
func Replica(mem []byte, onLoad func()) Index {
	t := &table{mem: mem, base: unsafe.Pointer(&mem[0]), onLoad: onLoad}
	NewHeader(t)
	return t
}

// NewHeader gives a Replica the header that its slab has, if that is not
// being written.
func NewHeader(x Index) {
	t := x.(*table)
	if h, err := ParseHeader(t.mem, uint64(len(t.mem))); err == nil {
		t.head.Store(&h)
	}
}
