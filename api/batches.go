package api

import (
	"sync"

	"google.golang.org/grpc/mem"
)

// batches are buffers of answers.
var batches batchPool

var _ mem.BufferPool = (*batchPool)(nil)

// batchPool has buffers of two sizes, soonBytes and poolBytes. It does not clear
// them: they are written before they are read. gRPC's own pool clears each buffer
// that it gives, which takes 0.8 us if the buffer is not in a cache.
type batchPool struct{ soon, full sync.Pool }

// Get returns a buffer of length bytes with any content.
func (p *batchPool) Get(length int) *[]byte {
	pool, size := &p.soon, soonBytes
	if length > soonBytes {
		pool, size = &p.full, max(length, poolBytes)
	}
	if b, ok := pool.Get().(*[]byte); ok && cap(*b) >= length {
		*b = (*b)[:length]
		return b
	}
	b := make([]byte, length, size)
	return &b
}

// Put takes a buffer, and drops a large one, of an answer with one large feature.
func (p *batchPool) Put(b *[]byte) {
	switch n := cap(*b); {
	case n > 2*poolBytes:
	case n >= poolBytes:
		p.full.Put(b)
	case n >= soonBytes:
		p.soon.Put(b)
	}
}
