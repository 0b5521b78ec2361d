package datasets

import (
	"bufio"
	"fmt"
	"io"
	"strconv"

	"github.com/catfish-index/catfish/internal/places/input"
	"github.com/catfish-index/catfish/rstar"
)

// Write writes a source in format CSV, Rea02 or Rec, and returns the number
// of items written. The latter two hold no ids: when read again, items are
// numbered in the order written. Coordinates are preserved to the last bit in
// all three.
//
// Errors of the source are returned, and what preceded them is written; other
// formats return ErrUnsupported. An error of w may leave a partial record at
// the end.
func Write(w io.Writer, f Format, s *Source) (int64, error) {
	var encode func(dst []byte, it rstar.Item) []byte
	header := ""
	switch f {
	case CSV:
		encode, header = appendCSV, csvRects+"\n"
	case Rea02:
		encode = littleEndian.append
	case Rec:
		encode = bigEndian.append
	default:
		return 0, fmt.Errorf("datasets: %w: writing format %s, want one of %s, %s, %s",
			ErrUnsupported, input.Quote(string(f)), CSV, Rea02, Rec)
	}
	buf := bufio.NewWriterSize(w, bufferBytes)
	_, failed := buf.WriteString(header)
	var n int64
	var record []byte
	err := s.Items(func(it rstar.Item) bool {
		record = encode(record[:0], it)
		if _, failed = buf.Write(record); failed != nil {
			return false
		}
		n++
		return true
	})
	if failed == nil {
		failed = buf.Flush()
	}
	if failed != nil {
		return n, fmt.Errorf("datasets: writing %s: %w", s.name, failed)
	}
	return n, err
}

func (l recordLayout) append(dst []byte, it rstar.Item) []byte {
	var rec [recordBytes]byte
	l.encode(rec[:], it.Rect)
	return append(dst, rec[:]...)
}

func appendCSV(dst []byte, it rstar.Item) []byte {
	dst = strconv.AppendUint(dst, it.ID, 10)
	for _, v := range [...]float64{it.Rect.MinX, it.Rect.MinY, it.Rect.MaxX, it.Rect.MaxY} {
		dst = append(dst, ',')
		dst = strconv.AppendFloat(dst, v, 'g', -1, 64)
	}
	return append(dst, '\n')
}
