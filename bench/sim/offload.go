package sim

import (
	"github.com/catfish-index/catfish/internal/policy"
	"github.com/catfish-index/catfish/internal/rstar/remote"
	"github.com/catfish-index/catfish/rstar"
)

// header is the number of the slab's header among the nodes of a walk; it is
// read beside the root, or, in schemes that read one node at a time, only after a
// restart.
const header = maxNodes

// walk is one offloaded search: the nodes are those of the real search, and
// every read is posted as soon as its parent was parsed and the window has
// room.
type walk struct {
	known    []uint16 // nodes to be read, the last one first
	here     []uint16 // blocks that came and were not parsed
	posts    []uint16 // reads to be posted when the current work is done
	left     int      // nodes not parsed, the header included
	out      int      // in-flight reads
	reads    int
	bytes    float64
	repair   []uint16 // cached nodes that changed
	from     int64    // when it began, or began again
	missed   bool     // it began with nodes that were not cached
	more     bool     // heads of a leaf did not suffice
	since    int64    // time of the move counter that it relies on
	headerAt int64    // time of the move counter that it reads
	restart  bool     // a node moved: begin again when all reads are back
	restarts int
	answered bool // fast messaging: the answer has come
}

func (w *walk) over() bool  { return w.left == 0 && w.out == 0 && len(w.here) == 0 }
func (w *walk) ready() bool { return len(w.here) > 0 }

// window is the largest number of in-flight reads.
func (s *sim) window() int {
	if s.sch.Single {
		return 1
	}
	return s.cl.Tree.Window
}

// walkFrom starts a walk at the root. After a restart the header is read
// first, alone. It returns the work of posting.
func (s *sim) walkFrom(c *call, again bool) float64 {
	w := &c.walk
	c.phase = reading
	w.known, w.here, w.posts = w.known[:0], w.here[:0], w.posts[:0]
	w.left, w.restart, w.from = int(c.search.nodes), false, s.now
	w.repair = w.repair[:0]
	if !again {
		// As in package catfish: the counter that the previous walk has read.
		w.restarts, w.reads, w.bytes, w.since = 0, 0, 0, s.clients[c.client].knows
		w.known = append(w.known, 0)
	}
	if again || !s.sch.Single {
		w.known = append(w.known, header)
		w.left++
	}
	return s.issue(c)
}

// issue picks reads to post, up to the window, and returns their work.
func (s *sim) issue(c *call) float64 {
	w := &c.walk
	for window := s.window(); len(w.known) > 0 && w.out < window; w.out++ {
		last := len(w.known) - 1
		at := w.known[last]
		w.posts = append(w.posts, at)
		w.known = w.known[:last]
	}
	work := 0.0
	for _, at := range w.posts {
		if at&lineOf == 0 || s.heads(c, at) { // LineNs is paid when it comes.
			work += s.cl.Client.PostNs
		}
	}
	return work
}

// look parses all blocks that came, and returns the work: of parsing and of
// posting the next reads.
func (s *sim) look(c *call) float64 {
	w, k := &c.walk, &s.cl.Client
	work := 0.0
	for _, at := range w.here {
		w.left--
		switch {
		case s.heads(c, at):
			work += s.headsCame(c, at)
			continue
		case at&lineOf != 0:
			work += s.checked(w, at)
			continue
		}
		work += k.CompletionNs
		if at == header {
			cl := &s.clients[c.client]
			cl.knows = max(cl.knows, w.headerAt)
			if w.restarts > 0 {
				w.since = cl.knows
				work += s.root(c)
			}
			continue
		}
		n := s.node(c, at)
		work += k.NodeNs + k.LeafResultNs*float64(n.results)
		if s.sch.Cached && !n.leaf {
			work += s.store(c, at)
			continue
		}
		for i := range n.children {
			w.known = append(w.known, n.first+n.children-1-i)
		}
	}
	w.here = w.here[:0]
	if w.restart {
		return work
	}
	return work + s.issue(c)
}

// root continues a walk after a restart.
func (s *sim) root(c *call) float64 {
	if !s.sch.Cached {
		c.walk.known = append(c.walk.known, 0)
		return 0
	}
	var e policy.Estimate
	s.descend(c, 0, &e)
	return s.cl.Client.CachedNs * float64(e.Cached)
}

// post sends the reads that look and walkFrom picked.
func (s *sim) post(id uint32) {
	c := &s.calls[id]
	for _, at := range c.walk.posts {
		s.postRead(id, c, at)
	}
	c.walk.posts = c.walk.posts[:0]
}

func (s *sim) postRead(id uint32, c *call, at uint16) {
	if at&lineOf != 0 && !s.heads(c, at) {
		s.n.lines++
	} else {
		s.n.reads++
	}
	c.walk.reads++
	c.walk.bytes += s.blockBytes(c, at)
	s.n.bytes += s.blockBytes(c, at)
	out := s.machines[c.machine].card.start(s.now, readRequestBytes)
	s.schedule(ns(out)+int64(s.latency), evRead, id, at)
}

// readRequestBytes is the extended transport header of a read request:
// address, key and length (InfiniBand specification 1.4, section 9.3.3).
const readRequestBytes = 16

func (s *sim) blockBytes(c *call, at uint16) float64 {
	switch {
	case at == header:
		return rstar.HeaderBytes
	case s.heads(c, at):
		return float64(s.headBytes())
	case at&lineOf != 0:
		return rstar.LineBytes
	}
	return float64(s.cl.Tree.BlockBytes)
}

