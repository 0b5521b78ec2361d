package store

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"math/bits"
	"slices"
	"time"
	"unsafe"

	"github.com/catfish-index/catfish/feature"
)

// The first of an area by id
//
// All that is in the area is looked at, and the first by id are kept: copies of ids and
// values, one after the other in one piece of memory, which the buffer has for the next
// search. When half as many again as are wanted have come, they are sorted, those
// behind are dropped, and from then on what is behind the last one is not kept at all.
//
//	text  | id | value | id | value | id | id | ...
//	all     one entry for each, in the order in which they came
//	order   numbers of entries, by id
//
// Values are kept as far as there is room (firstBytes): a page ends by its bytes, too,
// so most of those of large features would be kept in vain. Others are read again by
// their ids when it is their turn, and judged again. One that is gone by then leaves
// its place to what was dropped: the search goes on behind the last one.

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
	last  []byte // what is not before it is not among the first; empty: not known
	cut   bool   // some were dropped
	held  int64  // bytes that are counted
}

type firstOf struct {
	at        int // in text: the id, then the value
	id, value int // lengths
	revision  uint64
	expiry    time.Duration
	now       time.Duration
}

// firstKey is an entry with the bytes of its id behind the prefix that all have.
type firstKey struct {
	word uint64
	i    int
}

// begin forgets what there was.
func (k *firsts) begin() {
	k.text, k.all, k.order, k.last, k.cut = k.text[:0], k.all[:0], k.order[:0], k.last[:0], false
}

// hold counts what it takes.
func (k *firsts) hold(b *Buffer) error {
	now := int64(cap(k.text)) + int64(cap(k.all))*int64(unsafe.Sizeof(firstOf{})) +
		int64(cap(k.order))*int64(unsafe.Sizeof(firstKey{}))
	more := now - k.held
	k.held = now
	return b.keep(more)
}

// end keeps what the next search may need, but not much.
func (k *firsts) end(b *Buffer) {
	b.drop(k.held)
	if k.held > firstBytes { // of all that it takes: the next search is charged for it
		*k = firsts{}
	}
	k.held = 0
}

func (k *firsts) id(i int) []byte {
	e := &k.all[i]
	return k.text[e.at : e.at+e.id : e.at+e.id]
}

// offer keeps a feature if it may be among the first limit.
func (k *firsts) offer(f *Found, limit int) {
	if len(k.last) > 0 && bytes.Compare(f.ID, k.last) >= 0 {
		return
	}
	e := firstOf{len(k.text), len(f.ID), noValue, f.Revision, f.Expiry, f.Now}
	k.text = append(k.text, f.ID...)
	if len(k.text)+len(f.Value) <= firstBytes {
		e.value = len(f.Value)
		k.text = append(k.text, f.Value...)
	}
	if k.all = append(k.all, e); len(k.all)-firstMore > limit && len(k.all)-limit > limit/2 {
		k.drop(limit)
	}
}

// sort makes order: the entries by id, each id once.
func (k *firsts) sort() {
	k.order = k.order[:0]
	if len(k.all) == 0 {
		return
	}
	prefix := k.id(0)
	for i := range k.all {
		for id := k.id(i); !bytes.HasPrefix(id, prefix); {
			prefix = prefix[:len(prefix)-1]
		}
	}
	for i := range k.all {
		k.order = append(k.order, firstKey{wordOf(k.id(i)[len(prefix):]), i})
	}
	if !k.sortFew() {
		slices.SortFunc(k.order, k.compare)
	}
	// One that was moved may have been met twice: it counts as it was first.
	k.order = slices.CompactFunc(k.order, func(a, b firstKey) bool { return a.word == b.word && bytes.Equal(k.id(a.i), k.id(b.i)) })
}

func (k *firsts) compare(a, b firstKey) int {
	if a.word != b.word {
		return cmp.Compare(a.word, b.word)
	}
	return cmp.Or(bytes.Compare(k.id(a.i), k.id(b.i)), a.i-b.i)
}

const (
	// fewFirsts is how many are sorted by sortFew, and fewAlike how many of them may
	// share a bucket: insertion takes as long as the square of that.
	fewFirsts = 256
	fewAlike  = 32
)

// sortFew sorts the keys of a usual page by counting how many are in which part of the
// range of words, which nearly sorts them, and inserting each where it belongs: a third
// of the time that comparisons alone take. It is not done, and nothing is changed, if
// there are too many, or too many alike.
func (k *firsts) sortFew() (done bool) {
	n := len(k.order)
	if n > fewFirsts {
		return false
	}
	low, high := k.order[0].word, k.order[0].word
	for _, o := range k.order {
		low, high = min(low, o.word), max(high, o.word)
	}
	shift := bits.Len64((high - low) >> 8)
	var ends [256]uint16
	for _, o := range k.order {
		ends[(o.word-low)>>shift]++
	}
	at := uint16(0)
	for i, in := range ends {
		if in > fewAlike {
			return false
		}
		at += in
		ends[i] = at
	}
	var sorted [fewFirsts]firstKey
	for i := n - 1; i >= 0; i-- {
		e := &ends[(k.order[i].word-low)>>shift]
		*e--
		sorted[*e] = k.order[i]
	}
	for i, o := range sorted[:n] {
		for ; i > 0 && (o.word < k.order[i-1].word || o.word == k.order[i-1].word && k.compare(o, k.order[i-1]) < 0); i-- {
			k.order[i] = k.order[i-1]
		}
		k.order[i] = o
	}
	return true
}

// wordOf are the first bytes of an id as a number: ids of different numbers are in the
// order of these.
func wordOf(id []byte) uint64 {
	if len(id) >= 8 {
		return binary.BigEndian.Uint64(id)
	}
	var b [8]byte
	copy(b[:], id)
	return binary.BigEndian.Uint64(b[:])
}

// drop leaves the first limit alone.
func (k *firsts) drop(limit int) {
	k.sort()
	if len(k.order) > limit {
		k.order, k.cut = k.order[:limit], true
		k.last = append(k.last[:0], k.id(k.order[limit-1].i)...)
	}
	slices.SortFunc(k.order, func(a, b firstKey) int { return a.i - b.i }) // as they lie in text
	end := 0
	for n, o := range k.order {
		e := k.all[o.i]
		from := k.text[e.at:][:e.id+max(0, e.value)]
		e.at = end
		end += copy(k.text[end:], from)
		k.all[n] = e
	}
	k.all, k.text = k.all[:len(k.order)], k.text[:end]
}

// found makes f the i-th entry. It is not ok if its value was not kept.
func (k *firsts) found(i int, f *Found) (ok bool, err error) {
	e := &k.all[i]
	f.ID, f.Revision, f.Expiry, f.Now, f.Distance = k.id(i), e.revision, e.expiry, e.now, 0
	if e.value == noValue {
		return false, nil
	}
	f.Value = k.text[e.at+e.id:][:e.value:e.value]
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

// firstOf is one search for the first. If it has given all but some features that are
// gone, though there are more behind the last one, it says how many, and after which id.
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
		k.offer(f, limit)
		return true, k.hold(b)
	}); err != nil {
		return 0, "", err
	}
	if k.sort(); len(k.order) > limit {
		k.order, k.cut = k.order[:limit], true
	}
	for _, o := range k.order {
		b.clock()
		if err := b.looked(); err != nil { // who writes a page takes long, too
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
	if ok, err = p.Match(f); err != nil {
		return false, fmt.Errorf("%q: %w", f.ID, err)
	}
	return ok, nil
}
