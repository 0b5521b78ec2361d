package places

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"fmt"
	"io"
	"math/bits"

	"github.com/catfish-index/catfish/internal/places/input"
)

// FlatGeobuf 3 (https://flatgeobuf.org; schemas header.fbs and feature.fbs)
//
//	+-------+------+--------+----------------+------+---------+------+--
//	| magic | u32  | Header | packed R-tree, | u32  | Feature | u32  | ...
//	| 8 B   | size |        | if there is one| size |         | size |
//	+-------+------+--------+----------------+------+---------+------+--
//
//	Header    2 geometry type (u8)   7 columns   8 number of features (u64)
//	          9 node size of the tree (u16, absent: 16, 0: no tree)   10 CRS
//	Column    0 name   1 type (u8)
//	Feature   0 geometry   1 properties (bytes)   2 columns, if its own
//	Geometry  0 ends (u32 each)   1 xy (f64 each)   2 z (f64 each)   6 type (u8)   7 parts
//
// The reader skips the tree: it serves to read parts of a file. A feature has no
// id of its own.

var fgbMagic = []byte("fgb\x03fgb")

const (
	fgbMagicBytes = 8 // the last is a patch level
	fgbNodeBytes  = 40
	// maxFGBHeader bounds the header: 65,536 columns, the most that a
	// feature can name, at 64 bytes each.
	maxFGBHeader = 4 << 20
)

type fgbSource struct {
	in      *bufio.Reader
	id      string
	offset  int64 // of the next object
	start   int64 // of the current feature
	columns []fgbColumn
	kind    int // geometry type of all features, 0: each has its own
	buf     bytes.Buffer
	text    []byte // reused
}

func newFlatGeobuf(in *bufio.Reader, id string, anyCRS bool) (*fgbSource, error) {
	s := &fgbSource{in: in, id: id, offset: fgbMagicBytes}
	var magic [fgbMagicBytes]byte
	if _, err := io.ReadFull(in, magic[:]); err != nil || !bytes.HasPrefix(magic[:], fgbMagic) {
		return nil, fmt.Errorf("%w: a file that begins with %q, want %q",
			input.ErrSyntax, magic[:], fgbMagic)
	}
	b, err := s.sized(maxFGBHeader)
	if err == io.EOF {
		err = fmt.Errorf("%w: no FlatGeobuf header", input.ErrTruncated)
	}
	if err != nil {
		return nil, err
	}
	f := &flat{b: bytes.Clone(b)}
	header := f.root()
	s.kind = f.u8(header, 2)
	s.columns = f.columns(f.vector(header, 7, 4))
	if crs := f.crs(header); f.err == nil && !anyCRS && crs != "" && !isWGS84(crs) {
		return nil, foreignCRS(crs)
	}
	nodes, err := f.treeNodes(header)
	if err != nil {
		return nil, err
	}
	if err := s.skip(nodes); err != nil {
		return nil, err
	}
	return s, nil
}

// treeNodes returns the number of the tree's nodes: one for each feature, and
// above each level one per node size of its nodes, up to a single root.
func (f *flat) treeNodes(header table) (nodes uint64, err error) {
	count, size := uint64(0), uint64(16)
	if at := f.field(header, 8); at != 0 {
		if b := f.bytes(at, 8); b != nil {
			count = binary.LittleEndian.Uint64(b)
		}
	}
	if at := f.field(header, 9); at != 0 {
		size = uint64(f.u16(at))
	}
	if f.err != nil || size == 0 || count == 0 {
		return 0, f.err
	}
	if size == 1 || bits.Len64(count) > 40 {
		return 0, fmt.Errorf("%w: FlatGeobuf: %d features in a tree of node size %d",
			input.ErrSyntax, count, size)
	}
	for nodes = count; count > 1 || nodes == 1; nodes += count {
		count = (count + size - 1) / size
	}
	return nodes, nil
}

func (s *fgbSource) skip(nodes uint64) error {
	n, err := io.CopyN(io.Discard, s.in, fgbNodeBytes*int64(nodes))
	s.offset += n
	if err == io.EOF {
		err = fmt.Errorf("%w: the tree has %d bytes of %d", input.ErrTruncated,
			n, fgbNodeBytes*nodes)
	}
	return err
}

// sized reads an object after its size; the result is valid until the next call. The
// buffer grows with the bytes that arrive, not with the claimed size.
func (s *fgbSource) sized(most int64) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(s.in, size[:]); err == io.ErrUnexpectedEOF {
		return nil, fmt.Errorf("%w: within the size of an object", input.ErrTruncated)
	} else if err != nil {
		return nil, err
	}
	n := int64(binary.LittleEndian.Uint32(size[:]))
	if n > most {
		return nil, fmt.Errorf("%w: an object of %d bytes, want at most %d",
			input.ErrTooLarge, n, most)
	}
	s.buf.Reset()
	got, err := io.CopyN(&s.buf, s.in, n)
	if err == io.EOF {
		err = fmt.Errorf("%w: an object has %d bytes of %d", input.ErrTruncated, got, n)
	}
	s.offset += int64(len(size)) + got
	return s.buf.Bytes(), err
}

func (s *fgbSource) next() (Place, error) {
	s.start = s.offset
	b, err := s.sized(maxRecordBytes)
	if err == io.EOF {
		return Place{}, err
	}
	if err != nil {
		return Place{}, finalAt(0, s.start, err)
	}
	p, err := s.place(&flat{b: b})
	if err != nil {
		return Place{}, badAt(0, s.start, err)
	}
	return p, nil
}

func (s *fgbSource) at() (line, offset int64) { return 0, s.start }

func (s *fgbSource) place(f *flat) (p Place, err error) {
	feature := f.root()
	if g, ok := f.child(feature, 0); ok {
		made := f.geometry(g, s.kind, 0)
		if f.err != nil {
			return p, f.err
		}
		if err = p.set(made, &f.to); err != nil {
			return p, err
		}
	}
	columns := s.columns
	if f.field(feature, 2) != 0 {
		columns = f.columns(f.vector(feature, 2, 4))
	}
	p.Properties = s.properties(f, f.text(feature, 1), columns)
	if f.err != nil {
		return p, f.err
	}
	if s.id != "" {
		p.ID, err = propertyID(p.Properties, s.id)
	}
	return p, err
}
