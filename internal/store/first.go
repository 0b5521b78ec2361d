package store

import (
	"bytes"
	"errors"
	"math"
	"time"
	"unsafe"

	"github.com/catfish-index/catfish/internal/feature"
)

// The first of an area by id
//
// A search looks at all features of the area, and keeps the first by id: copies of ids
// and values, consecutive in one piece of memory, which the buffer keeps for the next
// search. When half as many again as are wanted have come, they are sorted, those past
// the limit are dropped, and from then on ids after the last one are not kept at all.
//
//	text  | id | value | id | value | id | id | ...
//	all     one entry for each, in the order in which they came
//	order   numbers of entries, by id
//
// Values are kept as far as there is room (firstBytes): a page ends by its bytes, too,
// so most values of large features would be kept for nothing. Others are read again by
// their ids when they are given, and judged again. A feature that was deleted by then
// leaves its place to those that were dropped: the search continues after the last one.

const (
	// firstBytes is up to how much text values are kept: some 5,000 places.
	firstBytes = 1 << 20
	// firstMore is how many more than wanted are kept at least before they are sorted.
	firstMore = 16
	// noValue is the length of a value that is not kept.
	noValue = -1
)

// firsts are the first by id of what was offered.
type firsts struct {
	text  []byte
	all   []firstOf
	order []firstKey
	spare []firstKey // for sorting
	last  []byte     // ids from here on are not among the first; empty: not known
	cut   bool       // some were dropped
	held  int64      // bytes that are counted
}

type firstOf struct {
	at        int   // in text: the id, then the value
	id, value int32 // lengths
	stays     bool  // while others are dropped
	revision  uint64
	expiry    time.Duration
	now       time.Duration
}

// begin forgets all entries.
func (k *firsts) begin() {
	k.text, k.all, k.order, k.last, k.cut = k.text[:0], k.all[:0], k.order[:0], k.last[:0], false
}

// hold counts the memory that k takes.
func (k *firsts) hold(b *Buffer) error {
	now := int64(cap(k.text)) + int64(cap(k.all))*int64(unsafe.Sizeof(firstOf{})) +
		int64(cap(k.order)+cap(k.spare))*int64(unsafe.Sizeof(firstKey{}))
	more := now - k.held
	k.held = now
	return b.keep(more)
}

// end keeps memory that the next search may need, but not much.
func (k *firsts) end(b *Buffer) {
	b.drop(k.held)
	if k.held > firstBytes { // of all that it takes: the next search is charged for it
		*k = firsts{}
	}
	k.held = 0
}

func (k *firsts) id(i int) []byte {
	e := &k.all[i]
	end := e.at + int(e.id)
	return k.text[e.at:end:end]
}

// offer keeps a feature if it may be among the first limit. The error is why the
// search must end.
func (k *firsts) offer(f *Found, limit int, b *Buffer) error {
	if len(k.last) > 0 && bytes.Compare(f.ID, k.last) >= 0 {
		return nil
	}
	e := firstOf{at: len(k.text), id: int32(len(f.ID)), value: noValue, revision: f.Revision, expiry: f.Expiry, now: f.Now}
	k.text = append(k.text, f.ID...)
	if len(k.text)+len(f.Value) <= firstBytes {
		e.value = int32(len(f.Value))
		k.text = append(k.text, f.Value...)
	}
	if k.all = append(k.all, e); len(k.all)-firstMore > limit && len(k.all)-limit > limit/2 {
		return k.drop(limit, b)
	}
	return k.hold(b)
}

// drop keeps only the first limit entries.
func (k *firsts) drop(limit int, b *Buffer) error {
	if err := k.sort(b); err != nil {
		return err
	}
	if len(k.order) > limit {
		k.order, k.cut = k.order[:limit], true
		k.last = append(k.last[:0], k.id(k.order[limit-1].i)...)
	}
	if err := b.blocks(len(k.order), func(i int) { k.all[k.order[i].i].stays = true }); err != nil {
		return err
	}
	n, end := 0, 0
	err := b.blocks(len(k.all), func(i int) {
		e := k.all[i]
		if !e.stays {
			return
		}
		from := k.text[e.at:][:e.id+max(0, e.value)]
		e.at, e.stays = end, false
		end += copy(k.text[end:], from)
		k.all[n] = e
		n++
	})
	k.all, k.text = k.all[:n], k.text[:end]
	return err
}

// found makes f the i-th entry. It is not ok if its value was not kept.
func (k *firsts) found(i int, f *Found) (ok bool, err error) {
	e := &k.all[i]
	f.ID, f.Revision, f.Expiry, f.Now, f.Distance = k.id(i), e.revision, e.expiry, e.now, 0
	if e.value == noValue {
		return false, nil
	}
	f.Value = k.text[e.at+int(e.id):][:e.value:e.value]
	f.View, err = feature.Open(f.Value)
	return true, err
}

// first finds the first of an area by id.
func (c *Collection) first(p *Prepared, b *Buffer, yield func(*Found) (bool, error)) error {
	b.Matched = 0
	if p.Limit == 0 && b.Budget == 0 && !p.Count {
		return c.byID(p, b, yield)
	}
	gone, after, err := c.set.firstOf(p, b, yield)
	switch {
	case errors.Is(err, errByKeys):
		return c.byID(p, b, yield)
	case err != nil || gone == 0:
		return err
	}
	q, matched := *p, b.Matched
	q.After, q.Limit, q.Count = after, gone, false
	err = c.first(&q, b, yield)
	b.Matched = matched
	return err
}

// errByKeys: the way through the ids is shorter (byKeys). Nothing was given yet.
var errByKeys = errors.New("by keys")

// firstOf is one search for the first. If it has given all except some features that
// were deleted, and more follow the last one, it returns their number, and the last id.
func (s *set) firstOf(p *Prepared, b *Buffer, yield func(*Found) (bool, error)) (gone int, after string, err error) {
	search, err := s.begin(p, b)
	defer search.end(b)
	if err != nil {
		return 0, "", err
	}
	if b.Budget == 0 && !p.Count && s.byKeys(p, search) {
		return 0, "", errByKeys
	}
	k := &b.first
	k.begin()
	defer k.end(b)
	limit := p.Limit
	if limit == 0 {
		limit = math.MaxInt
	}
	if err := s.carryOut(search, p, 0, b, func(f *Found) (bool, error) {
		if p.Count {
			b.Matched++
		}
		if p.After != "" && string(f.ID) <= p.After {
			return true, nil
		}
		return true, k.offer(f, limit, b)
	}); err != nil {
		return 0, "", err
	}
	if err := k.sort(b); err != nil {
		return 0, "", err
	}
	if len(k.order) > limit {
		k.order, k.cut = k.order[:limit], true
	}
	for _, o := range k.order {
		b.clock()
		if err := b.looked(); err != nil { // writing a page takes long, too
			return 0, "", err
		}
		ok, err := k.found(o.i, &b.found)
		if !ok && err == nil {
			ok, err = s.again(p, k.id(o.i), b)
			if !ok && k.cut {
				gone, after = gone+1, string(k.id(k.order[len(k.order)-1].i))
			}
		}
		more := true
		if ok && err == nil {
			more, err = yield(&b.found)
		}
		if !more || err != nil {
			return 0, "", err
		}
	}
	return gone, after, nil
}

// again reads a feature that has matched, and judges it again. It is then in b.found.
func (s *set) again(p *Prepared, id []byte, b *Buffer) (ok bool, err error) {
	f, err := s.get(id, b, b.clock())
	if f == nil || err != nil {
		return false, err
	}
	return b.match(p, f)
}
