package replica

import (
	"errors"
	"fmt"
	"slices"
	"time"
)

// The explorer carries out all interleavings of what may happen in a small group: a
// world. Everything is asynchronous: a message, a tick, a sync, or a change of the
// config comes at any moment after it could, or never. So a pause of a member, or a
// partition of any shape, is a delay of its events, and needs no move.
//
// Time is in units. A grace is not longer than a lease, and clocks run at the same rate
// but differ by an offset. (Options.Validate has what rates may differ.)

// maxNodes is how many members a world may have.
const maxNodes = 5

// client is the only one. Its writes are numbered from 1, so that an entry is named by
// a byte: the number, or termEntryOf.
const client = 1

// termEntryOf names the first entry of a term.
func termEntryOf(term uint64) byte { return 100 + byte(term) }

func entryOf(id byte) Entry {
	if id > 100 {
		return Entry{Term: uint64(id - 100)}
	}
	return Entry{Client: client, Number: uint64(id)}
}

// limits bound what happens in a world.
type limits struct {
	nodes    int
	inSync   Set // of the config at the start; others are learners
	level    Level
	min      int
	writes   int    // different ones
	attempts int    // of each write
	crashes  int    // each may be followed by a restart
	losses   int    // frames that are lost
	moves    int    // hand-overs asked for
	failures int    // entries that a member fails to apply
	reads    int    // by readers that take three steps
	late     int    // configs that are read and come later
	terms    uint64 // of the last primary; the first is 2
	versions uint64 // of the config; it starts with 2 or more
	slow     Set    // members whose disks take time; what others write is durable at once
	trims    bool   // the primary forgets its log but for the last entry
	clean    bool   // members may be stopped in order as well
	prompt   Set    // messages from and to these take no time
	split    bool   // frames have one entry at most
	still    Set    // members that have no ticks
	lease    int
	grace    int

	without rule
	world   worldRule
}

// worldRule is a rule of readers, and of adapters, that a world leaves out.
type worldRule uint8

const (
	worldKept       worldRule = iota
	leaseAfterBegin           // a reader looks at the lease after it has begun
	sameTerm                  // and notes the term before the value
	upperBound                // and takes an upper bound of the primary's clock
	primarysClock             // which is not the reader's
	fencedBoots               // the store refuses changes of earlier boots
	cleanIfSure               // a member in doubt is not clean when it is stopped
	worldRules
)

// node is a member's process, its disk, and memory that others can read. A node that is
// part of a world does not change; a move clones it.
type node struct {
	m         *Member // nil: dead
	boots     uint64
	log       []byte
	disk      []byte
	committed uint64 // of the disk
	clean     bool   // it was stopped in order
	memory           // of this boot, or of the last one
	old       memory // of the boot before, which readers may still have mapped

	hash   uint64 // of the encoder
	hashed int    // at this time + 1
}

// memory is what one-sided readers see.
type memory struct {
	published uint64
	lease     Lease
}

// world is a state of everything.
type world struct {
	*limits
	now    int // real time
	nodes  [maxNodes]*node
	frames [maxNodes][maxNodes][]Message // from, to
	hellos [maxNodes][maxNodes]*Hello
	acks   [maxNodes][maxNodes]*Ack
	cfg    Config
	asks   [maxNodes]*Config // under way to the store
	late   [maxNodes]*Config // under way from it

	left struct{ crashes, losses, moves, failures, reads, late int8 }

	// What is remembered to judge.
	tried    [4]int8     // attempts of a write
	possible [4]int8     // those that were not refused
	acked    [4]uint64   // its revision when it was acknowledged
	seen     []byte      // the entries that any reader could have seen
	floor    uint64      // the greatest revision acknowledged or believed
	leaders  [32][2]byte // by term: member+1 and boot of its primary
	reader   reader

	wrong error

	scratch *scratch
	mine    Set // nodes that only this world has
}

// reader is a one-sided reader.
type reader struct {
	phase int8
	of    ID
	boot  uint64
	term  uint64
	floor uint64 // when it began
	value uint64
	ok    bool // it looked at the lease, which covered it
}

var errWrong = errors.New("wrong")

func (w *world) fail(format string, args ...any) {
	if w.wrong == nil {
		w.wrong = fmt.Errorf("%w: %s", errWrong, fmt.Sprintf(format, args...))
	}
}

// offsets of the clocks.
var offsets = [maxNodes]int{3000, 1000, 2000, 5000, 4000}

func (w *world) clock(id ID) time.Duration { return time.Duration(w.now + offsets[id]) }

// scratch is the memory of the world that a move is tried in. Few worlds are new, and
// only those are kept.
type scratch struct {
	world   world
	nodes   [maxNodes]node
	members [maxNodes]Member
	peers   [maxNodes][maxNodes - 1]peer
}

// try makes a move in the scratch memory.
func (s *scratch) try(w *world, mv move) *world {
	c := &s.world
	*c = *w
	c.scratch, c.mine = s, 0
	c.apply(mv)
	c.prune()
	c.judge()
	return c
}

// keep returns a copy of a world that stays.
func (w *world) keep() *world {
	c := *w
	c.scratch, c.mine = nil, 0
	for id := range ID(w.size()) {
		if w.mine.Has(id) {
			c.change(id)
		}
	}
	c.mine = 0
	return &c
}

// change returns a node that may be changed.
func (w *world) change(id ID) *node {
	n := w.nodes[id]
	if w.mine.Has(id) {
		return n
	}
	old := n
	n, m, peers := &node{}, &Member{}, []peer(nil)
	if s := w.scratch; s != nil {
		n, m, peers = &s.nodes[id], &s.members[id], s.peers[id][:0]
	}
	*n = *old
	n.hashed = 0
	if old.m != nil {
		*m = *old.m
		m.peers = append(peers, m.peers...)
		m.waiting = slices.Clip(m.waiting)
		n.m = m
	}
	w.nodes[id] = n
	w.mine = w.mine.With(id)
	return n
}

func (rs Results) clone() Results {
	c := make(Results, len(rs))
	for k, v := range rs {
		c[k] = &Client{slices.Clone(v.Writes), v.Forgotten, v.last}
	}
	return c
}
