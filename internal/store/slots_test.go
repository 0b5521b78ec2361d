package store

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
)

// Promises: an id is written in the store that has its slot, and in no other; a read sees
// what was acknowledged before; a search of all stores meets each feature once. So it is
// whatever moves at the same time, wherever a move stops, and after restarts.

// side is the store of one of two groups.
type side struct {
	dir   string
	st    *Store
	c     *Collection
	r     *Records
	slots Slots
}

func (s *side) open(t *testing.T) {
	t.Helper()
	stopped := func() time.Duration { return time.Hour } // A batch of searches ends by time, too.
	st, err := Open(t.Context(), Options{Dir: s.dir, SlabBytes: 64 << 20, Sync: disk.SyncOff, Now: stopped})
	if err != nil {
		t.Fatal(err)
	}
	s.st = st
	s.c, s.r = create(t, st, CollectionOptions{}), records(t, st, RecordsOptions{Shards: 2})
}

func (s *side) tell(t *testing.T) {
	t.Helper()
	if err := s.st.SetSlots(s.slots); err != nil {
		t.Fatal(err)
	}
}

// moving is a move under way between the two.
type moving struct {
	from, to int
	set      SlotSet
	step     int
	at       SlotCursor
	next     uint64 // of the log
}

// groupsModel are two groups, what they must have together, and a move.
type groupsModel struct {
	t        *testing.T
	rng      *rand.Rand
	sides    [2]*side
	features map[string]string // the point of each
	records  map[string]string
	move     *moving
	moves    int
}

func newGroupsModel(t *testing.T, seed uint64) *groupsModel {
	m := &groupsModel{t: t, rng: rand.New(rand.NewPCG(7, seed)), features: map[string]string{}, records: map[string]string{}}
	for i := range m.sides {
		s := &side{dir: t.TempDir(), slots: Slots{Epoch: 1}}
		for slot := range uint16(placement.Slots) {
			if int(slot)%2 == i {
				s.slots.Owned.Add(slot)
			}
		}
		s.open(t)
		s.tell(t)
		m.sides[i] = s
	}
	t.Cleanup(func() {
		for _, s := range m.sides {
			_ = s.st.Close()
		}
	})
	return m
}

func (m *groupsModel) must(err error) {
	m.t.Helper()
	if err != nil {
		m.t.Fatal(err)
	}
}

// reads and writes are what a call about an id must return.
func (s *side) reads(id string) error {
	switch slot := placement.SlotOf([]byte(id)); {
	case !s.slots.Owned.Has(slot):
		return fault.ErrMoved
	case s.slots.Closed.Has(slot):
		return errClosed
	}
	return nil
}

func (s *side) writes(id string) error {
	if err := s.reads(id); err != nil || !s.slots.Frozen.Has(placement.SlotOf([]byte(id))) {
		return err
	}
	return errClosed
}

func (m *groupsModel) write() {
	s, id := m.sides[m.rng.IntN(2)], fmt.Sprint("id ", m.rng.IntN(60))
	want, before := s.writes(id), m.features
	var err error
	value := ""
	switch m.rng.IntN(5) {
	case 0: // a feature is deleted
		if _, has := before[id]; !has && want == nil {
			want = kv.ErrNotFound
		}
		_, err = s.c.Delete(m.t.Context(), id, kv.Condition{})
	case 1, 2:
		p := orb.Point{float64(m.rng.IntN(20)), float64(m.rng.IntN(20))}
		value = fmt.Sprint(p)
		_, _, err = s.c.Put(m.t.Context(), Feature{ID: id, Geometry: p, Properties: []byte(`{"n":1}`)}, kv.Condition{})
	case 3:
		if before = m.records; before[id] == "" && want == nil {
			want = kv.ErrNotFound
		}
		err = s.r.Delete([]byte(id), kv.Condition{})
	case 4:
		before, value = m.records, fmt.Sprint("value ", m.rng.IntN(1000))
		_, err = s.r.Put(kv.Entry{Key: []byte(id), Value: []byte(value)}, kv.Condition{})
	}
	switch {
	case !errors.Is(err, want) || want == nil && err != nil:
		m.t.Fatalf("write of %q: %v, want %v", id, err, want)
	case err == nil && value == "":
		delete(before, id)
	case err == nil:
		before[id] = value
	}
}

