package kv

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/catfish-index/catfish/internal/cuckoo"
	"github.com/catfish-index/catfish/internal/record"
)

func newCacheMap(t testing.TB, c *clock, limit int64, o Options) *Map {
	t.Helper()
	c.advance(time.Hour)
	o.MaxBytes = limit
	return newMap(t, c.Now, o)
}

func mustPut(t testing.TB, m *Map, key string, bytes int) {
	t.Helper()
	if _, err := m.Put(Entry{Key: []byte(key), Value: make([]byte, bytes)}, Condition{}); err != nil {
		t.Fatal(err)
	}
}

// clockModel is second chance by the book, over the order in which the hand comes to
// records.
type clockModel struct {
	limit   int64
	keys    map[string]record.Ref
	bytes   map[record.Ref]int64 // of living records
	marked  map[uint64]bool      // by place
	visits  []record.Ref
	evicted []record.Ref
}

func (c *clockModel) sum() (n int64) {
	for _, b := range c.bytes {
		n += b
	}
	return n
}

// move notes that a record has another place.
func (c *clockModel) move(from, to record.Ref) {
	for k, ref := range c.keys {
		if ref == from {
			c.keys[k] = to
		}
	}
	c.bytes[to], c.marked[to.Offset()] = c.bytes[from], c.marked[from.Offset()]
	delete(c.bytes, from)
}

// evict makes room for bytes, in place of the record old.
func (c *clockModel) evict(bytes int64, old record.Ref) {
	for c.sum()-c.bytes[old]+bytes > c.limit {
		ref := c.visits[0]
		c.visits = c.visits[1:]
		marked := c.marked[ref.Offset()]
		c.marked[ref.Offset()] = false
		if c.bytes[ref] > 0 && !marked && ref != old {
			delete(c.bytes, ref)
			c.evicted = append(c.evicted, ref)
		}
	}
}

