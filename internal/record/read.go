package record

import (
	"slices"
	"unsafe"

	"github.com/catfish-index/catfish/internal/lines"
	"github.com/catfish-index/catfish/internal/prefetch"
)

// prefetchLines bounds the lines that Prefetch asks for. After them the processor
// notices that lines are read in order, and fetches ahead. With 4, searches that find
// places of seven lines were 7 % slower.
const prefetchLines = 16

// Prefetch asks for the memory that Read of ref is going to read, and does not
// wait for it. Any goroutine may call it at any time, with any reference.
func (h *Heap) Prefetch(ref Ref) {
	if h.space.Check(ref) == nil {
		h.prefetch(ref.place(), ref.lines())
	}
}

func (h *Heap) prefetch(place uint64, lines int) {
	prefetch.Lines(unsafe.Pointer(&h.slab[place*LineBytes]), min(lines, prefetchLines))
}

// Read reads a record without a lock, as a remote reader does: any goroutine may call
// it at any time. It copies the bytes to the start of buf, which grows if it has to,
// and returns the View and the buffer that holds it. Errors are those of Space.Parse. A
// long value is assembled from its blocks.
func (h *Heap) Read(ref Ref, key, buf []byte) (View, []byte, error) {
	v, buf, err := h.ReadHead(ref, key, buf)
	if v.Blocks() == 0 {
		return v, buf, err
	}
	return h.readLong(ref, key, buf, v.ValueBytes)
}

// ReadHead is Read without the value, if that is long (View.Blocks).
func (h *Heap) ReadHead(ref Ref, key, buf []byte) (View, []byte, error) {
	if err := h.space.Check(ref); err != nil {
		return View{}, buf, err
	}
	buf = slices.Grow(buf[:0], ref.Bytes())[:ref.Bytes()]
	lines.Copy(buf, h.at(ref))
	v, err := h.space.Parse(ref, buf, key)
	return v, buf, err
}

// ReadTimely is ReadHead without the check sum, which readers in time do not need
// (readers.go). The caller finds out afterwards, by a clock, whether it was in time; a
// View that was read late may be a mixture of records.
func (h *Heap) ReadTimely(ref Ref, buf []byte) (View, []byte, error) {
	if err := h.space.Check(ref); err != nil {
		return View{}, buf, err
	}
	buf = slices.Grow(buf[:0], ref.Bytes())[:ref.Bytes()]
	lines.Copy(buf, h.at(ref))
	v, err := h.space.parse(ref, buf, nil, false)
	return v, buf, err
}

// readLong reads each block to the place of its data. Its header then overwrites the
// end of the data before it, a copy of which is put back afterwards.
func (h *Heap) readLong(ref Ref, key, buf []byte, valueBytes int) (View, []byte, error) {
	head := len(buf)
	buf = slices.Grow(buf, offData+valueBytes+LineBytes)
	buf = buf[:head+offData+valueBytes+LineBytes]
	v, dead := h.space.Parse(ref, buf, key) // in the buffer as it is now
	at := 0                                 // in the value
	for i := range v.Blocks() {
		block, n := v.Block(i, at)
		if err := h.space.Check(block); err != nil {
			return View{}, buf, err
		}
		// Less than a line follows the last block's data.
		b := buf[head+at:][:min(block.Bytes(), len(buf)-head-at)]
		at += n
		aside := [offData]byte(b)
		lines.Copy(b, h.at(block))
		if _, err := h.space.ParseBlock(block, b, n); err != nil {
			return View{}, buf, err
		}
		copy(b, aside[:])
	}
	return v.Whole(buf[head+offData:][:valueBytes:valueBytes]), buf, dead
}