func (m *groupsModel) get() {
	id := fmt.Sprint("id ", m.rng.IntN(60))
	for _, s := range m.sides {
		f, err := s.c.Get(m.t.Context(), id)
		m.check("feature", s, id, m.features[id], fmt.Sprint(f.Geometry), err)
		v, err := s.r.Get([]byte(id), new(kv.Buffer))
		m.check("record", s, id, m.records[id], string(v.Value), err)
		e, _ := s.st.Of("places", KindFeatures)
		if !errors.Is(e.MayRead([]byte(id)), s.reads(id)) {
			m.t.Fatalf("%q may be read: %v, want %v", id, e.MayRead([]byte(id)), s.reads(id))
		}
	}
}

func (m *groupsModel) check(what string, s *side, id, want, got string, err error) {
	m.t.Helper()
	refused := s.reads(id)
	if refused == nil && want == "" {
		refused = kv.ErrNotFound
	}
	if !errors.Is(err, refused) || refused == nil && (err != nil || got != want) {
		m.t.Fatalf("%s %q: %q, %v, want %q, %v", what, id, got, err, want, refused)
	}
}

// searches are the ways to find all features.
var searches = map[string]func(t *testing.T, c *Collection, yield func(*Found) (bool, error)) error{
	"ids": func(t *testing.T, c *Collection, y func(*Found) (bool, error)) error {
		return c.Search(t.Context(), Query{}, y)
	},
	"area": func(t *testing.T, c *Collection, y func(*Found) (bool, error)) error {
		return c.Search(t.Context(), Query{Area: query.Box(-1, -1, 21, 21)}, y)
	},
	"first": func(t *testing.T, c *Collection, y func(*Found) (bool, error)) error {
		return c.Search(t.Context(), Query{Area: query.Box(-1, -1, 21, 21), Order: query.ByID, Limit: 1000}, y)
	},
	"nearest": func(t *testing.T, c *Collection, y func(*Found) (bool, error)) error {
		return c.Nearest(t.Context(), NearestQuery{X: 1, Y: 1, K: 1000}, y)
	},
	"together": func(t *testing.T, c *Collection, y func(*Found) (bool, error)) error {
		boxes := []BoxSearch{{Box: [4]float64{-1, -1, 21, 21}}}
		if c.SearchTogether(t.Context(), boxes, 1000, new(Batch), func(_ int, f *Found) bool { _, _ = y(f); return true }) != 1 {
			return errClosed
		}
		return nil
	},
}

// search finds everything in both stores, in all ways.
func (m *groupsModel) search() {
	closed := false
	for _, s := range m.sides {
		closed = closed || s.slots.Closed != SlotSet{}
	}
	for name, search := range searches {
		got, refused := map[string]string{}, false
		for _, s := range m.sides {
			err := search(m.t, s.c, func(f *Found) (bool, error) {
				if got[string(f.ID)] != "" {
					m.t.Errorf("%s: %q is there twice", name, f.ID)
				}
				got[string(f.ID)] = fmt.Sprint(f.Feature().Geometry)
				return true, nil
			})
			refused = refused || errors.Is(err, errClosed)
			if err != nil && !errors.Is(err, errClosed) {
				m.t.Fatal(name, err)
			}
		}
		if refused != closed || !refused && !maps.Equal(got, m.features) {
			m.t.Fatalf("%s: refused %v, want %v; %d features, want %d\n%v\n%v", name, refused, closed, len(got), len(m.features), got, m.features)
		}
	}
	got := map[string]string{}
	for _, s := range m.sides {
		e, _ := s.st.Of("records", KindRecords)
		for key, r := range recordsIn(m.t, s.r) {
			if !e.Hides([]byte(key)) {
				got[key] = r.value
			}
		}
	}
	if !maps.Equal(got, m.records) {
		m.t.Fatalf("records: %v, want %v", got, m.records)
	}
}

