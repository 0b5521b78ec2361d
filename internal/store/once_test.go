package store

import (
	"errors"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/rstar"
)

// named makes a write of each kind that may have a name, and returns the answers.
func named(t *testing.T, st *Store, as Name) (answers []string) {
	t.Helper()
	ended := make(chan string, 1)
	say := func(format string, args ...any) { ended <- fmt.Sprintf(format, args...) }
	next := func() Name { as.Number++; return as }
	wait := func() { answers = append(answers, <-ended) }
	put := func(id string, cond kv.Condition, expires time.Duration) {
		t.Helper()
		c, err := st.Collection("f")
		if err != nil {
			t.Fatal(err)
		}
		id, value, err := query.Encode(query.Feature{ID: id, Geometry: orb.Point{1, 2}}, c.Options().Space)
		if err != nil {
			t.Fatal(err)
		}
		var w Writes
		w.PutAs(next(), c, id, value, int64(expires), cond, func(r uint64, replaced bool, err error) { say("put %d %v %v", r, replaced, err) })
		w.Submit()
		wait()
	}
	_, err := st.Create("f", Spec{As: next()})
	answers = append(answers, fmt.Sprint("create ", err))
	e, err := st.Create("b", Spec{Kind: KindBoxes, Keep: true, As: next()})
	if err != nil {
		t.Fatal(err)
	}
	put("a", kv.Condition{IfAbsent: true}, 0)
	put("a", kv.Condition{}, 0)
	put("old", kv.Condition{}, time.Nanosecond) // expires at once
	put("old", kv.Condition{IfAbsent: true}, 0)
	c, err := st.Collection("f")
	if err != nil {
		t.Fatal(err)
	}
	said := func(r uint64, err error) { say("%d %v", r, err) }
	c.PatchAs(next(), "a", []byte(`{"n":1}`), kv.Condition{}, said)
	wait()
	c.DeleteAs(next(), "a", kv.Condition{}, said)
	wait()
	box := rstar.Rect{MaxX: 1, MaxY: 1}
	moved := rstar.Rect{MaxX: 2, MaxY: 1}
	e.Boxes.InsertAs(next(), []rstar.Item{{Rect: box, ID: 1}, {Rect: box, ID: 1}, {Rect: box, ID: 2}}, func(n int, err error) { say("insert %d %v", n, err) })
	wait()
	e.Boxes.UpdateAs(next(), box, moved, 1, func(found bool, err error) { say("update %v %v", found, err) })
	wait()
	e.Boxes.DeleteAs(next(), box, 2, func(found bool, err error) { say("delete %v %v", found, err) })
	wait()
	if _, err := st.Create("gone", Spec{As: next()}); err != nil && !errors.Is(err, ErrUnknownCollection) {
		t.Fatal(err)
	}
	ok, err := st.DropAs(next(), "gone", func(*Entry) error { return nil })
	answers = append(answers, fmt.Sprintf("drop %v %v", ok, err))
	return answers
}

// A write that is repeated is answered as the first time, and made once: at the same
// primary, at another one that has applied the log, and after a restart.
func TestRepeatedWritesAreMadeOnce(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "data")
	primary, log := member(t, dir), leading()
	primary.Replicate(log)
	as := Name{Client: 7, After: primary.Revision()}
	want := named(t, primary, as)
	first, has := primary.Revision(), contents(t, primary)
	if want[2] == want[3] || len(has) < 5 {
		t.Fatalf("answers %q, contents %q", want, has)
	}
	secondary := member(t, t.TempDir())
	if err := secondary.Apply(log.all); err != nil {
		t.Fatal(err)
	}
	secondary.Replicate(leading())
	as.Again = true
	check := func(at string, st *Store) {
		t.Helper()
		if got := named(t, st, as); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%s answers\n%q, want\n%q", at, got, want)
		}
		if got := contents(t, st); st.Revision() != first || fmt.Sprint(got) != fmt.Sprint(has) {
			t.Errorf("%s is at revision %d, want %d, and has\n%q, want\n%q", at, st.Revision(), first, got, has)
		}
	}
	check("the same primary", primary)
	check("the next primary", secondary)
	if err := primary.Close(); err != nil {
		t.Fatal(err)
	}
	again := member(t, dir)
	again.Replicate(leading())
	check("after a restart", again)
	as.Client++
	if named(t, again, as); again.Revision() == first {
		t.Error("another client's writes were taken for repeated ones")
	}
}

