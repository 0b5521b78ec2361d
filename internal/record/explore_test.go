package record

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"testing"
	"time"
)

// The explorer lets a writer carry out a script on a heap with one span, and
// keeps the first two lines of the places that readers are interested in
// after each store. Readers are then tried at all moments:
//
//	moment     0   1   2   3   4  ...   one for each store, and for each
//	                                    change of index, clock, or ack
//	reader         |       |   |
//	               |       |   line 0     in any order
//	               |       line 1
//	               takes the reference (from the index, or by a lease)
//
// Readers are tried only where the script could have led them, so this is exhaustive
// for records of two lines. explore_long_test.go has a first key whose value is in blocks.

// op is a step of a script.
type op int

const (
	grantA op = iota // a lease on the first key's record
	putA             // insert or update it
	putB             // the second key's
	slowA            // an update of the first key that takes 1.5 s
	deleteA
	wait      // 0.7 s
	wait3     // 3 s
	moveA     // Compact moves the first key's record, of a long one the head
	moveBlock // and of a long one its first block
)

func (o op) String() string {
	return [...]string{"grantA", "putA", "putB", "slowA", "deleteA", "wait", "wait3", "moveA", "moveBlock"}[o]
}

// mode is what is explored.
type mode struct {
	ops   []op
	steps int  // length of the scripts: some seconds for each mode
	same  bool // all values are equal
	long  bool // the first key's value is in two blocks
}

var (
	plainOps = []op{grantA, putA, putB, slowA, deleteA, wait, wait3}
	modes    = []mode{
		{ops: plainOps, steps: 5},
		{ops: plainOps, steps: 5, same: true},
		{ops: append(plainOps[:len(plainOps):len(plainOps)], moveA), steps: 4},
		{ops: []op{grantA, putA, deleteA, wait3, moveA, moveBlock}, steps: 5, long: true},
	}
)

// moment is the state after a step.
type moment struct {
	now   time.Duration
	lines [exploredPlaces][2][LineBytes]byte
	block [exploredBlocks][LineBytes]byte // of long records
	index Ref                             // of the first key, 0: none
	acked uint64
	// lease, if not 0, was granted on granted in this moment.
	lease   time.Duration
	granted Ref
	indexed *written // the records to which index leads
	leased  *written // the record to which granted leads
}

const (
	exploredPlaces = 6 // the first ones of the class, which are used first
	exploredBlocks = 12
)

// written describes the write for which a reference was given out, perhaps after it was moved.
type written struct {
	ref Ref
	*state
}

// state is what a write made of a key.
type state struct {
	key, value []byte
	revision   uint64
	replaced   uint64 // revision of the write that replaced it, 0: none
}

type world struct {
	t       *testing.T
	h       *Heap
	now     time.Duration
	mode    mode
	rev     uint64
	acked   uint64
	index   [2]Ref
	refs    map[Ref]*written // the last write for which each was given out
	first   *written
	moments []moment
	quiet   bool
}

// Two keys that differ in the second line only: the header and their common prefix fill
// the first.
var exploredKeys = [2][]byte{
	[]byte("the beginning of both is shared.AAAAAAAA"),
	[]byte("the beginning of both is shared.BBBBBBBB"),
}

func newWorld(t *testing.T, slab []byte, m mode) *world {
	clear(slab[:SpanBytes+(exploredPlaces+2)*2*LineBytes])
	clear(slab[blockSpan:][:exploredBlocks*LineBytes])
	h, err := New(Options{Memory: slab, Boot: testBoot})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, h: h, mode: m, refs: map[Ref]*written{}, quiet: true}
	// A popular record: the next lease on it is 4 s.
	w.put(0, 0)
	w.first = w.refs[w.index[0]]
	w.now = 100 * time.Second
	for range 3 {
		h.Grant(w.index[0], w.now)
	}
	w.now += 2500 * time.Millisecond
	w.quiet = false
	h.onStore = func() { w.note() }
	w.note()
	return w
}

// note adds a moment.
func (w *world) note() *moment {
	if w.quiet {
		return &moment{}
	}
	m := moment{now: w.now, index: w.index[0], indexed: w.refs[w.index[0]], acked: w.acked}
	for p := range m.lines {
		for l := range m.lines[p] {
			at := SpanBytes + (2*p+l)*LineBytes
			copy(m.lines[p][l][:], w.h.slab[at:])
		}
	}
	for b := range m.block {
		copy(m.block[b][:], w.h.slab[blockSpan+b*LineBytes:])
	}
	w.moments = append(w.moments, m)
	return &w.moments[len(w.moments)-1]
}

