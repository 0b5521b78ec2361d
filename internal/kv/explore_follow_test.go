package kv

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/record"
)

// The explorer makes a Map carry out a script of writes. At each moment, before and
// after each change of the index, of the follower, and of the clock, it notes where
// either index leads, and the result of a read of each record that one has ever led to.
// Readers are then tried at all moments (follow.go):
//
//	moment     0   1   2   3   4  ...
//	by id          R       read        the index, and the record
//	by area            R       read    the follower, and the record
//	kept                   read        the record alone
//	Get            R   read    R       in this process: the index twice
//
// Lines of one record are not mixed here: internal/record/explore_test.go does that.

// followOp is a step of a script.
type followOp int

const (
	followPutA  followOp = iota
	followPutB           // of another key: places are used again
	followSlowA          // the follower takes 0.7 s before it has changed, and after
	followDeleteA
	followFailA       // the follower refuses
	followFailDeleteA // in a deletion
	followWait        // 0.6 s
	followOps
)

func (o followOp) String() string {
	return [...]string{"putA", "putB", "slowA", "deleteA", "failA", "failDeleteA", "wait"}[o]
}

// followScript is the length of scripts. 7^4 take half a second.
const followScript = 4

// followMoment is the state that readers would find.
type followMoment struct {
	now      time.Duration
	index    record.Ref // 0: none
	area     record.Ref
	acked    uint64 // revision of the first key's record, 0: none
	writing  bool   // a write is in flight, which makes it:
	next     uint64
	refuses  bool // that fails
	revision []uint64
	err      []error
}

// followWorld is a Map, and its follower.
type followWorld struct {
	t       *testing.T
	clock   clock
	m       *Map
	now     followMoment
	moments []followMoment
	refs    []record.Ref // of the first key, to which the index led
	revs    []uint64
	slow    bool
	other   bool // the write in flight is of the second key
}

var (
	followKeys    = [2][]byte{[]byte("A"), []byte("B")}
	errRefuses    = errors.New("refuses")
	errNotAsTaken = errors.New("wrong")
)

// followIndex notes the changes of an index.
type followIndex struct {
	cuckoo.Index
	w *followWorld
}

func (x followIndex) change(f func() error) error {
	x.w.note()
	err := f()
	x.w.note()
	return err
}

func (x followIndex) Insert(hash, ref uint64) error {
	return x.change(func() error { x.w.learn(record.Ref(ref)); return x.Index.Insert(hash, ref) })
}

func (x followIndex) Replace(hash, old, ref uint64) error {
	return x.change(func() error { x.w.learn(record.Ref(ref)); return x.Index.Replace(hash, old, ref) })
}

func (x followIndex) Delete(hash, ref uint64) error {
	return x.change(func() error { return x.Index.Delete(hash, ref) })
}

// followMemory is the memory of the Maps, of which one exists at a time.
type followMemory struct{ index, records []byte }

func newFollowWorld(t *testing.T, mem *followMemory) *followWorld {
	clear(mem.index)
	clear(mem.records)
	w := &followWorld{t: t}
	w.clock.advance(time.Minute)
	m, err := New(Options{
		Index: mem.index, Records: mem.records, Boot: 7, Seed: 3, Now: w.clock.Now, Follow: w.follow,
	})
	if err != nil {
		t.Fatal(err)
	}
	w.m = m
	m.index = followIndex{m.index, w}
	w.note()
	return w
}

// learn remembers a reference that readers may take from now on.
func (w *followWorld) learn(ref record.Ref) {
	if w.other {
		return
	}
	v, err := w.m.heap.View(ref, nil)
	if err != nil && mutant == faithful {
		w.t.Fatal(err)
	}
	for i, r := range w.refs {
		if r == ref && (err != nil || w.revs[i] == v.Revision) {
			return // The index leads back to it.
		}
	}
	w.refs, w.revs = append(w.refs, ref), append(w.revs, v.Revision)
}

// note adds a moment.
func (w *followWorld) note() {
	n := &w.now
	n.now = w.clock.Now()
	n.index = 0
	for _, ref := range w.m.index.Lookup(nil, cuckoo.Hash(w.m.seed, followKeys[0])) {
		n.index = record.Ref(ref)
	}
	n.revision, n.err = make([]uint64, len(w.refs)), make([]error, len(w.refs))
	for i, ref := range w.refs {
		v, _, err := w.m.heap.ReadHead(ref, nil, nil)
		n.revision[i], n.err[i] = v.Revision, err
	}
	w.moments = append(w.moments, *n)
}

func (w *followWorld) pause(d time.Duration) {
	w.clock.advance(d)
	w.note()
}

// follow is the Map's follower: it knows the first key.
func (w *followWorld) follow(_, to record.Ref) error {
	if w.other {
		return nil
	}
	w.note()
	if w.slow {
		w.pause(700 * time.Millisecond)
	}
	if w.now.refuses {
		return errRefuses
	}
	w.now.area = to
	w.note()
	if w.slow {
		w.pause(700 * time.Millisecond)
	}
	return nil
}