// Requests of one write that are in the same batch are one write.
func TestRepeatedInABatch(t *testing.T) {
	st := member(t, t.TempDir())
	st.Replicate(leading())
	c, err := st.CreateFeatures("f", CollectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	id, value, err := query.Encode(query.Feature{ID: "a", Geometry: orb.Point{1, 2}}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i, cond := range []kv.Condition{{IfAbsent: true}, {}, {IfAbsent: true}} {
		before, answers := st.Revision(), make(chan string, 2)
		var w Writes
		for range 2 {
			w.PutAs(Name{Client: 1, Number: uint64(i), After: before}, c, id, value, 0, cond, func(r uint64, replaced bool, err error) {
				answers <- fmt.Sprint(r, replaced, err)
			})
		}
		w.Submit()
		if a, b := <-answers, <-answers; a != b {
			t.Errorf("write %d: %s and %s", i, a, b)
		}
		if made := st.Revision() - before; made != []uint64{1, 1, 0}[i] {
			t.Errorf("write %d was made %d times", i, made)
		}
	}
}

// A write whose first request comes after its repetition was refused is not made.
func TestLateFirstRequest(t *testing.T) {
	st := member(t, t.TempDir())
	st.Replicate(leading())
	e, err := st.Create("b", Spec{Kind: KindBoxes, Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	box, as := rstar.Rect{MaxX: 1, MaxY: 1}, Name{Client: 1, Number: 1}
	remove := func(as Name) bool {
		ok, err := await(func(done func(bool, error)) { e.Boxes.DeleteAs(as, box, 1, done) })
		if err != nil {
			t.Fatal(err)
		}
		return ok
	}
	again := as
	again.Again = true
	if remove(again) {
		t.Error("a box that is not there was removed")
	}
	if err := e.Boxes.Insert(box, 1); err != nil {
		t.Fatal(err)
	}
	if remove(as) || e.Tree.Len() != 1 {
		t.Error("the first request was carried out after its repetition had found nothing")
	}
}

// What the table has forgotten is not made again: the outcome is unknown, or the client has
// to name a later revision.
func TestForgottenNames(t *testing.T) {
	o := newOnce(10, 2)
	entry := func(number, revision uint64) disk.Entry {
		return disk.Entry{Kind: disk.Put, Client: 1, Number: number, Revision: revision}
	}
	find := func(number, after uint64) string {
		is, found, known := o.find(&Name{Client: 1, Number: number, After: after})
		return fmt.Sprint(is.revision, found, known)
	}
	for _, c := range []struct {
		number, after uint64
		want          string
	}{{1, 10, "0 false true"}, {1, 9, "0 false false"}} {
		if got := find(c.number, c.after); got != c.want {
			t.Errorf("empty: write %d after %d is %s, want %s", c.number, c.after, got, c.want)
		}
	}
	o.add([]disk.Entry{entry(1, 11), {Kind: disk.Put, Revision: 12}, entry(2, 13), entry(3, 15), entry(4, 16)})
	for _, c := range []struct {
		number, after uint64
		want          string
	}{{4, 0, "16 true true"}, {3, 14, "15 true true"}, {2, 12, "0 false false"}, {9, 13, "0 false true"}, {9, 12, "0 false false"}} {
		if got := find(c.number, c.after); got != c.want {
			t.Errorf("write %d after %d is %s, want %s", c.number, c.after, got, c.want)
		}
	}
	if len(o.of) != 2 || len(o.order) != 2 {
		t.Errorf("%d names in memory, %d in order, want 2", len(o.of), len(o.order))
	}
	st := member(t, t.TempDir())
	st.Replicate(leading())
	st.once = newOnce(st.Revision()+1, 2)
	if _, err := st.Create("f", Spec{As: Name{Client: 1, Number: 1, After: st.Revision()}}); !errors.Is(err, fault.ErrBusy) {
		t.Errorf("a write that may have been forgotten: %v", err)
	}
}

// A write that could not be carried out, and was taken back, fails also when it is repeated.
func TestUndoneWriteIsRepeated(t *testing.T) {
	st := member(t, t.TempDir())
	st.Replicate(leading())
	c, err := st.CreateFeatures("f", CollectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	put := func(id string) *write {
		_, value, err := query.Encode(Feature{ID: id}, 0)
		if err != nil {
			t.Fatal(err)
		}
		return &write{coll: c, kind: disk.Put, id: id, key: []byte(id), value: value, done: func(uint64, error) {}}
	}
	as := Name{Client: 1, Number: 1}
	fails, other := put("x"), put("y")
	fails.as = as
	other.patch = func(*Found) ([]byte, error) { // When the first was staged.
		err := fails.discard()
		fails.ref = 1 // of no record
		return other.value, err
	}
	if _, _, err := c.Put(t.Context(), Feature{ID: "y"}, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	batch := []*write{fails, other}
	if err := st.runAlone(func() error { st.commitBatch(batch); return nil }); err != nil {
		t.Fatal(err)
	}
	if fails.err == nil || other.err != nil {
		t.Fatalf("%v, %v", fails.err, other.err)
	}
	as.Again = true
	again := put("x")
	again.as = as
	if err := st.runAlone(func() error { st.commitBatch([]*write{again}); return nil }); err != nil {
		t.Fatal(err)
	}
	if again.err == nil || c.Len() != 1 {
		t.Errorf("%v, %d features", again.err, c.Len())
	}
}
