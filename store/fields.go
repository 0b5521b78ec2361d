package store

import (
	"fmt"

	"github.com/catfish-index/catfish/feature"
)

// MaxFields bounds Query.Fields: each property is compared with each of them.
const MaxFields = 256

func checkFields(s *feature.Selection) error {
	if n := len(s.Fields); n > MaxFields {
		return fmt.Errorf("%w: %d fields, at most %d", ErrQuery, n, MaxFields)
	}
	return nil
}

// Cut leaves f with what is selected, in bytes that it appends to dst.
func (f *Found) Cut(dst []byte, s *feature.Selection) []byte {
	begin := len(dst)
	dst = f.View.AppendSelected(dst, s)
	f.Value = dst[begin:len(dst):len(dst)]
	f.View, _ = feature.Open(f.Value) // AppendSelected has made it.
	return dst
}

// cutting wraps a yield so that it gets only the selected parts.
func (b *Buffer) cutting(s *feature.Selection, yield func(*Found) (bool, error)) func(*Found) (bool, error) {
	if s.All() {
		return yield
	}
	return func(f *Found) (bool, error) {
		b.cut = f.Cut(b.cut[:0], s)
		return yield(f)
	}
}
