package query

import (
	"fmt"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature"
)

// MaxFields bounds Query.Fields: each property is compared with each of them.
const MaxFields = 256

func checkFields(s *feature.Selection) error {
	if n := len(s.Fields); n > MaxFields {
		return fmt.Errorf("%w: %d fields, at most %d", fault.ErrQuery, n, MaxFields)
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