// read: a read is at the server's card, which answers without a core.
func (s *sim) read(id uint32, at uint16) {
	c := &s.calls[id]
	k := evBlock
	switch {
	case at == header:
		s.writer.settle(s)
		c.walk.headerAt = s.now
	case at&lineOf != 0 && !s.heads(c, at):
		k = s.stateOfLine(c, at)
	default:
		k = s.writer.state(s, s.node(c, at&^lineOf).chunk, c.walk.since)
	}
	card := &s.host(c).card
	done := card.serve(s.now, readRequestBytes)
	s.schedule(ns(card.reply(done, s.blockBytes(c, at)))+int64(s.latency), k, id, at)
}

// block: a block is at the client's card.
func (s *sim) block(id uint32, at uint16, k kind) {
	k += evHere - evBlock
	t := ns(s.machines[s.calls[id].machine].card.receive(s.now, s.blockBytes(&s.calls[id], at)))
	if t > s.now {
		s.schedule(t, k, id, at)
		return
	}
	s.here(id, at, k)
}

// here: a block is in the client's memory.
func (s *sim) here(id uint32, at uint16, k kind) {
	c := &s.calls[id]
	w := &c.walk
	switch {
	case k == evHereTorn && !w.restart:
		// The poller sees it and posts it again at once; the work of one more
		// read is too small to show here.
		s.n.torn++
		s.postRead(id, c, at)
		return
	case k == evHereMoved:
		w.restart = true
	case k == evHereStale:
		w.repair = append(w.repair, at&^lineOf)
	}
	w.out--
	if w.restart {
		// No new read is posted; in-flight reads drain.
		if w.out == 0 && c.place != running {
			s.wake(id)
		}
		return
	}
	w.here = append(w.here, at)
	s.wake(id)
}

// again restarts a search after a move, or gives up offloading it.
func (s *sim) again(id uint32) {
	c := &s.calls[id]
	s.n.restarts++
	c.walk.restarts++
	takes := 0.0
	if c.walk.restarts > remote.MaxRestarts {
		s.n.fellBack++
		takes = s.send(c)
	} else {
		takes = s.walkFrom(c, true)
	}
	c.place = running
	s.n.clientNs += takes
	s.schedule(s.now+ns(takes), evRan, id, 0)
}

// writer is the tree's only writer, at the server.
type writer struct {
	free      float64 // when its last queued insert will be done
	jobs      []job   // queued inserts, the oldest at first
	first     int
	movedAt   []int64 // by chunk: when it was last part of a move
	changedAt []int64 // by chunk: when it was last written; nil if not needed
}

// job is one insert: its nodes are inconsistent from one time to another.
type job struct {
	from, to int64
	insert   int32
}

// hold queues an insert for the writer now; it returns its duration, waiting
// included.
func (w *writer) hold(s *sim, in int32) float64 {
	now, takes := float64(s.now), s.cl.Server.InsertNs
	begin := max(w.free, now)
	w.free = begin + takes
	s.n.writerNs += takes
	if w.first == len(w.jobs) {
		w.jobs, w.first = w.jobs[:0], 0
	} else if w.first > 64 && 2*w.first > len(w.jobs) {
		w.jobs = w.jobs[:copy(w.jobs, w.jobs[w.first:])]
		w.first = 0
	}
	w.jobs = append(w.jobs, job{ns(w.free - s.cl.Server.PublishNs), ns(w.free), in})
	return w.free - now
}

// settle records the moves of finished inserts.
func (w *writer) settle(s *sim) {
	for w.first < len(w.jobs) && w.jobs[w.first].to <= s.now {
		j := &w.jobs[w.first]
		w.first++
		in := &s.w.inserts[j.insert]
		for _, c := range s.w.changes[in.first : in.first+in.moved] {
			w.movedAt[c] = j.to
		}
		if w.changedAt != nil {
			for _, c := range s.w.changes[in.first : in.first+in.nodes] {
				w.changedAt[c] = j.to
			}
		}
	}
}

// state is the result of a read of a node that may have been written meanwhile.
func (w *writer) state(s *sim, chunk uint32, since int64) kind {
	if len(w.jobs) == 0 {
		return evBlock
	}
	w.settle(s)
	if w.first < len(w.jobs) {
		if j := &w.jobs[w.first]; j.from <= s.now {
			in := &s.w.inserts[j.insert]
			for _, c := range s.w.changes[in.first : in.first+in.nodes] {
				if c == chunk {
					return evTorn
				}
			}
		}
	}
	if w.movedAt[chunk] > since {
		return evMoved
	}
	return evBlock
}

// tripsOf returns the round trips of a finished offloaded search: its levels, its
// single reads, or those left with cached nodes.
func (s *sim) tripsOf(c *call) uint64 {
	if s.sch.Single {
		return uint64(c.walk.reads)
	}
	if s.sch.Cached {
		n := 1 + 2*c.walk.restarts // Each reads the header alone.
		if len(c.walk.repair) > 0 {
			n++
		}
		if c.walk.missed {
			n++ // One level, as a rule.
		}
		if c.walk.more {
			n++
		}
		return uint64(n)
	}
	return uint64(s.host(c).w.Height * (1 + c.walk.restarts))
}
