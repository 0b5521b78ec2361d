package rstar

import (
	"cmp"
	"encoding/binary"
	"math"
	"slices"
)

// All possible endings of a search of a trace (explore_test.go).

// never is the end of an outcome that cannot happen.
const never = math.MaxInt

// finds is the multiset of places at which a search found one object:
// sorted numbers of two bytes, see explorer.place.
type finds string

// ending is one possible end of a search for one object.
type ending struct {
	finds finds
	end   int // the earliest
}

// outcome is the possible endings of a search below a node, object by object.
// An object that is not in endings has only one: not found, at end.
type outcome struct {
	end     int // never: such a search always begins again
	endings map[uint64][]ending
}

func (o *outcome) of(id uint64) []ending {
	if ws, ok := o.endings[id]; ok {
		return ws
	}
	return []ending{{"", o.end}}
}

// or adds the endings of an alternative.
func (o *outcome) or(p *outcome) {
	switch {
	case p.end == never:
		return
	case o.end == never:
		*o = *p
		return
	}
	sum := map[uint64][]ending{}
	for _, m := range []map[uint64][]ending{o.endings, p.endings} {
		for id := range m {
			if sum[id] == nil {
				sum[id] = earliest(slices.Concat(o.of(id), p.of(id)))
			}
		}
	}
	o.end, o.endings = min(o.end, p.end), sum
}

// and adds the endings of a part that happens as well.
func (o *outcome) and(p *outcome) {
	if o.end == never || p.end == never {
		o.end, o.endings = never, nil
		return
	}
	sum := map[uint64][]ending{}
	for _, m := range []map[uint64][]ending{o.endings, p.endings} {
		for id := range m {
			if sum[id] != nil {
				continue
			}
			var ws []ending
			for _, a := range o.of(id) {
				for _, b := range p.of(id) {
					ws = append(ws, ending{a.finds.with(b.finds), max(a.end, b.end)})
				}
			}
			sum[id] = earliest(ws)
		}
	}
	o.end, o.endings = max(o.end, p.end), sum
}

// earliest drops endings with the same finds that are later.
func earliest(ws []ending) []ending {
	slices.SortFunc(ws, func(a, b ending) int {
		return cmp.Or(cmp.Compare(a.finds, b.finds), cmp.Compare(a.end, b.end))
	})
	return slices.CompactFunc(ws, func(a, b ending) bool { return a.finds == b.finds })
}

func (f finds) with(g finds) finds {
	if f == "" || g == "" {
		return f + g
	}
	var ps []uint16
	for b := []byte(f + g); len(b) > 0; b = b[2:] {
		ps = append(ps, binary.BigEndian.Uint16(b))
	}
	slices.Sort(ps)
	var b []byte
	for _, p := range ps {
		b = binary.BigEndian.AppendUint16(b, p)
	}
	return finds(b)
}

// explorer explores the searches of one reader for one rectangle.
type explorer struct {
	*atlas
	reader reader
	q      Rect
	memo   map[visitKey]*outcome
	broken *visitKey // a node that the reader gave up at, if it did
}

// atlas is shared by the explorers of one trace.
type atlas struct {
	c       *trace
	sights  map[sightKey][]*sight
	cut     bool // not all sights are listed
	places  []Item
	placeOf map[Item]finds
	looks   int // for the figures
}

type sightKey struct {
	reader string
	chunk  uint32
}

type visitKey struct {
	at    ref
	moves uint64
	begin int
}

func newAtlas(c *trace) *atlas {
	return &atlas{c: c, sights: map[sightKey][]*sight{}, placeOf: map[Item]finds{}}
}

func (a *atlas) sightsOf(rd *reader, chunk uint32) []*sight {
	k := sightKey{rd.name, chunk}
	s, ok := a.sights[k]
	if !ok {
		var whole bool
		s, whole = rd.sights(a.c, chunk)
		a.cut = a.cut || !whole
		a.sights[k] = s
	}
	return s
}

// place numbers a place at which an object may be found.
func (a *atlas) place(it Item) finds {
	f, ok := a.placeOf[it]
	if !ok {
		f = finds(binary.BigEndian.AppendUint16(nil, uint16(len(a.places))))
		a.places = append(a.places, it)
		a.placeOf[it] = f
	}
	return f
}

// readable reports whether a read that begins at time begin may end with s,
// or a cached copy of s be available then.
func (x *explorer) readable(s *sight, at ref, begin int) bool {
	return begin <= s.until || x.reader.cached && at.level > 0 && s.from <= begin
}

// visit returns how a search can continue that reads a node at time begin or
// later.
func (x *explorer) visit(at ref, moves uint64, begin int) *outcome {
	k := visitKey{at, moves, begin}
	if o := x.memo[k]; o != nil {
		return o
	}
	o := &outcome{end: never}
	for _, s := range x.sightsOf(&x.reader, at.chunk) {
		if !x.readable(s, at, begin) {
			continue
		}
		x.looks++
		items, refs, v := x.reader.look(x.c, s, at, moves, x.q)
		switch v {
		case nodeOK:
			p := x.leaf(items, max(begin, s.from))
			for _, r := range refs {
				p.and(x.visit(r, moves, max(begin, s.from)))
			}
			o.or(p)
		case nodeBroken:
			// An old copy may lead to any object.
			if !x.reader.cached && !x.reader.validates && x.broken == nil {
				x.broken = &k
			}
		}
	}
	switch {
	case x.reader.validates && at.level > 0:
		x.visitCached(o, at, moves, begin)
	case x.reader.validates:
		x.visitFirstLines(o, at, moves, begin)
	}
	x.memo[k] = o
	return o
}

// leaf is the outcome of a leaf's items; for an internal node, which shows none, it is
// that it was read.
func (x *explorer) leaf(items []Item, end int) *outcome {
	o := &outcome{end, map[uint64][]ending{}}
	for _, it := range items {
		f := finds("")
		if ws := o.endings[it.ID]; ws != nil {
			f = ws[0].finds
		}
		o.endings[it.ID] = []ending{{f.with(x.place(it)), end}}
	}
	return o
}

// header is one value of the tree's header that a search may begin with.
type header struct {
	root        ref
	moves       uint64
	from, until int
	repeats     bool // an earlier one has the same content
}

// headers lists the values of the header by time: its line as it was at
// some instant, under an even version.
func (c *trace) headers() (hs []header, err error) {
	for _, p := range c.lines[headerDynamic/lanes] {
		b := make([]byte, 0, HeaderBytes)
		for _, w := range slices.Concat(c.before[:lanes], p.words[:]) {
			b = binary.LittleEndian.AppendUint64(b, w)
		}
		if p.words[0]&1 != 0 {
			continue // torn
		}
		h, err := ParseHeader(b)
		if err != nil {
			return nil, err
		}
		n := header{ref{h.Root, int32(h.Height - 1)}, h.Moves, p.from, p.until, false}
		n.repeats = slices.ContainsFunc(hs, func(o header) bool {
			return o.root == n.root && o.moves == n.moves
		})
		hs = append(hs, n)
	}
	return hs, nil
}
