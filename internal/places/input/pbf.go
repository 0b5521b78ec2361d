package input

import (
	"bytes"
	"compress/zlib"
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	"google.golang.org/protobuf/encoding/protowire"
)

// OpenStreetMap PBF, the container
// (https://wiki.openstreetmap.org/wiki/PBF_Format)
//
//	+--------+------------+------+--------+------------+------+--
//	| uint32 | BlobHeader | Blob | uint32 | BlobHeader | Blob | ...
//	+--------+------------+------+--------+------------+------+--
//	 big-endian: size of the BlobHeader
//
//	BlobHeader  1 type (string)  3 datasize (int32): size of the Blob
//	Blob        1 raw (bytes)    2 raw_size (int32)  3 zlib_data (bytes)
//
// The first blob has type OSMHeader, all others OSMData; osmblock.go decodes
// their content. The container is decoded here, with protowire, not by
// github.com/paulmach/osm/osmpbf. That package panics, in its own goroutines
// where no recover reaches it, on the content of a broken file (negative sizes,
// string indices out of range, nodes outside dense groups); takes a file cut
// between two parts of a frame for a complete one; and links a C library for
// zlib. Only ids, positions and one tag are needed here: little of the format.

// Limits of the format: "must be less than".
const (
	maxBlobHeaderBytes = 64 << 10
	maxBlobBytes       = 32 << 20
)

type pbfReader struct {
	r    io.Reader
	next int64 // offset of the next frame
	buf  bytes.Buffer
	raw  bytes.Buffer
	zlib io.ReadCloser
}

// frame returns the type and the content of the next blob, valid until
// the next call; io.EOF at the end of the file.
func (p *pbfReader) frame() (kind string, data []byte, err error) {
	var size [4]byte
	if _, err := io.ReadFull(p.r, size[:]); err != nil {
		if errors.Is(err, io.ErrUnexpectedEOF) {
			err = fmt.Errorf("%w: within the size of a blob header", ErrTruncated)
		}
		return "", nil, err
	}
	n := int64(binary.BigEndian.Uint32(size[:]))
	header, err := p.read(n, maxBlobHeaderBytes, "blob header")
	if err != nil {
		return "", nil, err
	}
	p.next += int64(len(size)) + n
	blobBytes := int64(-1)
	err = eachField(header, func(f protoField) error {
		switch f.number {
		case 1:
			kind = string(f.bytes)
			return f.want(protowire.BytesType)
		case 3:
			blobBytes = int64(int32(f.varint))
			return f.want(protowire.VarintType)
		}
		return nil
	})
	if err != nil {
		return "", nil, err
	}
	blob, err := p.read(blobBytes, maxBlobBytes, "blob")
	if err != nil {
		return "", nil, err
	}
	p.next += blobBytes
	data, err = p.unpack(blob)
	return kind, data, err
}

// read returns n bytes, n in [0, limit), valid until the next call.
func (p *pbfReader) read(n, limit int64, what string) ([]byte, error) {
	if n < 0 || n >= limit {
		return nil, fmt.Errorf("%w: %s of %d bytes, want 0 to %d",
			ErrSyntax, what, n, limit-1)
	}
	// The buffer grows with the bytes that arrive, not with the claimed size.
	p.buf.Reset()
	got, err := io.CopyN(&p.buf, p.r, n)
	if err == io.EOF {
		err = fmt.Errorf("%w: %s has %d bytes of %d", ErrTruncated, what, got, n)
	}
	return p.buf.Bytes(), err
}

// unpack returns the content of a Blob.
func (p *pbfReader) unpack(blob []byte) (data []byte, err error) {
	rawSize := int64(-1)
	var packed []byte
	err = eachField(blob, func(f protoField) error {
		switch f.number {
		case 1:
			data = f.bytes
			return f.want(protowire.BytesType)
		case 2:
			rawSize = int64(int32(f.varint))
			return f.want(protowire.VarintType)
		case 3:
			packed = f.bytes
			return f.want(protowire.BytesType)
		case 4, 5, 6, 7:
			return fmt.Errorf("%w: a blob packed by %s, want zlib or none",
				ErrUnsupported, [...]string{"lzma", "bzip2", "lz4", "zstd"}[f.number-4])
		}
		return nil
	})
	switch {
	case err != nil || data != nil:
		return data, err
	case packed == nil:
		return nil, fmt.Errorf("%w: a blob without data", ErrSyntax)
	case rawSize < 0 || rawSize >= maxBlobBytes:
		return nil, fmt.Errorf("%w: unpacked blob of %d bytes, want 0 to %d",
			ErrSyntax, rawSize, maxBlobBytes-1)
	}
	if p.zlib == nil {
		p.zlib, err = zlib.NewReader(bytes.NewReader(packed))
	} else {
		err = p.zlib.(zlib.Resetter).Reset(bytes.NewReader(packed), nil)
	}
	if err != nil {
		return nil, fmt.Errorf("%w: zlib: %w", ErrSyntax, err)
	}
	p.raw.Reset()
	// One byte more than allowed shows that the content is too long.
	n, err := p.raw.ReadFrom(io.LimitReader(p.zlib, rawSize+1))
	if err != nil {
		return nil, fmt.Errorf("%w: zlib: %w", ErrSyntax, err)
	}
	if n != rawSize {
		return nil, fmt.Errorf("%w: a blob unpacks to %d bytes or more, want %d",
			ErrSyntax, n, rawSize)
	}
	return p.raw.Bytes(), nil
}

// protoField is one field of a protobuf message; varint or bytes is set
// by its type.
type protoField struct {
	number protowire.Number
	wire   protowire.Type
	varint uint64
	bytes  []byte
}

func (f protoField) want(t protowire.Type) error {
	if f.wire != t {
		return fmt.Errorf("%w: field %d has protobuf wire type %d, want %d",
			ErrSyntax, f.number, f.wire, t)
	}
	return nil
}

// eachField iterates over a message. Bytes are not copied.
func eachField(b []byte, each func(protoField) error) error {
	for len(b) > 0 {
		number, wire, n := protowire.ConsumeTag(b)
		if n < 0 {
			return protoError(n)
		}
		b = b[n:]
		f := protoField{number: number, wire: wire}
		switch wire {
		case protowire.VarintType:
			f.varint, n = protowire.ConsumeVarint(b)
		case protowire.BytesType:
			f.bytes, n = protowire.ConsumeBytes(b)
		default:
			n = protowire.ConsumeFieldValue(number, wire, b)
		}
		if n < 0 {
			return protoError(n)
		}
		b = b[n:]
		if err := each(f); err != nil {
			return err
		}
	}
	return nil
}

func protoError(code int) error {
	return fmt.Errorf("%w: protobuf: %w", ErrSyntax, protowire.ParseError(code))
}

// packedInts is a packed repeated field that is read one by one.
type packedInts []byte

func (v *packedInts) next() (uint64, error) {
	x, n := protowire.ConsumeVarint(*v)
	if n < 0 {
		return 0, protoError(n)
	}
	*v = (*v)[n:]
	return x, nil
}

// zigzag is next for sint64.
func (v *packedInts) zigzag() (int64, error) {
	x, err := v.next()
	return protowire.DecodeZigZag(x), err
}
