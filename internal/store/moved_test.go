package store

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"path/filepath"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/rstar"
)

// halves are the slots of a store that has the even ones.
func halves() (s Slots) {
	s.Epoch = 1
	for slot := uint16(0); slot < placement.Slots; slot += 2 {
		s.Owned.Add(slot)
	}
	return s
}

func place(t *testing.T, n int) []byte {
	t.Helper()
	value, err := (&Feature{ID: "a", Geometry: orb.Point{float64(n % 180), 1}, Properties: fmt.Appendf(nil, `{"n":%d}`, n)}).Encode(0)
	if err != nil {
		t.Fatal(err)
	}
	return value
}

// moveSome copies states of others' slots, some twice, and drops some of the slots again.
// It writes ids of the store's own meanwhile.
func moveSome(t *testing.T, st *Store, s Slots, rng *rand.Rand, c *Collection) {
	t.Helper()
	for i := range 60 {
		var states []MovedState
		var some SlotSet
		for n := range 8 {
			id := fmt.Appendf(nil, "id %d", rng.IntN(100))
			if s.Owned.has(id) {
				if _, _, err := c.Put(t.Context(), Feature{ID: string(id), Geometry: orb.Point{1, 1}}, kv.Condition{}); err != nil {
					t.Fatal(err)
				}
				continue
			}
			some.Add(placement.SlotOf(id))
			m := MovedState{Collection: "places", ID: id, Value: place(t, i*8+n)}
			if rng.IntN(2) == 0 {
				m.Collection, m.Records, m.Value = "records", true, AppendRecordValue(nil, fmt.Append(nil, i, n), 7)
			}
			if rng.IntN(5) == 0 {
				m.Value = nil
			}
			states = append(states, m)
		}
		if err := st.CopyIn(t.Context(), states, nil); err != nil {
			t.Fatal(err)
		}
		if rng.IntN(5) == 0 {
			if _, err := st.DropSlots(t.Context(), &Parts{SlotSet: some}, nil); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// A secondary that applies what a move wrote at the primary, in pieces of any size, with
// restarts between, has what the primary has, and hides it as the primary does.
func TestApplyMoved(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 5))
	primary, log := member(t, t.TempDir()), leading()
	primary.Replicate(log)
	c := create(t, primary, CollectionOptions{})
	records(t, primary, RecordsOptions{Shards: 2})
	s := halves()
	tell := func(st *Store, s Slots) {
		t.Helper()
		if err := st.SetSlots(s); err != nil {
			t.Fatal(err)
		}
	}
	tell(primary, s)
	moveSome(t, primary, s, rng, c)
	dir := filepath.Join(t.TempDir(), "data")
	secondary := member(t, dir)
	tell(secondary, s)
	for at := 0; at < len(log.all); {
		n := min(1+rng.IntN(30), len(log.all)-at)
		if err := secondary.Apply(log.all[at : at+n]); err != nil {
			t.Fatal(err)
		}
		if at += n; rng.IntN(10) == 0 {
			if err := secondary.Close(); err != nil {
				t.Fatal(err)
			}
			secondary = member(t, dir)
			tell(secondary, s)
		}
	}
	hidden := contents(t, primary)
	if got := contents(t, secondary); !slices.Equal(got, hidden) {
		t.Errorf("%d lines at the secondary, %d at the primary", len(got), len(hidden))
	}
	s.Epoch, s.Owned = 2, AllSlots()
	tell(primary, s)
	tell(secondary, s)
	all := contents(t, primary)
	if got := contents(t, secondary); !slices.Equal(got, all) || len(all) <= len(hidden)+10 {
		t.Errorf("%d lines at the secondary, %d at the primary, %d were not hidden", len(got), len(all), len(hidden))
	}
	moved := 0
	for _, e := range log.all {
		if e.Flags&movedFlag != 0 {
			moved++
		}
	}
	if moved < 100 {
		t.Errorf("%d entries of the move", moved)
	}
	if err := secondary.Close(); err != nil {
		t.Fatal(err)
	}
	if rep, err := disk.Check(dir); err != nil || rep.Format != slotsFormat {
		t.Errorf("format %d at the secondary, want %d, %v", rep.Format, slotsFormat, err)
	}
}

// A secondary that has an old map refuses reads once it applies what was dropped by the
// next one: the ids are not gone, another group has them.
func TestSecondaryWithOldMap(t *testing.T) {
	primary, log := member(t, t.TempDir()), leading()
	primary.Replicate(log)
	c := create(t, primary, CollectionOptions{})
	s := Slots{Epoch: 1, Owned: AllSlots()}
	secondary := member(t, t.TempDir())
	for _, st := range []*Store{primary, secondary} {
		if err := st.SetSlots(s); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range []string{"a", "b"} {
		if _, _, err := c.Put(t.Context(), Feature{ID: id, Geometry: orb.Point{1, 1}}, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	s.Epoch = 2
	s.Owned.Remove(placement.SlotOf([]byte("a")))
	if err := primary.SetSlots(s); err != nil {
		t.Fatal(err)
	}
	others := s.Owned.others()
	if n, err := primary.DropSlots(t.Context(), &Parts{SlotSet: others}, nil); n != 1 || err != nil {
		t.Fatal(n, err)
	}
	if err := secondary.Apply(log.all); err != nil {
		t.Fatal(err)
	}
	at, err := secondary.Collection("places")
	if err != nil {
		t.Fatal(err)
	}
	read := func(want, wantSearch error) {
		t.Helper()
		if _, err := at.Get(t.Context(), "a"); !errors.Is(err, want) {
			t.Errorf("a: %v, want %v", err, want)
		}
		if _, err := at.Get(t.Context(), "b"); err != nil {
			t.Error(err)
		}
		if _, err := at.Count(t.Context(), Query{}); !errors.Is(err, wantSearch) {
			t.Errorf("count: %v, want %v", err, wantSearch)
		}
	}
	read(fault.ErrMoved, errClosed)
	if err := secondary.SetSlots(s); err != nil {
		t.Fatal(err)
	}
	read(fault.ErrMoved, nil)
	// What the primary wrote by an older map is hidden by a newer one.
	s.Epoch = 3
	s.Owned.Remove(placement.SlotOf([]byte("b")))
	if clean, err := secondary.Settle(t.Context()); !clean || err != nil {
		t.Fatal(clean, err)
	}
	if err := secondary.SetSlots(s); err != nil {
		t.Fatal(err)
	}
	secondary.owned.Load().hides = false // as after a Settle of an empty store
	written := len(log.all)
	if _, _, err := c.Put(t.Context(), Feature{ID: "b", Geometry: orb.Point{2, 2}}, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	if err := secondary.Apply(log.all[written:]); err != nil {
		t.Fatal(err)
	}
	if n, err := at.Count(t.Context(), Query{}); n != 0 || err != nil {
		t.Errorf("%d features of others' slots are seen, %v", n, err)
	}
}

// A secondary that starts has the latest map, and a log from before: it refuses what copies wrote
// to, also by a later map of the same epoch's, until its caller knows that it has all.
func TestSecondaryWithOldLog(t *testing.T) {
	primary, log := member(t, t.TempDir()), leading()
	primary.Replicate(log)
	create(t, primary, CollectionOptions{})
	s := Slots{Epoch: 1, Owned: AllSlots()}
	slot := placement.SlotOf([]byte("a"))
	s.Owned.Remove(slot)
	if err := primary.SetSlots(s); err != nil {
		t.Fatal(err)
	}
	copyIn := func(x float64) {
		t.Helper()
		value, err := feature.Append(nil, orb.Point{x, 1}, nil)
		if err != nil {
			t.Fatal(err)
		}
		if err := primary.CopyIn(t.Context(), []MovedState{{Collection: "places", ID: []byte("a"), Value: value}}, nil); err != nil {
			t.Fatal(err)
		}
	}
	copyIn(1)
	s.Epoch = 2
	s.Owned.Add(slot)
	s.Frozen.Add(slot)
	secondary := member(t, t.TempDir())
	if err := secondary.SetSlots(s); err != nil {
		t.Fatal(err)
	}
	if secondary.Taken() {
		t.Error("slots are taken before an entry was applied")
	}
	if err := secondary.Apply(log.all); err != nil {
		t.Fatal(err)
	}
	at, err := secondary.Collection("places")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := at.Get(t.Context(), "a"); !errors.Is(err, fault.ErrMoved) || !secondary.Taken() {
		t.Errorf("a: %v, want %v, taken %v", err, fault.ErrMoved, secondary.Taken())
	}
	if err := secondary.Retake(); err != nil || secondary.Taken() {
		t.Fatal(err, secondary.Taken())
	}
	if _, err := at.Get(t.Context(), "a"); err != nil {
		t.Errorf("a: %v", err)
	}
	if n, err := at.Count(t.Context(), Query{}); n != 1 || err != nil {
		t.Errorf("%d features, %v", n, err)
	}
	if got, _ := secondary.Slots(); !reflect.DeepEqual(got, s) {
		t.Error("other slots than were given")
	}
	// The next map of the epoch gives them, too.
	applied := len(log.all)
	copyIn(2)
	if err := secondary.Apply(log.all[applied:]); err != nil || !secondary.Taken() {
		t.Fatal(err, secondary.Taken())
	}
	s.Frozen.Remove(slot)
	if err := secondary.SetSlots(s); err != nil {
		t.Errorf("the next map of the same epoch: %v", err)
	}
}

// Watchers, live or from the log, get the events of clients' writes, and none of a move's.
func TestWatchersSeeNoMoves(t *testing.T) {
	st := open(t, Options{Dir: t.TempDir(), SlabBytes: 64 << 20})
	c := create(t, st, CollectionOptions{})
	records(t, st, RecordsOptions{})
	s := halves()
	if err := st.SetSlots(s); err != nil {
		t.Fatal(err)
	}
	from := st.Revision()
	watch := func() *Watcher {
		w, err := c.Watch(t.Context(), WatchOptions{From: from})
		if err != nil {
			t.Fatal(err)
		}
		if err := w.Add("all", Query{}); err != nil {
			t.Fatal(err)
		}
		return w
	}
	live := watch()
	moveSome(t, st, s, rand.New(rand.NewPCG(2, 2)), c)
	last := ""
	for i := 0; !s.Owned.has([]byte(last)); i++ {
		last = fmt.Sprint("last ", i)
	}
	_, revision, err := c.Put(t.Context(), Feature{ID: last, Geometry: orb.Point{1, 1}}, kv.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	read := func(name string, w *Watcher) {
		n := 0
		for e := (Event{}); e.Revision < revision; n++ {
			if e, err = w.Next(t.Context()); err != nil {
				t.Fatal(name, err)
			}
			if !s.Owned.has([]byte(e.ID)) {
				t.Fatalf("%s: %v of %q, which was copied", name, e.Kind, e.ID)
			}
		}
		if n < 50 {
			t.Errorf("%s: %d events", name, n)
		}
		w.Close()
	}
	read("live", live)
	st.hub.ring.clear(st.hub.limits.Changes, st.hub.limits.Bytes, revision)
	read("log", watch())
}

// The bounds of what a move reads at once, and what of the log is of a slot.
func TestSlotScanAndLog(t *testing.T) {
	st := open(t, Options{Dir: t.TempDir(), SlabBytes: 64 << 20, Sync: disk.SyncOff})
	c := create(t, st, CollectionOptions{})
	b, err := st.Create("boxes", Spec{Kind: KindBoxes, Keep: true})
	if err != nil {
		t.Fatal(err)
	}
	first := st.Revision()
	fill(t, c, 100, func(i int) Feature { return Feature{ID: fmt.Sprint(i), Geometry: orb.Point{1, 1}} })
	b.Boxes.InsertLater([]rstar.Item{{Rect: rstar.Rect{MaxX: 1}, ID: 1}}, func(_ int, err error) {
		if err != nil {
			t.Error(err)
		}
	})
	all, calls := AllSlots(), 0
	seen := map[string]bool{}
	for at := (SlotCursor{}); !at.Done; calls++ {
		var states []MovedState
		if states, at, err = st.SlotScan(t.Context(), &Parts{SlotSet: all}, at, 7); err != nil || len(states) > 7 {
			t.Fatal(len(states), err)
		}
		for _, m := range states {
			if seen[string(m.ID)] || m.Collection != "places" || m.Records {
				t.Errorf("%+v", m)
			}
			seen[string(m.ID)] = true
		}
		if at.Revision != st.Revision() {
			t.Errorf("the log continues after %d, not %d", at.Revision, st.Revision())
		}
	}
	if len(seen) != 100 || calls < 100/7 {
		t.Errorf("%d ids in %d calls", len(seen), calls)
	}
	n := 0
	for from := first + 1; from <= st.Revision(); {
		states, next, err := st.SlotLog(t.Context(), &Parts{SlotSet: all}, from, 7)
		if err != nil || len(states) > 7 || next <= from {
			t.Fatal(len(states), next, err)
		}
		n += len(states)
		from = next
	}
	if n != 100 {
		t.Errorf("%d writes of features", n)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if _, _, err := st.SlotLog(canceled, &Parts{SlotSet: all}, first+1, 0); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if err := st.CopyIn(canceled, []MovedState{{Collection: "places", ID: []byte("a")}}, nil); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	for _, e := range []disk.Entry{{Kind: disk.Create}, {Kind: disk.Drop}, {Kind: disk.Alter}, {Kind: disk.Term}, {Kind: disk.Put, Flags: boxFlag}} {
		if _, ok := SlotOfEntry(&e); ok {
			t.Errorf("%v has a slot", e.Kind)
		}
	}
	e := disk.Entry{Kind: disk.Delete, Flags: recordFlag, Key: []byte("a")}
	if slot, ok := SlotOfEntry(&e); !ok || slot != placement.SlotOf([]byte("a")) {
		t.Error(slot, ok)
	}
}

// What is dropped is dropped whether it has expired or not.
func TestDropsExpired(t *testing.T) {
	now := &clock{}
	now.advance(1e18)
	st := open(t, Options{Now: now.Now, Dir: t.TempDir(), SlabBytes: 64 << 20})
	c, r := create(t, st, CollectionOptions{}), records(t, st, RecordsOptions{})
	s := halves()
	if err := st.SetSlots(s); err != nil {
		t.Fatal(err)
	}
	id, soon := []byte(other(&s.Owned)), now.Now()+time.Second
	both := []MovedState{
		{Collection: "places", ID: id, Value: place(t, 1), Expiry: soon},
		{Collection: "records", Records: true, ID: id, Value: AppendRecordValue(nil, nil, 0), Expiry: soon},
	}
	if err := st.CopyIn(t.Context(), both, nil); err != nil {
		t.Fatal(err)
	}
	now.advance(time.Hour)
	others := s.Owned.others()
	if n, err := st.DropSlots(t.Context(), &Parts{SlotSet: others}, nil); n != 2 || err != nil {
		t.Errorf("%d dropped, %v", n, err)
	}
	if c.Len() != 0 || r.Len() != 0 {
		t.Errorf("%d features and %d records are left", c.Len(), r.Len())
	}
	// The source deletes what is not there, or not any more: nothing is logged.
	before := st.Revision()
	for i := range both {
		both[i].Value = nil
	}
	if err := st.CopyIn(t.Context(), both, nil); err != nil || st.Revision() != before {
		t.Errorf("revision %d after %d, %v", st.Revision(), before, err)
	}
}

// A part of a move that has ended writes nothing any more, also what is in the commit queue already.
func TestEndedMoveWritesNothing(t *testing.T) {
	st := open(t, Options{Dir: t.TempDir(), SlabBytes: 64 << 20})
	c := create(t, st, CollectionOptions{})
	s := halves()
	if err := st.SetSlots(s); err != nil {
		t.Fatal(err)
	}
	ended, asked := errors.New("ended"), 0
	after := func(n int) func() error {
		asked = 0
		return func() error {
			if asked++; asked > n {
				return ended
			}
			return nil
		}
	}
	id := []byte(other(&s.Owned))
	states := []MovedState{{Collection: "places", ID: id, Value: place(t, 1)}, {Collection: "places", ID: id, Value: place(t, 2)}}
	if err := st.CopyIn(t.Context(), states, after(0)); !errors.Is(err, ended) || c.Len() != 0 {
		t.Errorf("%v, %d features", err, c.Len())
	}
	if err := st.CopyIn(t.Context(), states, after(1)); !errors.Is(err, ended) || c.Len() != 1 || asked != 2 {
		t.Errorf("%v, %d features, asked %d times", err, c.Len(), asked)
	}
	others := s.Owned.others()
	if _, err := st.DropSlots(t.Context(), &Parts{SlotSet: others}, after(0)); !errors.Is(err, ended) || c.Len() != 1 {
		t.Errorf("%v, %d features", err, c.Len())
	}
	if n, err := st.DropSlots(t.Context(), &Parts{SlotSet: others}, after(1)); n != 1 || err != nil || c.Len() != 0 {
		t.Errorf("%d dropped, %v, %d features", n, err, c.Len())
	}
}

// What is in the log, and not seen by readers yet, is in the scan or in the log after it.
func TestSlotScanBesideWrite(t *testing.T) {
	st := member(t, t.TempDir())
	st.Replicate(leading())
	c := create(t, st, CollectionOptions{})
	fill(t, c, 1, func(int) Feature { return Feature{ID: "before", Geometry: orb.Point{1, 1}} })
	before := st.Revision()
	st.once.mu.Lock() // Writes wait here: they are in the log, and readers do not see them.
	put := make(chan error)
	go func() {
		_, _, err := c.Put(t.Context(), Feature{ID: "a", Geometry: orb.Point{1, 1}}, kv.Condition{})
		put <- err
	}()
	for st.Revision() == before {
		runtime.Gosched()
	}
	all := AllSlots()
	type result struct {
		states []MovedState
		next   SlotCursor
		err    error
	}
	scanned := make(chan result, 1)
	go func() {
		var r result
		r.states, r.next, r.err = st.SlotScan(t.Context(), &Parts{SlotSet: all}, SlotCursor{}, 0)
		scanned <- r
	}()
	for waiting := 0; waiting == 0 && len(scanned) == 0; runtime.Gosched() {
		st.queue.mu.Lock()
		waiting = len(st.queue.waiting)
		st.queue.mu.Unlock()
	}
	st.once.mu.Unlock()
	if err := <-put; err != nil {
		t.Fatal(err)
	}
	r := <-scanned
	later, _, err := st.SlotLog(t.Context(), &Parts{SlotSet: all}, r.next.Revision+1, 0)
	if r.err != nil || err != nil || len(r.states)+len(later) != 2 {
		t.Errorf("%d states and %d in the log after revision %d, %v, %v", len(r.states), len(later), r.next.Revision, r.err, err)
	}
}

// during is a context that does something when it is first asked whether it has ended.
type during struct {
	context.Context
	do *func()
}

func (d during) Err() error {
	if do := *d.do; do != nil {
		*d.do = nil
		do()
	}
	return nil
}

// A copy that comes while Settle looks, behind where it is, stays hidden.
func TestSettleBesideCopy(t *testing.T) {
	st := open(t, Options{Dir: t.TempDir(), SlabBytes: 64 << 20, Sync: disk.SyncOff})
	c := create(t, st, CollectionOptions{})
	fill(t, c, 1500, func(i int) Feature { return Feature{ID: fmt.Sprint("id ", i), Geometry: orb.Point{1, 1}} })
	s := Slots{Epoch: 1, Owned: AllSlots()}
	first := []byte("a")
	s.Owned.Remove(placement.SlotOf(first))
	if err := st.SetSlots(s); err != nil {
		t.Fatal(err)
	}
	others := s.Owned.others()
	if _, err := st.DropSlots(t.Context(), &Parts{SlotSet: others}, nil); err != nil {
		t.Fatal(err)
	}
	want := c.Len()
	copies := func() {
		if err := st.CopyIn(t.Context(), []MovedState{{Collection: "places", ID: first, Value: place(t, 1)}}, nil); err != nil {
			t.Error(err)
		}
	}
	if clean, err := st.Settle(during{t.Context(), &copies}); clean || err != nil || copies != nil {
		t.Errorf("clean %v, %v", clean, err)
	}
	if n, err := c.Count(t.Context(), Query{}); n != want || c.Len() != want+1 || err != nil {
		t.Errorf("%d features are seen, want %d of %d, %v", n, want, c.Len(), err)
	}
}
