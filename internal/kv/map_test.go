package kv

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/mapped"
	"github.com/catfish-index/catfish/internal/record"
)

// clock is a time that tests move.
type clock struct{ now atomic.Int64 }

func (c *clock) Now() time.Duration      { return time.Duration(c.now.Load()) }
func (c *clock) advance(d time.Duration) { c.now.Add(int64(d)) }
func memory(t testing.TB, n int64) []byte {
	b, err := mapped.Map(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = mapped.Unmap(b) })
	return b
}

func newMap(t testing.TB, now func() time.Duration, o Options) *Map {
	t.Helper()
	if o.Records == nil {
		o.Records = memory(t, 64<<20)
	}
	o.Index, o.Boot, o.Seed, o.Now = memory(t, 64<<20), 7, 3, now
	m, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// A Map holds the same as a Go map, under conditions, expiry, deletions, growth of the
// table, and time.
func TestMapAgainstModel(t *testing.T) {
	type state struct {
		value  string
		rev    uint64
		expiry time.Duration
	}
	for _, way := range []struct {
		kind cuckoo.Kind
		get  getFunc
	}{
		{cuckoo.GCuckoo, getOne}, {cuckoo.GCuckoo, getAmong(1)}, {cuckoo.GCuckoo, getAmong(150)},
		{cuckoo.Compact, getOne}, {cuckoo.Compact, getAmong(70)},
	} {
		kind, get := way.kind, way.get()
		var c clock
		c.advance(time.Hour)
		m := newMap(t, c.Now, Options{Table: kind})
		want := map[string]state{}
		there := func(k string) (state, bool) {
			s, ok := want[k]
			return s, ok && (s.expiry == 0 || s.expiry > c.Now())
		}
		r := rand.New(rand.NewPCG(1, uint64(kind)))
		rev := uint64(0)
		for range 60_000 {
			k := fmt.Sprintf("key-%d", r.IntN(3000))
			s, ok := there(k)
			switch r.IntN(10) {
			case 0, 1, 2, 3:
				e := Entry{Key: []byte(k), Value: make([]byte, r.IntN(300)), Flags: 9}
				for i := range e.Value {
					e.Value[i] = byte(r.Uint32())
				}
				if r.IntN(4) == 0 {
					e.Expiry = c.Now() + time.Duration(r.IntN(100))*time.Millisecond + 1
				}
				var cond Condition
				var wrong error
				switch r.IntN(4) {
				case 0:
					if cond.IfAbsent = true; ok {
						wrong = ErrExists
					}
				case 1:
					cond.IfRevision = s.rev + uint64(r.IntN(2))
					if cond.IfRevision != 0 && (!ok || cond.IfRevision != s.rev) {
						wrong = ErrConflict
					}
				}
				got, err := m.Put(e, cond)
				if !errors.Is(err, wrong) || wrong == nil && (err != nil || got <= rev) {
					t.Fatalf("put %s %+v: revision %d after %d, %v, want %v", k, cond, got, rev, err, wrong)
				}
				if err == nil {
					rev = got
					want[k] = state{string(e.Value), got, e.Expiry}
				}
			case 4:
				if err := m.Delete([]byte(k), Condition{}); ok != (err == nil) || !ok && !errors.Is(err, ErrNotFound) {
					t.Fatalf("delete %s, which exists %t: %v", k, ok, err)
				}
				delete(want, k)
			case 5:
				c.advance(time.Duration(r.IntN(int(20 * time.Millisecond))))
				m.Tidy(10)
			default:
				v, ref, err := get(m, []byte(k))
				if !ok {
					if !errors.Is(err, ErrNotFound) {
						t.Fatalf("get %s, which does not exist: %v, %v", k, v, err)
					}
					continue
				}
				if err != nil || ref == 0 || string(v.Key) != k || string(v.Value) != s.value || v.Revision != s.rev || v.Flags != 9 {
					t.Fatalf("get %s: revision %d, %d bytes, %v, want %d, %d", k, v.Revision, len(v.Value), err, s.rev, len(s.value))
				}
			}
		}
		for k := range want {
			if _, ok := there(k); !ok {
				delete(want, k)
			}
		}
		for range 1000 {
			m.Tidy(100)
		}
		if n := m.Stats().Records.Records; n != len(want) {
			t.Errorf("%v: %d records after what has expired was removed, want %d", kind, n, len(want))
		}
	}
}

// Readers without a lock see every write that returned before they began, and never a
// value of another key.
func TestGetBesideWrites(t *testing.T) {
	for name, way := range map[string]getFunc{"Get": getOne, "GetMany": getAmong(65)} {
		t.Run(name, func(t *testing.T) { getBesideWrites(t, way) })
	}
}

func getBesideWrites(t *testing.T, way getFunc) {
	start := time.Now()
	m := newMap(t, func() time.Duration { return time.Since(start) }, Options{Records: memory(t, 16<<20)})
	const keys = 64
	var acked [keys]atomic.Uint64
	key := func(i int) []byte { return []byte(fmt.Sprintf("key %d", i)) }
	value := func(i int, n uint64, size int) []byte {
		b := binary.LittleEndian.AppendUint64(nil, n)
		return append(b, bytes.Repeat([]byte{byte(i)}, size)...)
	}
	for i := range keys {
		if _, err := m.Put(Entry{Key: key(i), Value: value(i, 0, 8)}, Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	var writers, readers sync.WaitGroup
	var done atomic.Bool
	for w := range 2 {
		writers.Go(func() {
			r := rand.New(rand.NewPCG(5, uint64(w)))
			for n := uint64(1); n <= 5000; n++ {
				i := r.IntN(keys/2)*2 + w
				if _, err := m.Put(Entry{Key: key(i), Value: value(i, n, r.IntN(500))}, Condition{}); err != nil {
					t.Error(err)
					return
				}
				acked[i].Store(n)
			}
		})
	}
	for range 3 {
		readers.Go(func() {
			get := way()
			for i := 0; !done.Load(); i = (i + 1) % keys {
				least := acked[i].Load()
				v, _, err := get(m, key(i))
				if err != nil {
					t.Error(err)
					return
				}
				n := binary.LittleEndian.Uint64(v.Value)
				if n < least || !bytes.Equal(v.Value, value(i, n, len(v.Value)-8)) {
					t.Errorf("key %d: write %d, of %d acknowledged, %d bytes", i, n, least, len(v.Value))
					return
				}
			}
		})
	}
	writers.Wait()
	done.Store(true)
	readers.Wait()
}

// Updates without end take no more memory than a second of them.
func TestUpdatesAreBounded(t *testing.T) {
	var c clock
	m := newMap(t, c.Now, Options{Records: memory(t, 4<<20)})
	value := make([]byte, 100)
	for n := range 300_000 {
		if _, err := m.Put(Entry{Key: []byte(fmt.Sprint(n % 1000)), Value: value}, Condition{}); err != nil {
			t.Fatalf("update %d: %v", n, err)
		}
		c.advance(100 * time.Microsecond)
	}
	// While the clock stands still nothing is freed, and writes fail with ErrFull.
	var err error
	for n := 0; err == nil && n < 100_000; n++ {
		_, err = m.Put(Entry{Key: []byte(fmt.Sprint(n % 1000)), Value: value}, Condition{})
	}
	if !errors.Is(err, record.ErrFull) {
		t.Fatalf("full: %v", err)
	}
	c.advance(2 * time.Second)
	if _, err := m.Put(Entry{Key: []byte("x"), Value: value}, Condition{}); err != nil {
		t.Errorf("after two seconds: %v", err)
	}
}

// A Map receives memory piece by piece. When it is refused a piece, writes that need it
// fail with the reason, and change nothing.
func TestGrow(t *testing.T) {
	reason := errors.New("no more")
	for _, what := range []string{"index", "records"} {
		var c clock
		refuse := false
		asked := map[string]int{}
		grow := func(name string) func(int64) (int64, error) {
			return func(n int64) (int64, error) {
				if asked[name]++; refuse && name == what {
					return 0, reason
				}
				return n, nil
			}
		}
		m := newMap(t, c.Now, Options{GrowIndex: grow("index"), GrowRecords: grow("records")})
		value := map[string]int{"index": 1, "records": 10_000}[what]
		put := func(n int) error {
			_, err := m.Put(Entry{Key: []byte(fmt.Sprint(n)), Value: make([]byte, value)}, Condition{})
			return err
		}
		n, failed := 0, 0
		for ; failed < 10; n++ {
			refuse = n >= 1000
			err := put(n)
			if err != nil {
				failed++
			}
			full := map[string]error{"index": cuckoo.ErrFull, "records": record.ErrFull}[what]
			if err != nil && (!refuse || !errors.Is(err, full) || !errors.Is(err, reason)) {
				t.Fatalf("%s: put %d: %v", what, n, err)
			}
			if n > 1<<20 {
				t.Fatalf("%s: nothing is refused", what)
			}
		}
		if s := m.Stats(); s.Records.Records != n-failed || s.Index.Items != n-failed || s.Revision != uint64(n-failed) {
			t.Errorf("%s: %+v after %d writes of which %d failed", what, s, n, failed)
		}
		refuse = false
		if err := put(n); err != nil || asked["index"] == 0 || asked["records"] == 0 {
			t.Errorf("%s: there is memory again: %v; asked %v", what, err, asked)
		}
	}
}

func TestGetDoesNotAllocate(t *testing.T) {
	var c clock
	m := newMap(t, c.Now, Options{})
	e := Entry{Key: []byte("0123456789abcdef"), Value: make([]byte, 32)}
	if _, err := m.Put(e, Condition{}); err != nil {
		t.Fatal(err)
	}
	var b Buffer
	if n := testing.AllocsPerRun(100, func() {
		if _, _, err := m.Get(e.Key, &b); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("get: %v allocations", n)
	}
	if n := testing.AllocsPerRun(100, func() {
		c.advance(time.Millisecond)
		if _, err := m.Put(e, Condition{}); err != nil {
			t.Fatal(err)
		}
	}); n != 0 {
		t.Errorf("put: %v allocations", n)
	}
}
