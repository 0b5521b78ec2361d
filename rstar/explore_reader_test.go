package rstar

import (
	"errors"
	"slices"
	"unsafe"
)

// The readers of the explorer (explore_test.go): the bytes with which a read of one
// node may end, and the result of the real code for them.

// sight is one content with which a read of a node may end, if the read
// begins at time until or before; it ends at from or later.
type sight struct {
	from, until int
	words       node
	header      node     // local: the header line, as open saw it
	lines       []*piece // remote: the pieces that words is made of
}

// nodeBroken: the reader gives up with an error. It extends those of
// search.go.
const nodeBroken verdict = 100

// reader is one of the ways to read nodes.
type reader struct {
	name string
	// sights lists what reads of a chunk may end with. whole is false if
	// there were too many to list.
	sights func(c *trace, chunk uint32) (s []*sight, whole bool)
	// look validates a sight and returns what it shows of q.
	look func(c *trace, s *sight, at ref, moves uint64, q Rect) ([]Item, []ref, verdict)
	// stale: the header may be one read before the search began.
	stale bool
	// cached: internal nodes may be ones read before the search began.
	cached bool
	// validates: internal nodes may be cached, but the node's line is read,
	// too, and children may be read at the same time
	// (explore_cached_test.go).
	validates bool
}

var (
	remoteReader = reader{name: "remote", sights: remoteSights, look: remoteLook, stale: true}
	localReader  = reader{name: "local", sights: localSights, look: localLook}
	// cachingReader breaks the protocol: it caches internal nodes and does
	// not validate them when it uses them again.
	cachingReader = reader{name: "caching", sights: remoteSights, look: remoteLook, stale: true, cached: true}
	// validatingReader caches them as validate.go says.
	validatingReader = reader{name: "validating", sights: remoteSights, look: remoteLook, stale: true, validates: true}
)

// maxSights bounds the contents of one version of one node. Under the
// protocol there are two at most, the second because of id bounds; a broken
// protocol has many, of which a few are enough.
const maxSights = 1 << 8

// remoteSights: every line as it was at some instant, all with one even
// version. (ViewNode rejects all others as torn, TestViewNode.)
func remoteSights(c *trace, chunk uint32) (all []*sight, whole bool) {
	return lineSights(c.nodeLines(chunk))
}

func lineSights(ls [][]piece) (all []*sight, whole bool) {
	whole = true
	var seen []uint64
	for i := range ls[0] {
		v := ls[0][i].words[0]
		if v&1 != 0 || slices.Contains(seen, v) {
			continue
		}
		seen = append(seen, v)
		made := 0
		pick := make([]*piece, 0, len(ls))
		var product func(l int)
		product = func(l int) {
			if l == len(ls) {
				if made++; made > maxSights {
					whole = false
					return
				}
				all = append(all, assemble(pick))
				return
			}
			for j := range ls[l] {
				if p := &ls[l][j]; p.words[0] == v && made <= maxSights {
					pick = append(pick, p)
					product(l + 1)
					pick = pick[:l]
				}
			}
		}
		product(0)
	}
	return all, whole
}

func assemble(pick []*piece) *sight {
	s := &sight{until: pick[0].until, lines: slices.Clone(pick)}
	for _, p := range pick {
		s.from, s.until = max(s.from, p.from), min(s.until, p.until)
		s.words = append(s.words, p.words[:]...)
	}
	return s
}

func remoteLook(c *trace, s *sight, at ref, moves uint64, q Rect) (items []Item, refs []ref, v verdict) {
	// SAFETY: words of a node are its bytes; no goroutine writes them any more.
	b := unsafe.Slice((*byte)(unsafe.Pointer(&s.words[0])), len(s.words)*8)
	n, err := ViewNode(b, at.chunk, int(at.level), moves)
	switch {
	case errors.Is(err, ErrMoved):
		return nil, nil, nodeMoved
	case errors.Is(err, ErrTorn):
		return nil, nil, nodeBusy
	case err != nil:
		return nil, nil, nodeBroken
	}
	for _, i := range n.AppendHits(nil, q) {
		if n.Leaf() {
			items = append(items, Item{n.Rect(int(i)), n.Ref(int(i))})
			continue
		}
		child := n.Ref(int(i))
		if child == 0 || child >= uint64(c.chunks()) {
			return nil, nil, nodeBroken
		}
		refs = append(refs, ref{uint32(child), at.level - 1})
	}
	return items, refs, nodeOK
}

// localSights: the header line's version stays even and the same; level,
// count and stamp are loaded at one instant of that time, everything else at
// one not earlier. Under the protocol nothing but id bounds changes in that
// time, so that instants are enough for words read one by one; whole says
// whether that was so.
func localSights(c *trace, chunk uint32) (all []*sight, whole bool) {
	whole = true
	var run []*sight // contents while the header line's version lasts
	flush := func() {
		var headers []sight // the same, cut where the header line changes
		for _, s := range run {
			if n := len(headers); n > 0 && sameHeader(headers[n-1].words, s.words) {
				headers[n-1].until = s.until
			} else {
				headers = append(headers, *s)
			}
			whole = whole && sameButIDs(run[0].words, s.words)
		}
		for _, h := range headers {
			for _, s := range run {
				if s.until >= h.from {
					all = append(all, &sight{
						from: max(h.from, s.from), until: min(h.until, s.until),
						words: s.words, header: h.words,
					})
				}
			}
		}
		run = nil
	}
	for s := range snapshots(c, chunk) {
		if len(run) > 0 && run[0].words[0] != s.words[0] {
			flush()
		}
		if s.words[0]&1 == 0 {
			run = append(run, s)
		}
	}
	flush()
	return all, whole
}

// snapshots yields the contents of a node, from change to change of its data lanes or
// of its header line's version.
func snapshots(c *trace, chunk uint32) func(yield func(*sight) bool) {
	return func(yield func(*sight) bool) {
		first := int(chunk) * c.tree.nodeWords
		now := node(slices.Clone(c.before[first:][:c.tree.nodeWords]))
		from := 0
		for i, s := range c.stores {
			w := s.word - first
			if w < 0 || w >= len(now) || now[w] == s.value {
				continue
			}
			if w == 0 || w%lanes != 0 {
				if !yield(&sight{from: from, until: i, words: slices.Clone(now)}) {
					return
				}
				from = i + 1
			}
			now[w] = s.value
		}
		yield(&sight{from: from, until: c.end, words: now})
	}
}

func sameHeader(a, b node) bool {
	return a[laneMeta] == b[laneMeta] && a[laneStamp] == b[laneStamp]
}

func sameButIDs(a, b node) bool {
	for i := range a {
		if a[i] != b[i] && i%lanes != 0 && i != laneMinID && i != laneMaxID {
			return false
		}
	}
	return true
}

func localLook(c *trace, s *sight, at ref, moves uint64, q Rect) (items []Item, refs []ref, v verdict) {
	version, count, v := c.tree.open(&s.header[0], at, moves)
	if v != nodeOK {
		return nil, nil, v
	}
	var m masks
	n := &s.words[0]
	if at.level == 0 {
		m.scanLeaf(n, count, &q)
		items = m.appendItems(nil, n, c.tree.groups, &q)
	} else {
		m.scanInner(n, count, &q)
		refs = m.appendRefs(nil, n, at.level-1)
	}
	if !unchanged(n, version) {
		return nil, nil, nodeBusy
	}
	for _, r := range refs {
		if r.chunk == 0 || r.chunk >= c.chunks() {
			return nil, nil, nodeBroken
		}
	}
	return items, refs, nodeOK
}