func (w *world) advance(d time.Duration) { w.now += d; w.note() }

func (w *world) kill(ref Ref) {
	if ref != 0 {
		if err := w.h.Kill(ref, w.now); err != nil {
			w.t.Fatal(err)
		}
	}
}

// put inserts or updates a key. pause passes between the index and the kill.
func (w *world) put(k int, pause time.Duration) {
	w.h.Reclaim(w.now, 10)
	w.rev++
	value := bytes.Repeat([]byte{byte(w.rev)}, 8)
	if w.mode.same {
		value = make([]byte, 8)
	}
	r := Record{Key: exploredKeys[k], Value: value, Revision: w.rev}
	ref := Ref(0)
	if w.mode.long && k == 0 {
		ref = w.putLong(&r)
	} else {
		var err error
		if ref, err = w.h.Put(r, w.now); err != nil {
			w.t.Fatal(err)
		}
	}
	w.refs[ref] = &written{ref, &state{key: r.Key, value: r.Value, revision: w.rev}}
	w.replace(k, ref, pause)
}

// replace is steps 5 to 7 of readers.go.
func (w *world) replace(k int, ref Ref, pause time.Duration) {
	old := w.index[k]
	if r := w.refs[old]; r != nil {
		r.replaced = w.rev
	}
	let := func() { w.index[k] = ref; w.note() }
	ack := func() { w.acked = w.rev; w.note() }
	stop := func() {
		if pause > 0 {
			w.advance(pause)
		}
	}
	switch mutant {
	case killEarly:
		w.kill(old)
		stop()
		let()
		ack()
	case ackEarly:
		let()
		stop()
		ack()
		w.kill(old)
	default:
		let()
		stop()
		w.kill(old)
		ack()
	}
}

func (w *world) do(o op) {
	switch o {
	case grantA:
		ref := w.index[0]
		if mutant == deadGranted { // a client that still holds the reference asks
			ref = w.first.ref
		}
		if ref == 0 {
			return
		}
		d := w.h.Grant(ref, w.now)
		m := w.note()
		m.lease, m.granted, m.leased = d, ref, w.refs[ref]
	case putA:
		w.put(0, 0)
	case putB:
		w.put(1, 0)
	case slowA:
		w.put(0, 1500*time.Millisecond)
	case deleteA:
		if w.index[0] != 0 {
			w.rev++
			w.replace(0, 0, 0)
		}
	case wait:
		w.advance(700 * time.Millisecond)
	case wait3:
		w.advance(3 * time.Second)
	case moveA, moveBlock:
		w.move(o)
	}
}

// explored counts cases, to show that the test tries all kinds.
type explored struct {
	onlyInTime bool // try no late readers

	readers, taken, dead, refused, late int
	torn, reused                        int
	blocks, blocksRefused               int
}

// verify tries all readers on a script that has run. It returns the first error.
func (w *world) verify(c *explored) error {
	for a := range w.moments {
		m := &w.moments[a]
		if err := w.whole(m); err != nil {
			return err
		}
		if m.index != 0 && (a == 0 || w.moments[a-1].index != m.index || w.moments[a-1].now != m.now) {
			// By the index; later moments with the same index and time show the reader
			// nothing else, and less.
			if err := w.readers(a, m.indexed, m.now+DefaultGrace, true, c); err != nil {
				return err
			}
		}
		if m.lease > 0 {
			if err := w.readers(a, m.leased, m.now+m.lease, false, c); err != nil {
				return err
			}
		}
	}
	return nil
}

// whole checks that living records are whole: a reader of one instant never finds half
// a record alive.
func (w *world) whole(m *moment) error {
	for p := range m.lines {
		g := guard(word(m.lines[p][0][:], 0))
		if !g.alive() {
			continue
		}
		b := append(m.lines[p][0][:], m.lines[p][1][:]...)
		ref := makeRef(spanLines+uint64(2*p), 2, g.generation())
		if v, err := w.h.space.Parse(ref, b, nil); err != nil {
			return fmt.Errorf("place %d is alive and reads as %+v, %v", p, v, err)
		}
	}
	return nil
}

