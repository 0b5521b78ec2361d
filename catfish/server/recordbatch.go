package server

import (
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/internal/wire"
)

// recordScratch has the buffers that a service needs for requests about records.
//
// Keys are looked up together, so that their waits for memory overlap: the keys of a
// get, or of the gets that a worker finds in one turn.
type recordScratch struct {
	many  kv.ManyBuffer
	keys  [][]byte
	asks  []bool      // by key: the client wants a lease
	coll  *collection // of this run
	yield func(i int, v record.View, ref record.Ref, err error) bool
	scan  kv.ScanBuffer

	out  []byte // the found of each key, with its value
	ends []int  // where in out the answer for each key ends
	most int    // bytes after which keys are not answered any more
	// large is the first key's value if it exceeds mostValue, 0: it does not.
	// Then no key is answered.
	large int
	err   error
	first int // index in ends of this run's first key

	batch getBatch

	refs   []record.Ref // of a renewal
	leases []time.Duration
}

// begin resets the keys. It is called before add.
func (r *recordScratch) begin(most int) {
	r.keys, r.asks, r.most = r.keys[:0], r.asks[:0], most
}

func (r *recordScratch) add(key []byte, asks bool) {
	r.keys, r.asks = append(r.keys, key), append(r.asks, asks)
}

// reset forgets the answers.
func (r *recordScratch) reset() { r.out, r.ends, r.large, r.err = r.out[:0], r.ends[:0], 0, nil }

// runMore gets the keys that were added, and appends their answers to out.
func (r *recordScratch) runMore(c *collection) error {
	if r.yield == nil {
		r.yield = r.take // once, since a method value allocates
	}
	r.first, r.coll = len(r.ends), c
	r.many.LongestValue = wire.MostValue
	c.Records.GetMany(r.keys, &r.many, r.yield)
	for i := 0; r.err == nil && i < len(r.keys); i++ {
		r.err = c.MayRead(r.keys[i])
	}
	for none := (wire.Found{ValueBytes: wire.Unanswered}); r.err == nil && len(r.ends)-r.first < len(r.keys); {
		r.out = none.Append(r.out)
		r.ends = append(r.ends, len(r.out))
	}
	clear(r.keys)
	r.coll = nil
	return r.err
}

// take receives records, in the order of the keys, until out holds enough.
func (r *recordScratch) take(i int, v record.View, ref record.Ref, err error) (more bool) {
	var f wire.Found
	switch {
	case errors.Is(err, kv.ErrNotFound):
	case err != nil:
		r.err = err
		return false
	case v.ValueBytes > wire.MostValue:
		if len(r.ends) == r.first {
			r.large = v.ValueBytes
		}
		return false // The value is answered alone.
	default:
		f = foundOf(&v)
		if r.asks[i] && len(v.Key)+v.ValueBytes < ref.Bytes() { // not a value in blocks, which is no single read
			r.grant(&f, ref)
		}
	}
	r.out = f.Append(r.out)
	if f.Revision != 0 {
		r.out = append(r.out, v.Value...)
	}
	r.ends = append(r.ends, len(r.out))
	return len(r.out) <= r.most
}

// grant gives a lease on the record that was found, unless it has died since. It counts the
// get as a renewal counts reads.
func (r *recordScratch) grant(f *wire.Found, ref record.Ref) {
	r.refs = append(r.refs[:0], ref)
	r.leases = r.coll.Records.Grant(r.refs, r.leases[:0])
	f.Lease, f.Ref = r.leases[0], ref
}

// of returns the answer for key i.
func (r *recordScratch) of(i int) []byte {
	if i == 0 {
		return r.out[:r.ends[0]]
	}
	return r.out[r.ends[i-1]:r.ends[i]]
}

// answered reports whether key i is answered.
func (r *recordScratch) answered(i int) bool {
	b := r.of(i)
	return len(b) > wire.FoundBytes || wire.GetFound(b).ValueBytes != wire.Unanswered
}

// answer carries out a get.
func (r *recordScratch) answer(c *collection, n uint32, asks bool, p, out []byte) (_ []byte, err error) {
	if n == 0 || n > wire.MaxKeys {
		return out, fmt.Errorf("%w: get of %d keys, want 1 to %d", model.ErrProtocol, n, wire.MaxKeys)
	}
	r.reset()
	r.begin(wire.ManyBytes)
	for range n {
		var key []byte
		if key, p, err = wire.CutKey(p); err != nil {
			return out, err
		}
		r.add(key, asks)
	}
	if len(p) > 0 {
		return out, fmt.Errorf("%w: get of %d keys with %d bytes behind them", model.ErrProtocol, n, len(p))
	}
	if err := r.runMore(c); err != nil {
		return out, err
	}
	return append(out, r.out...), nil
}