// do makes a step.
func (w *followWorld) do(o followOp) {
	w.slow, w.other = o == followSlowA, o == followPutB
	if o == followWait {
		w.pause(600 * time.Millisecond)
		return
	}
	remove := o == followDeleteA || o == followFailDeleteA
	n := &w.now
	n.refuses = o == followFailA || o == followFailDeleteA
	key := followKeys[0]
	if w.other {
		key = followKeys[1]
	} else {
		n.writing, n.next = true, 0
		if !remove {
			n.next = w.m.revision + 1
		}
	}
	w.note()
	var err error
	if remove {
		err = w.m.Delete(key, Condition{})
	} else {
		_, err = w.m.Put(Entry{Key: key, Value: []byte("value")}, Condition{})
	}
	switch {
	case err == nil && n.writing:
		n.acked = n.next
	case err != nil && !errors.Is(err, errRefuses) && !errors.Is(err, ErrNotFound) && mutant == faithful:
		w.t.Fatal(o, err)
	}
	n.writing, n.refuses = false, false
	w.note()
}

// followCounts counts the cases that the test tried.
type followCounts struct{ reads, dead, got, kept, refused, apart, unwritten int }

// find returns the number of a reference among those that readers took.
func (w *followWorld) find(ref record.Ref, m *followMoment) int {
	for i := len(m.err) - 1; i >= 0; i-- {
		if w.refs[i] == ref {
			return i
		}
	}
	return -1
}

// verify tries all readers.
func (w *followWorld) verify(c *followCounts) error {
	for a := range w.moments {
		m := &w.moments[a]
		wrong := func(what string, args ...any) error {
			return fmt.Errorf("%w: moment %d: %s", errNotAsTaken, a, fmt.Sprintf(what, args...))
		}
		var at [2]uint64 // revisions to which the two indexes lead
		for way, ref := range []record.Ref{m.index, m.area} {
			i := -1
			if ref != 0 {
				if i = w.find(ref, m); i < 0 {
					return wrong("way %d leads to %v, which nobody wrote", way, ref)
				}
				at[way] = w.revs[i]
			}
			if at[way] != m.acked && !(m.writing && at[way] == m.next) {
				return wrong("way %d leads to revision %d; %d is acknowledged, %d under way", way, at[way], m.acked, m.next)
			}
			if ref == 0 {
				continue
			}
			again := a > 0 && w.moments[a-1].index == m.index && w.moments[a-1].area == m.area && w.moments[a-1].now == m.now
			if again { // A reader from a sees no more than one from a-1.
				continue
			}
			for j := a; j < len(w.moments) && w.moments[j].now < m.now+record.DefaultGrace; j++ {
				c.reads++
				switch err := w.moments[j].err[i]; {
				case errors.Is(err, record.ErrDead):
					c.dead++
				case err != nil:
					return wrong("way %d, the record read at moment %d, in time: %v", way, j, err)
				}
				if got := w.moments[j].revision[i]; got != w.revs[i] {
					return wrong("way %d, the record read at moment %d: revision %d, want %d", way, j, got, w.revs[i])
				}
			}
			if way == 1 {
				continue
			}
			last := a
			for k := a; k < len(w.moments); k++ {
				if w.moments[k].index == ref {
					last = k
				}
			}
			for j := a; j <= last; j++ {
				c.got++
				if err := w.moments[j].err[i]; err != nil || w.moments[j].revision[i] != w.revs[i] {
					return wrong("Get, of the record at moment %d, and the index until %d: revision %d, %v", j, last, w.moments[j].revision[i], err)
				}
			}
		}
		if m.area != 0 && m.refuses && at[1] == m.next {
			return wrong("what follows leads to a write that fails")
		}
		if at[0] != at[1] {
			if !m.writing {
				return wrong("the index leads to revision %d, what follows to %d, and no write is under way", at[0], at[1])
			}
			if c.apart++; m.refuses {
				c.unwritten++
			}
		}
		for i := range m.err {
			switch {
			case m.err[i] != nil:
				c.refused++
			case w.revs[i] != m.acked && !(m.writing && w.revs[i] == m.next):
				return wrong("a kept reference to revision %d is taken; %d is acknowledged", w.revs[i], m.acked)
			default:
				c.kept++
			}
		}
	}
	return nil
}

// exploreFollow runs all scripts of n steps, and returns the first that shows
// something wrong.
func exploreFollow(t *testing.T, n int, c *followCounts) (script []followOp, wrong error) {
	mem := &followMemory{make([]byte, 64<<10), make([]byte, 2*record.SpanBytes)}
	script = make([]followOp, n)
	for {
		w := newFollowWorld(t, mem)
		for _, o := range script {
			w.do(o)
		}
		if err := w.verify(c); err != nil {
			return script, err
		}
		i := n - 1
		for ; i >= 0; i-- {
			if script[i]++; script[i] < followOps {
				break
			}
			script[i] = 0
		}
		if i < 0 {
			return nil, nil
		}
	}
}

// TestExploreFollow: readers by either index see what follow.go promises.
func TestExploreFollow(t *testing.T) {
	var c followCounts
	if script, err := exploreFollow(t, followScript, &c); err != nil {
		t.Fatalf("%v: %v", script, err)
	}
	t.Logf("%+v", c)
	if c.reads == 0 || c.dead == 0 || c.got == 0 || c.kept == 0 || c.refused == 0 || c.apart == 0 || c.unwritten == 0 {
		t.Errorf("the test shows little: %+v", c)
	}
}