// A Map with a limit evicts what second chance evicts, in that order, holds what it must,
// and never more bytes than its limit.
func TestCacheAgainstModel(t *testing.T) {
	index, records := memory(t, 64<<10), memory(t, 2<<20)
	rapid.Check(t, func(t *rapid.T) {
		clear(index)
		clear(records)
		var c clock
		model := &clockModel{
			limit: int64(rapid.IntRange(4, 60).Draw(t, "lines")) * record.LineBytes,
			keys:  map[string]record.Ref{}, bytes: map[record.Ref]int64{}, marked: map[uint64]bool{},
		}
		var evicted []record.Ref
		var put record.Ref
		moving := false
		c.advance(time.Hour)
		m, err := New(Options{
			Index: index, Records: records, Boot: 7, Seed: 3, Now: c.Now, MaxBytes: model.limit,
			Follow: func(from, to record.Ref) error {
				switch put = to; {
				case to == 0:
					evicted = append(evicted, from)
				case from != 0 && moving:
					model.move(from, to)
				}
				return nil
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		look := m.cache.look
		m.cache.look = func(hash, ref uint64) {
			model.visits = append(model.visits, record.Ref(ref))
			look(hash, ref)
		}
		key := rapid.Custom(func(t *rapid.T) string { return strconv.Itoa(rapid.IntRange(0, 30).Draw(t, "key")) })
		t.Repeat(map[string]func(*rapid.T){
			"put": func(t *rapid.T) {
				k, n := key.Draw(t, "key"), rapid.IntRange(0, 400).Draw(t, "bytes")
				bytes, old := RecordBytes(len(k), n, false), model.keys[k]
				evicted, model.evicted = nil, nil
				_, err := m.Put(Entry{Key: []byte(k), Value: make([]byte, n)}, Condition{})
				if bytes > model.limit {
					if !errors.Is(err, record.ErrTooLarge) || !strings.Contains(err.Error(), fmt.Sprint(bytes)) || !strings.Contains(err.Error(), fmt.Sprint(model.limit)) {
						t.Fatalf("%d bytes with a limit of %d: %v", bytes, model.limit, err)
					}
					return
				}
				if err != nil {
					t.Fatal(err)
				}
				model.evict(bytes, old)
				if !slices.Equal(evicted, model.evicted) {
					t.Fatalf("evicted %v, want %v", evicted, model.evicted)
				}
				delete(model.bytes, old)
				model.keys[k], model.bytes[put], model.marked[put.Offset()] = put, bytes, true
			},
			"get": func(t *rapid.T) {
				k := key.Draw(t, "key")
				_, ref, err := m.Get([]byte(k), &Buffer{})
				want := model.keys[k]
				if model.bytes[want] == 0 {
					want = 0
				}
				if ref != want || (err == nil) != (want != 0) || want == 0 && !errors.Is(err, ErrNotFound) {
					t.Fatalf("get %s: %v, %v, want %v", k, ref, err, want)
				}
				if want != 0 {
					model.marked[want.Offset()] = true
				}
			},
			"delete": func(t *rapid.T) {
				k := key.Draw(t, "key")
				if err := m.Delete([]byte(k), Condition{}); (err == nil) != (model.bytes[model.keys[k]] != 0) {
					t.Fatalf("delete %s: %v", k, err)
				}
				delete(model.bytes, model.keys[k])
				delete(model.keys, k)
			},
			"time": func(t *rapid.T) {
				c.advance(time.Second)
				moving = true
				m.Tidy(64) // It moves records whose spans have few.
				moving = false
			},
			"": func(t *rapid.T) {
				s := m.Stats()
				if n := model.sum(); int64(s.Cache.Bytes) != n || n > model.limit || s.Records.Records != len(model.bytes) {
					t.Fatalf("%d bytes in %d records, want %d in %d, limit %d", s.Cache.Bytes, s.Records.Records, n, len(model.bytes), model.limit)
				}
			},
		})
	})
}

// Records that are used between evictions stay, by Get, GetMany or lease, for whatever
// passes through.
func TestUsedRecordsStay(t *testing.T) {
	uses := map[string]func(m *Map, keys [][]byte, refs []record.Ref){
		"get": func(m *Map, keys [][]byte, _ []record.Ref) {
			for _, k := range keys {
				_, _, _ = m.Get(k, &Buffer{})
			}
		},
		"many": func(m *Map, keys [][]byte, _ []record.Ref) {
			m.GetMany(keys, &ManyBuffer{}, func(int, record.View, record.Ref, error) bool { return true })
		},
		"grant": func(m *Map, _ [][]byte, refs []record.Ref) { m.Grant(refs, nil) },
	}
	for name, use := range uses {
		var c clock
		m := newCacheMap(t, &c, 1000*record.LineBytes, Options{})
		var keys [][]byte
		var refs []record.Ref
		for i := range 100 {
			keys = append(keys, fmt.Append(nil, "used ", i))
			mustPut(t, m, string(keys[i]), 8)
			_, ref, err := m.Get(keys[i], &Buffer{})
			if err != nil {
				t.Fatal(err)
			}
			refs = append(refs, ref)
		}
		for i := range 5000 {
			if use(m, keys, refs); name == "grant" {
				c.advance(70 * time.Second) // The leases have ended, so it is for their marks.
			}
			mustPut(t, m, fmt.Sprint("passes ", i), 8)
		}
		for i, k := range keys {
			if _, ref, err := m.Get(k, &Buffer{}); err != nil || ref != refs[i] {
				t.Errorf("%s: %s, which was used all the time, is gone: %v, %v", name, k, ref, err)
			}
		}
		if s := m.Stats().Cache; s.Evicted != 5100-1000 || s.Bytes != s.LimitBytes {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// A record under a lease stays while the lease runs, since clients that read it do not ask;
// and if all have leases, a put evicts some all the same, whose places stay as they are
// until the leases end.
func TestLeaseIsUse(t *testing.T) {
	var c clock
	m := newCacheMap(t, &c, 100*record.LineBytes, Options{})
	mustPut(t, m, "leased", 8)
	_, ref, err := m.Get([]byte("leased"), &Buffer{})
	if err != nil {
		t.Fatal(err)
	}
	for range 40 { // A lease for as long as it was asked for lately.
		c.advance(time.Second)
		m.Grant([]record.Ref{ref}, nil)
	}
	for i := range 1000 {
		mustPut(t, m, fmt.Sprint(i), 8)
	}
	if _, _, err := m.Get([]byte("leased"), &Buffer{}); err != nil {
		t.Errorf("evicted under a lease: %v", err)
	}
	c.advance(70 * time.Second)
	for i := range 1000 {
		mustPut(t, m, fmt.Sprint(i), 8)
	}
	if _, _, err := m.Get([]byte("leased"), &Buffer{}); !errors.Is(err, ErrNotFound) {
		t.Errorf("not evicted after its lease: %v", err)
	}

	var all []record.Ref
	_ = m.Walk(func(refs []record.Ref) error { all = append(all, refs...); return nil }, func() error { return nil })
	m.Grant(all, nil)
	mustPut(t, m, "one more", 8)
	for range 10 {
		mustPut(t, m, "one more", 8)
		m.Tidy(1000)
	}
	for _, ref := range all {
		if _, err := m.Read(ref, &Buffer{}); err != nil && !errors.Is(err, record.ErrDead) {
			t.Errorf("%v was used again under its lease: %v", ref, err)
		}
	}
}

// A record that is moved to another place keeps its mark, or has none there, either.
func TestMovedRecordsKeepMarks(t *testing.T) {
	var c clock
	m := newCacheMap(t, &c, 1<<20, Options{})
	at := map[int]record.Ref{}
	for i := range 6000 { // a span and a half
		mustPut(t, m, fmt.Sprint(i), 8)
	}
	for i := range 6000 {
		if i%8 > 0 {
			if err := m.Delete(fmt.Append(nil, i), Condition{}); err != nil {
				t.Fatal(err)
			}
			continue
		}
		_, ref, err := m.Get(fmt.Append(nil, i), &Buffer{})
		if err != nil {
			t.Fatal(err)
		}
		if at[i] = ref; i%16 > 0 {
			m.cache.marks.take(ref)
		}
	}
	for range 100 {
		c.advance(time.Second)
		m.Tidy(1000)
	}
	moved := 0
	for i, was := range at {
		ref, _, _ := m.find(cuckoo.Hash(m.Seed(), fmt.Append(nil, i)), fmt.Append(nil, i), c.Now())
		if ref != was {
			moved++
		}
		if marked := m.cache.marks.take(ref); marked != (i%16 == 0) {
			t.Fatalf("%d, moved from %v to %v: marked %v", i, was, ref, marked)
		}
	}
	if moved == 0 {
		t.Error("no record was moved")
	}
}

// A put may evict as much as all the others, and replaces its own record without counting
// it twice.
func TestLargeRecordEvictsMany(t *testing.T) {
	var c clock
	limit := int64(400 << 10)
	m := newCacheMap(t, &c, limit, Options{})
	for i := range 3000 {
		mustPut(t, m, fmt.Sprint(i), i%100)
	}
	whole := int(limit) - 64
	for _, n := range []int{200 << 10, whole, whole, 10} {
		mustPut(t, m, "large", n)
		s := m.Stats()
		if int64(s.Cache.Bytes) > limit || s.Records.Records > 1 && n == whole {
			t.Errorf("a value of %d bytes: %+v, %d records", n, s.Cache, s.Records.Records)
		}
	}
	d := m.NewDraft()
	if err := d.Append(make([]byte, whole)); err != nil {
		t.Fatal(err)
	}
	if _, err := d.Put(Entry{Key: []byte("in parts")}, Condition{}); err != nil || m.Bytes() > limit || m.Len() != 1 {
		t.Errorf("put in parts: %v, %d records of %d bytes", err, m.Len(), m.Bytes())
	}
}

// What has expired is evicted before anything else, marked or not.
func TestExpiredIsEvictedFirst(t *testing.T) {
	var c clock
	m := newCacheMap(t, &c, 100*2*record.LineBytes, Options{Expired: func([]byte, uint64) {}})
	for i := range 100 {
		e := Entry{Key: fmt.Append(nil, i), Value: make([]byte, 60)}
		if i%2 == 0 {
			e.Expiry = c.Now() + time.Second
		}
		if _, err := m.Put(e, Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	c.advance(2 * time.Second)
	for i := range 50 {
		mustPut(t, m, fmt.Sprint("new ", i), 60)
	}
	for i := 1; i < 100; i += 2 {
		if _, _, err := m.Get(fmt.Append(nil, i), &Buffer{}); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
}

// While others put and get, a Get has the value that was put last, or none, and the limit
// holds at every moment.
func TestCacheHistory(t *testing.T) {
	const writers, keysEach, rounds = 2, 40, 4000
	var c clock
	m := newCacheMap(t, &c, 50*record.LineBytes, Options{})
	var done [writers * keysEach]atomic.Int64 // the last put of each key that has returned
	var begun [writers * keysEach]atomic.Int64
	var stop atomic.Bool
	var readers, all sync.WaitGroup
	for w := range writers {
		all.Go(func() {
			for i := range rounds {
				k := w*keysEach + i*7%keysEach
				begun[k].Store(int64(i))
				if _, err := m.Put(Entry{Key: fmt.Append(nil, k), Value: fmt.Append(nil, i)}, Condition{}); err != nil {
					t.Error(err)
					return
				}
				done[k].Store(int64(i))
				if i%50 == 0 {
					c.advance(time.Second / 2) // So that places are used again.
				}
			}
		})
	}
	for r := range 2 {
		readers.Go(func() {
			var b Buffer
			for i := r; !stop.Load(); i++ {
				k := i * 13 % len(done)
				least := done[k].Load()
				v, _, err := m.Get(fmt.Append(nil, k), &b)
				most := begun[k].Load()
				if errors.Is(err, ErrNotFound) {
					continue
				}
				if n, bad := strconv.ParseInt(string(v.Value), 10, 64); err != nil || bad != nil || n < least || n > most {
					t.Errorf("get %d: %q, %v, want %d to %d", k, v.Value, err, least, most)
					return
				}
				if s := m.Stats().Cache; s.Bytes > s.LimitBytes {
					t.Errorf("%d bytes, limit %d", s.Bytes, s.LimitBytes)
					return
				}
			}
		})
	}
	all.Wait()
	stop.Store(true)
	readers.Wait()
	if s := m.Stats().Cache; s.Evicted == 0 || s.Hits+s.Misses == 0 {
		t.Errorf("nothing happened: %+v", s)
	}
}

// Hits and misses count the Gets of a cache once each.
func TestHitsAndMisses(t *testing.T) {
	var c clock
	m := newCacheMap(t, &c, 1<<20, Options{})
	mustPut(t, m, "a", 1)
	keys := [][]byte{[]byte("a"), []byte("b"), []byte("a")}
	for _, k := range keys {
		_, _, _ = m.Get(k, &Buffer{})
	}
	m.GetMany(keys, &ManyBuffer{}, func(int, record.View, record.Ref, error) bool { return true })
	if s := m.Stats().Cache; s.Hits != 4 || s.Misses != 2 {
		t.Errorf("%+v, want 4 hits and 2 misses", s)
	}
}
