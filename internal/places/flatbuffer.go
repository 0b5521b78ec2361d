package places

import (
	"encoding/binary"
	"fmt"

	"github.com/catfish-index/catfish/internal/places/input"
)

// FlatBuffers (https://flatbuffers.dev/internals/), the part that FlatGeobuf
// uses. Everything is little-endian; offsets are in bytes.
//
//	buffer   u32 offset of the root table
//	table    i32 offset back to its vtable, then fields
//	vtable   u16 its bytes, u16 the table's bytes, u16 per field: where in
//	         the table it is, 0 if it is absent
//	vector   u32 number of elements, then the elements
//
// A field of a table, vector or string holds a u32 offset from itself. Google's
// package panics on offsets beyond the buffer; here each is checked. Several
// offsets may name the same bytes, so a small buffer could expand into a huge
// object. flat.spend counts the bytes read and stops at the buffer's size, which
// is the largest possible sum if each byte has one owner.

type flat struct {
	b     []byte
	spent int
	err   error // the first error; all reads return zeros after it
	to    altitudes
}

// table is a position in a flat; 0 is none, since the root's offset is at 0.
type table struct{ at, vtable, vtableLen int }

type vector struct{ at, n int }

func (f *flat) fail(format string, args ...any) {
	if f.err == nil {
		f.err = fmt.Errorf("%w: FlatGeobuf: "+format, append([]any{input.ErrSyntax}, args...)...)
	}
}

func (f *flat) spend(n int) {
	if f.spent += n; f.spent > len(f.b) {
		f.fail("parts share their bytes")
	}
}

// bytes returns n bytes at a position, nil if they exceed the buffer.
func (f *flat) bytes(at, n int) []byte {
	if f.err != nil || at < 0 || n < 0 || at > len(f.b)-n {
		f.fail("%d bytes at %d, the object has %d", n, at, len(f.b))
		return nil
	}
	return f.b[at : at+n]
}

func (f *flat) u16(at int) int {
	if b := f.bytes(at, 2); b != nil {
		return int(binary.LittleEndian.Uint16(b))
	}
	return 0
}

func (f *flat) u32(at int) int {
	if b := f.bytes(at, 4); b != nil {
		return int(binary.LittleEndian.Uint32(b))
	}
	return 0
}

func (f *flat) root() table { return f.tableAt(f.u32(0)) }

func (f *flat) tableAt(at int) table {
	t := table{at: at, vtable: at - int(int32(f.u32(at)))}
	t.vtableLen = f.u16(t.vtable)
	f.bytes(t.vtable, t.vtableLen)
	return t
}

// field returns the position of a field, 0 if it is absent.
func (f *flat) field(t table, slot int) int {
	if 4+2*slot+2 > t.vtableLen || f.err != nil {
		return 0
	}
	if offset := f.u16(t.vtable + 4 + 2*slot); offset != 0 {
		return t.at + offset
	}
	return 0
}

// child returns the table that a field names.
func (f *flat) child(t table, slot int) (table, bool) {
	at := f.field(t, slot)
	if at == 0 {
		return table{}, false
	}
	return f.tableAt(at + f.u32(at)), f.err == nil
}

// vector returns the vector that a field names, of elements of size bytes.
func (f *flat) vector(t table, slot, size int) vector {
	at := f.field(t, slot)
	if at == 0 {
		return vector{}
	}
	at += f.u32(at)
	v := vector{at + 4, f.u32(at)}
	if f.bytes(v.at, v.n*size); f.err != nil {
		return vector{}
	}
	f.spend(4 + v.n*size)
	return v
}

// tables returns an element of a vector of tables.
func (f *flat) element(v vector, i int) table {
	at := v.at + 4*i
	return f.tableAt(at + f.u32(at))
}

// text returns the bytes of a string or a vector of bytes.
func (f *flat) text(t table, slot int) []byte {
	v := f.vector(t, slot, 1)
	return f.bytes(v.at, v.n)
}

func (f *flat) u8(t table, slot int) int {
	at := f.field(t, slot)
	if at == 0 {
		return 0
	}
	if b := f.bytes(at, 1); b != nil {
		return int(b[0])
	}
	return 0
}