// restart ends the move's step, too, whose state in memory is lost.
func (m *groupsModel) restart() {
	i := m.rng.IntN(2)
	s := m.sides[i]
	m.must(s.st.Close())
	s.open(m.t)
	if m.move != nil && m.move.step < 6 {
		m.abort()
	}
	s.tell(m.t)
}

// abort thaws: the next move begins again.
func (m *groupsModel) abort() {
	s := m.sides[m.move.from]
	s.slots.Frozen, s.slots.Closed = SlotSet{}, SlotSet{}
	s.tell(m.t)
	m.move = nil
}

// step carries a move on.
func (m *groupsModel) step() {
	if m.move == nil {
		v := &moving{from: m.rng.IntN(2)}
		v.to = 1 - v.from
		for slot := range uint16(placement.Slots) {
			if m.sides[v.from].slots.Owned.Has(slot) && m.rng.IntN(3) == 0 {
				v.set.Add(slot)
			}
		}
		m.move = v
	}
	v, ctx := m.move, m.t.Context()
	from, to := m.sides[v.from], m.sides[v.to]
	log := func() bool {
		states, next, err := from.st.SlotLog(ctx, &Parts{SlotSet: v.set}, v.next, 1+m.rng.IntN(5))
		m.must(err)
		m.must(to.st.CopyIn(ctx, states, nil))
		v.next = next
		return next == from.st.Revision()+1
	}
	switch v.step {
	case 0:
		_, err := to.st.DropSlots(ctx, &Parts{SlotSet: v.set}, nil)
		m.must(err)
		v.step++
	case 1:
		states, next, err := from.st.SlotScan(ctx, &Parts{SlotSet: v.set}, v.at, 1+m.rng.IntN(5))
		m.must(err)
		m.must(to.st.CopyIn(ctx, states, nil))
		if v.at = next; next.Done {
			v.step, v.next = 2, next.Revision+1
		}
	case 2:
		if log() {
			from.slots.Frozen = v.set
			from.tell(m.t)
			v.step++
		}
	case 3:
		if log() {
			from.slots.Closed = v.set
			from.tell(m.t)
			v.step++
		}
	case 4: // It is decided.
		for i, s := range m.sides {
			s.slots.Epoch++
			for slot := range uint16(placement.Slots) {
				switch {
				case !v.set.Has(slot):
				case i == v.to:
					s.slots.Owned.Add(slot)
				default:
					s.slots.Owned.Remove(slot)
				}
			}
			s.slots.Frozen, s.slots.Closed = SlotSet{}, SlotSet{}
			s.tell(m.t)
		}
		m.moves++
		v.step = 6
	case 6:
		others := from.slots.Owned.others() // also what moves that were given up have left
		_, err := from.st.DropSlots(ctx, &Parts{SlotSet: others}, nil)
		m.must(err)
		clean, err := from.st.Settle(ctx)
		if m.must(err); !clean || from.st.owned.Load().hides {
			m.t.Fatal("something is left")
		}
		m.move = nil
	}
}

