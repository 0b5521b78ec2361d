package datasets

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/catfish-index/catfish/rstar"
)

// The two encodings of the benchmark of Beckmann and Seeger. No header;
// one record of four float64 per rectangle; no ids: items are numbered by
// position.
//
//	offset       0      8      16     24     byte order
//	rea02        xmin   xmax   ymin   ymax   little-endian
//	rec          xmin   ymin   xmax   ymax   big-endian
const recordBytes = 32

// recordLayout is one of these encodings.
type recordLayout struct {
	order                  binary.ByteOrder
	minX, minY, maxX, maxY int // offsets
}

var (
	littleEndian = recordLayout{binary.LittleEndian, 0, 16, 8, 24}
	bigEndian    = recordLayout{binary.BigEndian, 0, 8, 16, 24}
)

func (l recordLayout) decode(b []byte) rstar.Rect {
	at := func(i int) float64 {
		return math.Float64frombits(l.order.Uint64(b[i:]))
	}
	return rstar.Rect{MinX: at(l.minX), MinY: at(l.minY), MaxX: at(l.maxX), MaxY: at(l.maxY)}
}

func (l recordLayout) encode(b []byte, r rstar.Rect) {
	put := func(i int, v float64) { l.order.PutUint64(b[i:], math.Float64bits(v)) }
	put(l.minX, r.MinX)
	put(l.minY, r.MinY)
	put(l.maxX, r.MaxX)
	put(l.maxY, r.MaxY)
}

// read delivers the records of r; ids count from 0.
func (l recordLayout) read(p *pass, r io.Reader) error {
	var rec [recordBytes]byte
	for id := uint64(0); ; id++ {
		offset := int64(id) * recordBytes
		switch n, err := io.ReadFull(r, rec[:]); {
		case errors.Is(err, io.ErrUnexpectedEOF):
			return p.fail(0, offset, fmt.Errorf(
				"%w: the last record has %d bytes, want %d: the length must be a multiple of %d",
				ErrTruncated, n, recordBytes, recordBytes))
		case err == io.EOF:
			return nil
		case err != nil:
			return p.fail(0, offset, err)
		}
		if err := p.emit(l.decode(rec[:]), id); err != nil {
			return p.fail(0, offset, err)
		}
	}
}
