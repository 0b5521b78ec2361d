package record

import (
	"bytes"
	"errors"
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
// for records of two lines.

// op is a step of a script.
type op int

const (
	grantA op = iota // a lease on the first key's record
	putA             // insert or update it
	putB             // the second key's
	slowA            // an update of the first key that takes 1.5 s
	deleteA
	wait  // 0.7 s
	wait3 // 3 s
	ops
)

func (o op) String() string {
	return [...]string{"grantA", "putA", "putB", "slowA", "deleteA", "wait", "wait3"}[o]
}

// moment is the state after a step.
type moment struct {
	now   time.Duration
	lines [exploredPlaces][2][LineBytes]byte
	index Ref // of the first key, 0: none
	acked uint64
	// lease, if not 0, was granted on granted in this moment.
	lease   time.Duration
	granted Ref
	indexed *written // the records to which index leads
	leased  *written // the record to which granted leads
}

const exploredPlaces = 6 // the first ones of the class, which are used first

// written describes the write for which a reference was given out.
type written struct {
	ref        Ref
	key, value []byte
	revision   uint64
	replaced   uint64 // revision of the write that replaced it, 0: none
}

type world struct {
	t       *testing.T
	h       *Heap
	now     time.Duration
	same    bool // all values are equal
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

func newWorld(t *testing.T, slab []byte, same bool) *world {
	clear(slab[:SpanBytes+(exploredPlaces+2)*2*LineBytes])
	h, err := New(Options{Memory: slab, Boot: testBoot})
	if err != nil {
		t.Fatal(err)
	}
	w := &world{t: t, h: h, same: same, refs: map[Ref]*written{}, quiet: true}
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
	if w.same {
		value = make([]byte, 8)
	}
	ref, err := w.h.Put(Record{Key: exploredKeys[k], Value: value, Revision: w.rev}, w.now)
	if err != nil {
		w.t.Fatal(err)
	}
	w.refs[ref] = &written{ref: ref, key: exploredKeys[k], value: value, revision: w.rev}
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
	}
}

// explored counts cases, to show that the test tries all kinds.
type explored struct {
	onlyInTime bool // try no late readers

	readers, taken, dead, refused, late int
	torn, reused                        int
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
			case v.Revision != want.revision || !bytes.Equal(v.Key, want.key) || !bytes.Equal(v.Value, want.value):
				return what("another record")
			case !byIndex && want.replaced != 0 && posted.acked >= want.replaced:
				return what("an acknowledged write is missed")
			}
		}
	}
	return nil
}

// scriptOps is the length of scripts. 7^5 scripts take some seconds.
const scriptOps = 5

// exploreAll runs every script of n steps, and returns the first that shows
// something wrong.
func exploreAll(t *testing.T, n int, same bool, c *explored) (script []op, wrong error) {
	slab := slabOf(2)
	script = make([]op, n)
	for {
		w := newWorld(t, slab, same)
		for _, o := range script {
			w.do(o)
		}
		if err := w.verify(c); err != nil {
			return script, err
		}
		i := n - 1
		for ; i >= 0; i-- {
			if script[i]++; script[i] < ops {
				break
			}
			script[i] = 0
		}
		if i < 0 {
			return nil, nil
		}
	}
}

// TestExplore: no reader takes a wrong record, and none that is in time is refused.
func TestExplore(t *testing.T) {
	n := scriptOps
	if raceEnabled {
		n -= 2 // nothing here is concurrent
	}
	for _, same := range []bool{false, true} {
		var c explored
		if script, err := exploreAll(t, n, same, &c); err != nil {
			t.Fatalf("%v: %v", script, err)
		}
		t.Logf("%+v", c)
		if c.taken == 0 || c.dead == 0 || c.refused == 0 || c.torn == 0 || c.reused == 0 || c.late == 0 {
			t.Errorf("the test shows little: %+v", c)
		}
	}
}