func TestMovesBetweenStores(t *testing.T) {
	for seed := range uint64(4) {
		t.Run(fmt.Sprint(seed), func(t *testing.T) {
			m := newGroupsModel(t, seed)
			for range 1500 {
				switch n := m.rng.IntN(100); {
				case n < 50:
					m.write()
				case n < 60:
					m.get()
				case n < 70:
					m.search()
				case n < 71:
					m.restart()
				case n < 72 && m.move != nil && m.move.step < 6:
					m.abort()
				default:
					m.step()
				}
			}
			if m.moves < 5 || len(m.features) == 0 || len(m.records) == 0 {
				t.Errorf("%d moves, %d features, %d records", m.moves, len(m.features), len(m.records))
			}
			for _, s := range m.sides {
				if rep, err := disk.Check(s.dir); err == nil && rep.Format != slotsFormat {
					t.Errorf("format %d, want %d", rep.Format, slotsFormat)
				}
			}
		})
	}
}

// SetSlots refuses slots that contradict those before.
func TestSetSlots(t *testing.T) {
	st := open(t, Options{})
	even := Slots{Epoch: 5}
	for slot := uint16(0); slot < placement.Slots; slot += 2 {
		even.Owned.Add(slot)
	}
	if _, ok := st.Slots(); ok || st.Epoch() != 0 {
		t.Error("a store that was told nothing has slots")
	}
	for name, change := range map[string]func(s *Slots){
		"epoch 0":      func(s *Slots) { s.Epoch = 0 },
		"frozen":       func(s *Slots) { s.Frozen.Add(7) },
		"closed":       func(s *Slots) { s.Closed.Add(7) },
		"older":        func(s *Slots) { s.Epoch = 4 },
		"other slots":  func(s *Slots) { s.Owned.Add(7) },
		"fewer":        func(s *Slots) { s.Owned.Remove(0) },
		"older, other": func(s *Slots) { s.Epoch, s.Owned = 3, AllSlots() },
	} {
		if err := st.SetSlots(even); err != nil {
			t.Fatal(err)
		}
		s := even
		change(&s)
		if err := st.SetSlots(s); !errors.Is(err, ErrOptions) {
			t.Errorf("%s: %v", name, err)
		}
		if has, ok := st.Slots(); !ok || !reflect.DeepEqual(has, even) || st.Epoch() != 5 {
			t.Errorf("%s: the slots have changed", name)
		}
	}
	more := even
	more.Epoch, more.Owned = 6, AllSlots()
	if err := st.SetSlots(more); err != nil || more.Owned.Len() != placement.Slots {
		t.Error(err, more.Owned.Len())
	}
}

// other is an id of a slot that is not in a set.
func other(set *SlotSet) string {
	for i := 0; ; i++ {
		if id := fmt.Sprint("other ", i); !set.has([]byte(id)) {
			return id
		}
	}
}

