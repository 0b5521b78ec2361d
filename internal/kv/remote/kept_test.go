package remote

import (
	"bytes"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	table "github.com/catfish-index/catfish/internal/cuckoo/remote"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/record"
)

// stopped is a clock that tests move.
type stopped struct{ now time.Duration }

func (c *stopped) Now() time.Duration { return c.now }

func (s *site) put(t testing.TB, i int, value string) {
	t.Helper()
	if _, err := s.m.Put(kv.Entry{Key: key(i), Value: []byte(value)}, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
}

// keep looks a key up and keeps what it found.
func (s *site) keep(t testing.TB, r *Reader, i int) Kept {
	t.Helper()
	a, err := r.Get(t.Context(), s.known, key(i))
	if err != nil || a.Err != nil {
		t.Fatalf("key %d: %v, %v", i, err, a.Err)
	}
	return Kept{Ref: a.Ref, Until: a.Until}
}

func (s *site) getKept(t testing.TB, r *Reader, i int, k Kept) Answer {
	t.Helper()
	var a [1]Answer
	if err := r.GetKept(t.Context(), s.known, [][]byte{key(i)}, []Kept{k}, a[:]); err != nil {
		t.Fatalf("key %d: %v", i, err)
	}
	return a[0]
}

// A good kept reference takes one read in one round trip.
func TestKeptReference(t *testing.T) {
	c := &stopped{now: time.Hour}
	s := newSiteBy(t, c.Now)
	r := s.dial()
	s.put(t, 1, "one")
	a, err := r.Get(t.Context(), s.known, key(1))
	if err != nil || a.Err != nil || a.Kept || a.Invalid || a.Until != c.now+record.DefaultGrace {
		t.Fatalf("looked up: %+v, %v", a, err)
	}
	k := Kept{a.Ref, a.Until}
	for _, c.now = range []time.Duration{c.now, k.Until - 1} {
		a := s.getKept(t, r, 1, k)
		if a.Err != nil || string(a.View.Value) != "one" || a.Ref != k.Ref || !a.Kept || a.Invalid || a.Until != 0 {
			t.Errorf("kept: %+v", a)
		}
		if st := r.Stats(); st.Reads != s.copies || st.RoundTrips != 1 || st.Bytes != s.copies*uint64(k.Ref.Bytes()) {
			t.Errorf("kept: %+v, want one read", st)
		}
	}
	// Without a lease Until counts from before anything was posted, whatever the clock
	// says when the answer arrives.
	r.now = func() time.Duration { c.now++; return c.now }
	first := c.now + 1
	if a, err := r.Get(t.Context(), s.known, key(1)); err != nil || a.Until != first+record.DefaultGrace || c.now == first {
		t.Errorf("by a clock that goes from %v to %v: until %v, %v", first, c.now, a.Until, err)
	}
	r.now = c.Now
	// No reference.
	if a := s.getKept(t, r, 1, Kept{Until: k.Until}); a.Err != nil || a.Kept || a.Invalid {
		t.Errorf("without a reference: %+v", a)
	}
	// The answer for its record is the same as after a lookup.
	for i, e := range []kv.Entry{
		{Value: make([]byte, 1<<20)},
		{Value: []byte("expires"), Expiry: c.now + 2},
	} {
		e.Key = key(2 + i)
		if _, err := s.m.Put(e, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	long, err := r.Get(t.Context(), s.known, key(2))
	if err != nil || !errors.Is(long.Err, ErrTooLarge) || long.Ref == 0 {
		t.Fatalf("long: %+v, %v", long, err)
	}
	if a := s.getKept(t, r, 2, Kept{long.Ref, c.now + 1}); !errors.Is(a.Err, ErrTooLarge) || !a.Kept || r.Stats().Reads != s.copies {
		t.Errorf("long: %+v, %+v", a, r.Stats())
	}
	k = s.keep(t, r, 3)
	c.now += 2
	if a := s.getKept(t, r, 3, k); !errors.Is(a.Err, kv.ErrNotFound) || !a.Kept || a.View.Key != nil || r.Stats().Reads != s.copies {
		t.Errorf("expired: %+v, %+v", a, r.Stats())
	}
}

// A kept reference that is bad for any reason costs its read, and the answer is that of
// a lookup.
func TestBadKeptReferenceIsLookedUp(t *testing.T) {
	for _, c := range []struct {
		name string
		want string // "": not found
		read bool   // the reference is read before it is refused
		make func(s *site, c *stopped, r *Reader, k Kept) Kept
	}{
		{"replaced", "new", true, func(s *site, _ *stopped, _ *Reader, k Kept) Kept {
			s.put(t, 1, "new")
			return k
		}},
		{"deleted", "", true, func(s *site, _ *stopped, _ *Reader, k Kept) Kept {
			if err := s.m.Delete(key(1), kv.Condition{}); err != nil {
				t.Fatal(err)
			}
			return k
		}},
		{"another key's", "one", true, func(s *site, _ *stopped, r *Reader, _ Kept) Kept {
			s.put(t, 2, "two")
			return s.keep(t, r, 2)
		}},
		{"of a place used again", "new", true, func(s *site, c *stopped, r *Reader, k Kept) Kept {
			for s.put(t, 1, "new"); s.keep(t, r, 1).Ref.Offset() != k.Ref.Offset(); s.put(t, 1, "new") {
				c.now += record.DefaultGrace
			}
			k.Until = c.now + 1 // a client that reads after its lease
			return k
		}},
		{"another generation", "one", true, func(_ *site, _ *stopped, _ *Reader, k Kept) Kept {
			k.Ref ^= 1 << 10
			return k
		}},
		{"another length", "one", true, func(_ *site, _ *stopped, _ *Reader, k Kept) Kept {
			k.Ref = record.RefAt(k.Ref.Offset(), 2*k.Ref.Bytes(), k.Ref.Generation())
			return k
		}},
		{"check sum", "new", true, func(s *site, _ *stopped, _ *Reader, k Kept) Kept {
			s.put(t, 1, "new")
			b := s.records[k.Ref.Offset():]
			b[bytes.Index(b, []byte("one"))]++
			binary.LittleEndian.PutUint64(b, binary.LittleEndian.Uint64(b)|1<<20)
			return k
		}},
		{"not a record", "new", true, func(s *site, _ *stopped, _ *Reader, k Kept) Kept {
			s.put(t, 1, "new")
			copy(s.records[k.Ref.Offset()+3:], bytes.Repeat([]byte{0xFF}, 61))
			return k
		}},
		{"late when it came", "one", true, func(_ *site, c *stopped, r *Reader, k Kept) Kept {
			calls := 0
			r.now = func() time.Duration {
				if calls++; calls == 2 { // 1: the beginning, 2: the read has come
					c.now = k.Until
				}
				return c.now
			}
			k.Until = c.now + record.DefaultGrace/2
			return k
		}},
		{"late before it went", "one", false, func(_ *site, c *stopped, _ *Reader, k Kept) Kept {
			c.now = k.Until
			return k
		}},
		{"beyond the memory", "one", false, func(s *site, _ *stopped, _ *Reader, k Kept) Kept {
			k.Ref = record.RefAt(s.known.Space.Bytes, record.LineBytes, 1)
			return k
		}},
		{"across its end", "one", false, func(s *site, _ *stopped, _ *Reader, k Kept) Kept {
			k.Ref = record.RefAt(s.known.Space.Bytes-record.LineBytes, 2*record.LineBytes, 1)
			return k
		}},
		{"before the records", "one", false, func(_ *site, _ *stopped, _ *Reader, k Kept) Kept {
			k.Ref = record.RefAt(0, record.LineBytes, 1)
			return k
		}},
		{"of no generation", "one", false, func(_ *site, _ *stopped, _ *Reader, k Kept) Kept {
			k.Ref = record.RefAt(k.Ref.Offset(), record.LineBytes, 0)
			return k
		}},
		{"longer than a block", "one", false, func(s *site, _ *stopped, _ *Reader, k Kept) Kept {
			k.Ref = record.RefAt(k.Ref.Offset(), s.known.Block+record.LineBytes, k.Ref.Generation())
			return k
		}},
	} {
		clock := &stopped{now: time.Hour}
		s := newSiteBy(t, clock.Now)
		r := s.dial()
		s.put(t, 1, "one")
		k := c.make(s, clock, r, s.keep(t, r, 1))
		a := s.getKept(t, r, 1, k)
		if !a.Invalid || a.Kept || a.Err == nil && (string(a.View.Value) != c.want || a.Ref == k.Ref && c.want != "one") ||
			a.Err != nil && (c.want != "" || !errors.Is(a.Err, kv.ErrNotFound)) {
			t.Errorf("%s: %+v, want %q", c.name, a, c.want)
		}
		reads, trips := uint64(3), uint64(2)
		if c.read {
			reads, trips = 4, 3
		}
		if c.want == "" {
			reads, trips = reads-1, trips-1
		}
		if st := r.Stats(); st.Reads != s.copies*reads || st.RoundTrips != trips {
			t.Errorf("%s: %+v, want %d reads in %d round trips", c.name, st, reads, trips)
		}
		// The reference of the answer is good.
		if k := (Kept{a.Ref, a.Until}); a.Err == nil {
			if a := s.getKept(t, r, 1, k); !a.Kept || string(a.View.Value) != c.want {
				t.Errorf("%s: what was found, kept: %+v", c.name, a)
			}
		}
	}
}

// The reference of a dead record that a lookup takes is not to be kept.
func TestDeadRecordIsNotKept(t *testing.T) {
	c := &stopped{now: time.Hour}
	s := newSiteBy(t, c.Now)
	r := s.dial()
	s.put(t, 1, "one")
	k := s.keep(t, r, 1)
	if b := s.records[k.Ref.Offset():]; b[2]&(1<<4) == 0 {
		t.Fatal("not alive")
	} else {
		b[2] &^= 1 << 4 // as if it died after the index was read
	}
	a, err := r.Get(t.Context(), s.known, key(1))
	if err != nil || a.Err != nil || a.Ref != k.Ref || string(a.View.Value) != "one" || a.Until != 0 {
		t.Errorf("looked up: %+v, %v", a, err)
	}
	if a := s.getKept(t, r, 1, k); a.Kept || !a.Invalid || a.Err != nil {
		t.Errorf("kept: %+v", a)
	}
}

// Keys with good references, with bad ones, with none, and without a record are read in
// one walk.
func TestKeptMixed(t *testing.T) {
	c := &stopped{now: time.Hour}
	s := newSiteBy(t, c.Now)
	r := s.dial()
	const n = 1000
	var keys [][]byte
	var kept []Kept
	for i := range n {
		s.put(t, i, "old")
	}
	for s.m.Tidy(1000) && s.m.Stats().Index.Growing {
	}
	for i := range n {
		keys = append(keys, key(i))
		kept = append(kept, s.keep(t, r, i))
	}
	wantReads := 0
	for i := range n {
		switch i % 5 {
		case 0:
			wantReads++
		case 1:
			kept[i] = Kept{}
			wantReads += 3
		case 2:
			s.put(t, i, "new")
			wantReads += 4
		case 3:
			kept[i].Ref = record.Ref(1<<63 + 1)
			wantReads += 3
		case 4:
			if err := s.m.Delete(key(i), kv.Condition{}); err != nil {
				t.Fatal(err)
			}
			wantReads += 3
		}
	}
	answers := make([]Answer, n)
	for range 2 { // the second time with the same Reader
		if err := r.GetKept(t.Context(), s.known, keys, kept, answers); err != nil {
			t.Fatal(err)
		}
		for i, a := range answers {
			want := []string{"old", "old", "new", "old", ""}[i%5]
			if a.Kept != (i%5 == 0) || a.Invalid != (i%5 >= 2) ||
				want != "" && (a.Err != nil || string(a.View.Value) != want || !bytes.Equal(a.View.Key, keys[i])) ||
				want == "" && !errors.Is(a.Err, kv.ErrNotFound) {
				t.Fatalf("key %d: %+v, want %q", i, a, want)
			}
		}
		// A signature of 16 bits or a mark costs a read or two here and there.
		if st := r.Stats(); int(st.Reads/s.copies) < wantReads || int(st.Reads/s.copies) > wantReads+n/50 || st.RoundTrips > 5 {
			t.Errorf("%+v, want %d reads", st, wantReads)
		}
	}
	// Without references it is GetMany.
	other := slices.Clone(answers)
	if err := r.GetMany(t.Context(), s.known, keys, other); err != nil {
		t.Fatal(err)
	}
	for i, a := range other {
		if a.Kept || a.Invalid || errors.Is(a.Err, kv.ErrNotFound) != (i%5 == 4) {
			t.Fatalf("key %d: %+v", i, a)
		}
	}
}

// Without lookups only good references are read: nothing is for keys that have none, and one
// read for each that has a bad one.
func TestOnlyKept(t *testing.T) {
	c := &stopped{now: time.Hour}
	s := newSiteBy(t, c.Now)
	r := s.dial()
	var keys [][]byte
	var kept []Kept
	for i := range 4 {
		s.put(t, i, "old")
		keys, kept = append(keys, key(i)), append(kept, s.keep(t, r, i))
	}
	s.put(t, 1, "new")
	kept[2] = Kept{}
	kept[3].Until = c.now
	answers := make([]Answer, len(keys))
	if err := r.GetOnlyKept(t.Context(), s.known, keys, kept, answers); err != nil {
		t.Fatal(err)
	}
	for i, want := range []Answer{{Kept: true}, {Invalid: true, Err: ErrNotKept}, {Err: ErrNotKept}, {Invalid: true, Err: ErrNotKept}} {
		a := answers[i]
		if a.Kept != want.Kept || a.Invalid != want.Invalid || !errors.Is(a.Err, want.Err) || i == 0 && string(a.View.Value) != "old" {
			t.Errorf("key %d: %+v, want %+v", i, a, want)
		}
	}
	if st := r.Stats(); st.Reads/s.copies != 2 || st.RoundTrips != 1 {
		t.Errorf("%+v, want 2 reads", st)
	}
	// The next call of the same Reader looks up again.
	if a := s.getKept(t, r, 1, kept[1]); a.Err != nil || string(a.View.Value) != "new" || !a.Invalid {
		t.Errorf("%+v", a)
	}
}

// Whatever references a client has kept, and whatever bytes lie there, it gets the
// answer of a lookup, and reads nothing outside of the records.
func TestKeptHostile(t *testing.T) {
	c := &stopped{now: time.Hour}
	s := newSiteBy(t, c.Now)
	r := s.dial()
	const n = 64
	keys, kept, answers := make([][]byte, n), make([]Kept, n), make([]Answer, n)
	for i := range n {
		s.put(t, i, "value")
		keys[i] = key(i)
	}
	// Noise behind the records, where it harms no lookup.
	rnd := rand.New(rand.NewPCG(1, 2))
	noise := s.records[recordBytes/2:]
	for at := 0; at < len(noise); at += 8 {
		binary.LittleEndian.PutUint64(noise[at:], rnd.Uint64()>>rnd.IntN(64))
	}
	for round := range 300 {
		for i := range kept {
			k := &kept[i]
			k.Until = c.now + 1
			k.Ref = record.Ref(rnd.Uint64() >> rnd.IntN(40))
			if round%2 == 0 { // in the noise, and of the generation found there
				at := recordBytes/2 + rnd.IntN(len(noise)/64-64)*64
				k.Ref = record.RefAt(uint64(at), 64*(1+rnd.IntN(64)), uint32(binary.LittleEndian.Uint64(s.records[at:])&(1<<20-1)))
			}
		}
		if err := r.GetKept(t.Context(), s.known, keys, kept, answers); err != nil {
			t.Fatal(err)
		}
		for i, a := range answers {
			if a.Err != nil || a.Kept || !a.Invalid && kept[i].Ref != 0 || string(a.View.Value) != "value" || !bytes.Equal(a.View.Key, keys[i]) {
				t.Fatalf("%v: %+v", kept[i].Ref, a)
			}
		}
	}
}

// A client that was held up between index and record looks the key up again, and counts
// from then.
func TestLateRecordIsLookedUpAgain(t *testing.T) {
	c := &stopped{now: time.Hour}
	s := newSiteBy(t, c.Now)
	r := s.dial()
	s.put(t, 1, "one")
	s.keep(t, r, 1) // the header
	calls := 0
	r.now = func() time.Duration {
		if calls++; calls == 2 { // 1: the beginning, 2: the record has come
			c.now += record.DefaultGrace
		}
		return c.now
	}
	a, err := r.Get(t.Context(), s.known, key(1))
	if err != nil || a.Err != nil || string(a.View.Value) != "one" || a.Until != c.now+record.DefaultGrace {
		t.Errorf("%+v, %v", a, err)
	}
	if st := r.Stats(); st.Reads != s.copies*6 || st.RoundTrips != 4 {
		t.Errorf("%+v, want two lookups", st)
	}
	// The other candidates of the lookup that was late are late, too.
	f := (*follower)(r)
	r.lookups[0] = lookup{since: c.now}
	read, err := f.Candidates(0, []uint64{uint64(a.Ref), uint64(a.Ref)}, 2, nil)
	if err != nil || len(read) != 2 {
		t.Fatal(read, err)
	}
	visit := func() table.Judgement {
		_, j, _, err := f.Visit(0, read[0], s.records[read[0].Offset:][:read[0].Len], nil)
		if err != nil {
			t.Fatal(err)
		}
		return j
	}
	c.now += record.DefaultGrace
	if first, second := visit(), visit(); first != table.Stale || second != table.Stale {
		t.Errorf("late: %v, %v", first, second)
	}
	if _, err := f.Candidates(0, []uint64{uint64(a.Ref)}, 4, nil); err != nil {
		t.Fatal(err)
	}
	if j := visit(); j != table.Match {
		t.Errorf("looked up again: %v", j)
	}
}
