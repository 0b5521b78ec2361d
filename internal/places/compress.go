package places

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"

	"github.com/klauspost/compress/gzip"
	"github.com/klauspost/compress/zstd"

	"github.com/catfish-index/catfish/internal/places/input"
)

// The first bytes of packed input that is unpacked here (RFC 1952, RFC 8878),
// and of other packed formats, which users must unpack before.
var (
	gzipMagic = []byte{0x1f, 0x8b}
	zstdMagic = []byte{0x28, 0xb5, 0x2f, 0xfd}
	others    = []struct {
		magic []byte
		name  string
	}{
		{[]byte("BZh"), "bzip2"}, {[]byte("\xfd7zXZ"), "xz"},
	}
)

// maxWindow is the most memory that zstd may request: the default limit of its
// own program.
const maxWindow = 128 << 20

// unpack returns a reader of the content of a gzip or zstd file; it returns any
// other input unchanged. done, unless nil, must be called at the end.
func unpack(in *bufio.Reader) (plain *bufio.Reader, done func() error, err error) {
	head, err := in.Peek(6)
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	switch {
	case bytes.HasPrefix(head, gzipMagic):
		z, err := gzip.NewReader(in)
		if err != nil {
			return nil, nil, fmt.Errorf("%w: gzip: %w", input.ErrSyntax, err)
		}
		return bufio.NewReaderSize(unpackErrors{z, "gzip"}, bufferBytes), z.Close, nil
	case bytes.HasPrefix(head, zstdMagic):
		// One at a time: no goroutines, and no memory for blocks ahead.
		z, err := zstd.NewReader(in, zstd.WithDecoderConcurrency(1),
			zstd.WithDecoderLowmem(true), zstd.WithDecoderMaxWindow(maxWindow))
		if err != nil {
			return nil, nil, fmt.Errorf("%w: zstd: %w", input.ErrSyntax, err)
		}
		done := func() error { z.Close(); return nil }
		return bufio.NewReaderSize(unpackErrors{z, "zstd"}, bufferBytes), done, nil
	}
	for _, o := range others {
		if bytes.HasPrefix(head, o.magic) {
			return nil, nil, notUnpacked(o.name)
		}
	}
	return in, nil, nil
}

func notUnpacked(what string) error {
	return fmt.Errorf("%w: %s; unpack it first: gzip and zstd are read as they are",
		input.ErrUnsupported, what)
}

// unpackErrors gives errors of unpacking a kind.
type unpackErrors struct {
	r    io.Reader
	name string
}

func (u unpackErrors) Read(b []byte) (int, error) {
	n, err := u.r.Read(b)
	switch {
	case err == nil, err == io.EOF:
		return n, err
	case errors.Is(err, io.ErrUnexpectedEOF):
		return n, fmt.Errorf("%w: %s", input.ErrTruncated, u.name)
	}
	return n, fmt.Errorf("%w: %s: %w", input.ErrSyntax, u.name, err)
}
