package input

import (
	"fmt"
	"io"
	"sync/atomic"
)

// DefaultMemoryBytes is the default limit of what a reader may keep.
const DefaultMemoryBytes int64 = 1 << 30

const (
	// maxWayNodes bounds the nodes of one OpenStreetMap way: 8 MiB. The
	// database itself allows 2,000.
	maxWayNodes = 1 << 20
	// maxMembers bounds the members of one OpenStreetMap relation: 5 MiB. The
	// database itself allows 32,000.
	maxMembers = 1 << 17
	// MaxFeatureBytes bounds one GeoJSON feature, or any other part of a text
	// that is read in one piece. The outlines of whole countries, at full
	// resolution, take some 50 MB.
	MaxFeatureBytes = 64 << 20
)

// Budget is the memory that a reader may keep until the end of its input.
type Budget struct{ left, limit int64 }

// NewBudget returns a budget of limit bytes; 0 is DefaultMemoryBytes.
func NewBudget(limit int64) *Budget {
	if limit == 0 {
		limit = DefaultMemoryBytes
	}
	return &Budget{limit, limit}
}

// Limit returns the size of the whole budget.
func (b *Budget) Limit() int64 { return b.limit }

// Keep takes bytes from the budget; what names their use in the error.
func (b *Budget) Keep(bytes int64, what string) error {
	if bytes > b.left {
		return fmt.Errorf("%w: %s need more than %d bytes of memory; raise the limit"+
			" if that is meant (Options.MemoryBytes, --read-memory)",
			ErrTooLarge, what, b.limit)
	}
	b.left -= bytes
	return nil
}

// Counter counts the bytes that are read from R.
type Counter struct {
	R io.Reader
	N *atomic.Int64
}

func (c Counter) Read(b []byte) (int, error) {
	n, err := c.R.Read(b)
	c.N.Add(int64(n))
	return n, err
}

// ByteOrderMark may begin a text; readers skip it.
const ByteOrderMark = "\xef\xbb\xbf"