// A read of many ids during which the slots change does not count.
func TestSlotsChangeDuringSearch(t *testing.T) {
	st := open(t, Options{})
	c := create(t, st, CollectionOptions{})
	fill(t, c, 10, func(i int) Feature { return Feature{ID: fmt.Sprint(i), Geometry: orb.Point{1, 1}} })
	s := Slots{Epoch: 1, Owned: AllSlots()}
	for name, search := range searches {
		if err := st.SetSlots(s); err != nil {
			t.Fatal(err)
		}
		told := false
		err := search(t, c, func(*Found) (bool, error) {
			if s.Epoch++; !told {
				told = true
				return true, st.SetSlots(s)
			}
			return true, nil
		})
		if !errors.Is(err, fault.ErrMoved) && name != "together" || err == nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	before, err := c.Changes(nil)
	if err != nil {
		t.Fatal(err)
	}
	s.Epoch++
	s.Owned.Remove(1)
	if err := st.SetSlots(s); err != nil {
		t.Fatal(err)
	}
	if after, err := c.Changes(nil); err != nil || after.Boot == before.Boot {
		t.Errorf("answers from before are still taken for current: %v", err)
	}
	if n, err := c.DeleteWhere(t.Context(), Query{Rest: func() {
		s.Epoch++
		if err := st.SetSlots(s); err != nil {
			t.Error(err)
		}
	}}); n != 10 || !errors.Is(err, fault.ErrMoved) {
		t.Errorf("%d deleted, %v", n, err)
	}
}

// A store deletes what has expired if the slot is its own: from another group's it would
// take a feature that was written again there.
func TestExpiryOfOthersSlots(t *testing.T) {
	now := &clock{}
	now.advance(1e18)
	st := open(t, Options{Now: now.Now, Dir: t.TempDir(), Sync: disk.SyncOff})
	c, r := create(t, st, CollectionOptions{}), records(t, st, RecordsOptions{})
	s := Slots{Epoch: 1, Owned: AllSlots()}
	id := []byte("a")
	s.Owned.Remove(placement.SlotOf(id))
	if err := st.SetSlots(s); err != nil {
		t.Fatal(err)
	}
	value, err := (&Feature{ID: "a", Geometry: orb.Point{1, 1}}).Encode(0)
	if err != nil {
		t.Fatal(err)
	}
	soon := now.Now() + time.Second
	if err := st.CopyIn(t.Context(), []MovedState{
		{Collection: "places", ID: id, Value: value, Expiry: soon},
		{Collection: "records", Records: true, ID: id, Value: AppendRecordValue(nil, nil, 0), Expiry: soon},
	}, nil); err != nil {
		t.Fatal(err)
	}
	now.advance(time.Hour)
	tidy := func() {
		for turn := range 200 {
			st.Tidy(turn)
		}
	}
	tidy()
	if c.Len() != 1 || r.Len() != 1 {
		t.Errorf("%d features and %d records, which another group has", c.Len(), r.Len())
	}
	s.Epoch, s.Owned = 2, AllSlots()
	if err := st.SetSlots(s); err != nil {
		t.Fatal(err)
	}
	if tidy(); c.Len() != 0 || r.Len() != 0 {
		t.Errorf("%d features and %d records have expired, and are there", c.Len(), r.Len())
	}
}

// What a move writes is refused where the store has the slot, and where it is wrong.
func TestCopyInRefusals(t *testing.T) {
	st := open(t, Options{Dir: t.TempDir()})
	c := create(t, st, CollectionOptions{})
	records(t, st, RecordsOptions{})
	s := Slots{Epoch: 1, Owned: AllSlots()}
	s.Owned.Remove(0)
	s.Owned.Remove(1)
	good, err := (&Feature{ID: "a", Geometry: orb.Point{1, 1}}).Encode(0)
	if err != nil {
		t.Fatal(err)
	}
	theirs := []byte(other(&s.Owned))
	ours := []byte("a")
	for name, x := range map[string]struct {
		m    MovedState
		want error
	}{
		"owned":      {MovedState{Collection: "places", ID: ours, Value: good}, ErrOwned},
		"unknown":    {MovedState{Collection: "nothing", ID: theirs, Value: good}, ErrUnknownCollection},
		"kind":       {MovedState{Collection: "places", Records: true, ID: theirs, Value: good}, fault.ErrKind},
		"no feature": {MovedState{Collection: "places", ID: theirs, Value: []byte("{}")}, ErrFeature},
		"no record":  {MovedState{Collection: "records", Records: true, ID: theirs, Value: []byte("1")}, ErrCorrupt},
	} {
		for _, told := range []bool{false, true} {
			if told {
				if err := st.SetSlots(s); err != nil {
					t.Fatal(err)
				}
			} else if name != "owned" {
				continue
			}
			if err := st.CopyIn(t.Context(), []MovedState{x.m}, nil); !errors.Is(err, x.want) {
				t.Errorf("%s: %v, want %v", name, err, x.want)
			}
		}
	}
	if _, _, err := c.Put(t.Context(), Feature{ID: "a", Geometry: orb.Point{1, 1}}, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	all := AllSlots()
	if n, err := st.DropSlots(t.Context(), &Parts{SlotSet: all}, nil); n != 0 || !errors.Is(err, ErrOwned) || c.Len() != 1 {
		t.Errorf("%d dropped, %v", n, err)
	}
}