// readers tries all readers that took a reference at moment a. The read is posted at
// any moment from a on, and is in time if it ends before end.
func (w *world) readers(a int, want *written, end time.Duration, byIndex bool, c *explored) error {
	ref := want.ref
	p := int(ref.place()-spanLines) / 2
	// Lines seldom change: only moments that differ count.
	var at [2][]int
	for l := range at {
		for i := a; i < len(w.moments); i++ {
			if i == a || w.moments[i].lines[p][l] != w.moments[i-1].lines[p][l] || w.moments[i].now != w.moments[i-1].now ||
				w.moments[i].acked != w.moments[i-1].acked {
				at[l] = append(at[l], i)
			}
		}
	}
	var b [2 * LineBytes]byte
	from := len(w.moments) // when a reader first has the references of a long record's blocks
	var refs View
	for _, i := range at[0] {
		for _, j := range at[1] {
			c.readers++
			copy(b[:LineBytes], w.moments[i].lines[p][0][:])
			copy(b[LineBytes:], w.moments[j].lines[p][1][:])
			inTime := w.moments[max(i, j)].now < end
			if c.onlyInTime && !inTime {
				continue
			}
			key := want.key
			if byIndex {
				key = nil // a tree does not know the key
			}
			v, err := w.h.space.Parse(ref, b[:], key)
			dead := errors.Is(err, ErrDead)
			switch {
			case dead:
				c.dead++
			case err == nil:
				c.taken++
			case errors.Is(err, ErrTorn):
				c.torn++
			case errors.Is(err, ErrReused):
				c.reused++
			}
			if !inTime {
				c.late++
			}
			// The read was posted at the first of its moments at the latest.
			posted := &w.moments[min(i, j)]
			what := func(s string) error {
				return fmt.Errorf("%s: reference to revision %d taken at moment %d, by the index: %v, lines of %d and %d, in time: %v: %+v, %v",
					s, want.revision, a, byIndex, i, j, inTime, v, err)
			}
			accepted := err == nil || dead && (byIndex || mutant == deadAccepted)
			switch {
			case !accepted && !dead && inTime:
				return what("refused in time")
			case !accepted:
				c.refused++
			case v.Revision != want.revision || !bytes.Equal(v.Key, want.key) || !w.mode.long && !bytes.Equal(v.Value, want.value):
				return what("another record")
			case !byIndex && want.replaced != 0 && posted.acked >= want.replaced:
				return what("an acknowledged write is missed")
			}
			if v.Blocks() > 0 && max(i, j) < from {
				from = max(i, j)
				refs = v
				refs.refs = bytes.Clone(v.refs)
			}
		}
	}
	if from < len(w.moments) {
		if err := w.blockReaders(from, &refs, want, end, c); err != nil {
			return fmt.Errorf("reference to revision %d taken at moment %d, by the index: %v: %w", want.revision, a, byIndex, err)
		}
	}
	return nil
}

// exploreAll runs every script of n steps, and returns the first that shows
// something wrong.
func exploreAll(t *testing.T, n int, m mode, c *explored) (script []op, wrong error) {
	slab := slabOf(3)
	script = make([]op, n)
	at := make([]int, n) // in m.ops
	for {
		w := newWorld(t, slab, m)
		for i := range script {
			script[i] = m.ops[at[i]]
			w.do(script[i])
		}
		if err := w.verify(c); err != nil {
			return script, err
		}
		i := n - 1
		for ; i >= 0; i-- {
			if at[i]++; at[i] < len(m.ops) {
				break
			}
			at[i] = 0
		}
		if i < 0 {
			return nil, nil
		}
	}
}

var long = flag.Bool("long", false, "TestExplore: scripts of all steps in each mode")

// TestExplore: no reader takes a wrong record, and none that is in time is refused.
func TestExplore(t *testing.T) {
	for _, m := range modes {
		n := m.steps
		switch {
		case raceEnabled:
			n -= 2 // nothing here is concurrent
		case !*long && (m.same || m.long):
			n--
		}
		var c explored
		if script, err := exploreAll(t, n, m, &c); err != nil {
			t.Fatalf("%v: %v", script, err)
		}
		t.Logf("%+v", c)
		if m.long && (c.blocks == 0 || c.blocksRefused == 0) {
			t.Errorf("blocks: the test shows little: %+v", c)
		}
		if c.taken == 0 || c.dead == 0 || c.refused == 0 || c.torn == 0 || c.reused == 0 || c.late == 0 {
			t.Errorf("the test shows little: %+v", c)
		}
	}
}
