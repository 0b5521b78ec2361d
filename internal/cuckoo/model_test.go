package cuckoo

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// model is the index next to a map from reference to hash.
type model struct {
	Index
	refs map[uint64]uint64
	next uint64
	// the scan in progress: the items that were present when it began and still are
	cursor Cursor
	must   map[uint64]bool
	seen   map[uint64]bool
}

// check compares everything.
func (m *model) check(t interface{ Fatalf(string, ...any) }) {
	byHash := map[uint64][]uint64{}
	for r, h := range m.refs {
		byHash[h] = append(byHash[h], r)
	}
	for h, want := range byHash {
		got := m.Lookup(nil, h)
		for _, r := range want {
			if !slices.Contains(got, r) {
				t.Fatalf("hash %#x: %d, want %d among them", h, got, r)
			}
		}
		for i, r := range got {
			if _, ok := m.refs[r]; !ok || slices.Contains(got[:i], r) {
				t.Fatalf("hash %#x: %d, want each once, and none that is not there", h, got)
			}
		}
	}
	all := map[uint64]uint64{}
	for c := (Cursor{}); !c.Done; {
		var err error
		if c, err = m.Scan(c, 7, func(h, r uint64) {
			if _, ok := all[r]; ok {
				t.Fatalf("scan gives %d twice, nothing was moved", r)
			}
			all[r] = h
		}); err != nil {
			t.Fatalf("scan: %v", err)
		}
	}
	if !maps.Equal(all, m.refs) {
		t.Fatalf("scan of %d items, want %d", len(all), len(m.refs))
	}
	if s := m.Stats(); m.Len() != len(m.refs) || s.Items != len(m.refs) {
		t.Fatalf("%d items, %+v, want %d", m.Len(), s, len(m.refs))
	}
}

func (m *model) insert(hash uint64) error {
	m.next++
	err := m.Insert(hash, m.next)
	if err == nil {
		m.refs[m.next] = hash
	}
	return err
}

// some returns a reference that is in the index.
func (m *model) some(i int) uint64 {
	return slices.Sorted(maps.Keys(m.refs))[i%len(m.refs)]
}

// TestModel compares random operations with a map. Hashes are drawn from few
// buckets, so that there are kicks, the stash is used, and tables grow often.
func TestModel(t *testing.T) {
	for _, l := range layouts {
		t.Run(fmt.Sprintf("%v/items=%d", l.kind, l.items), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) { runModel(t, l) })
		})
	}
}

func runModel(t *rapid.T, l layout) {
	x, err := New(l.kind, aligned(64<<10), Options{
		Items: l.items, Buckets: 4, MaxLoad: rapid.SampledFrom([]float64{0, 1}).Draw(t, "load"),
		MaxKicks: 50,
	})
	if err != nil {
		t.Fatal(err)
	}
	m := &model{Index: x, refs: map[uint64]uint64{}}
	spread := rapid.SampledFrom([]uint64{4, 64, 1 << 16}).Draw(t, "spread")
	hash := rapid.Custom(func(t *rapid.T) uint64 {
		return key(rapid.Uint64Range(0, spread-1).Draw(t, "p1"), rapid.Uint64Range(0, spread-1).Draw(t, "p2"),
			rapid.Uint64Range(0, 3).Draw(t, "n"))
	})
	insert := func(t *rapid.T) {
		err := m.insert(hash.Draw(t, "hash"))
		if err != nil && !errors.Is(err, ErrTooManyAlike) && !errors.Is(err, ErrFull) {
			t.Fatal(err)
		}
	}
	t.Repeat(map[string]func(*rapid.T){
		"insert": insert, "insert many": func(t *rapid.T) {
			for range 20 {
				insert(t)
			}
		},
		"replace": func(t *rapid.T) {
			if len(m.refs) == 0 {
				return
			}
			r := m.some(rapid.IntRange(0, 1<<20).Draw(t, "i"))
			m.next++
			h := m.refs[r]
			if err := m.Replace(h, r, m.next); err != nil {
				t.Fatal(err)
			}
			delete(m.refs, r)
			m.refs[m.next] = h
			if m.must[r] {
				delete(m.must, r)
				m.must[m.next] = true
				m.seen[m.next] = m.seen[r]
			}
			if err := m.Replace(h, r, 1); !errors.Is(err, ErrNotFound) {
				t.Fatalf("replace of what is not there: %v", err)
			}
		},
		"delete": func(t *rapid.T) {
			if len(m.refs) == 0 {
				return
			}
			r := m.some(rapid.IntRange(0, 1<<20).Draw(t, "i"))
			if err := m.Delete(m.refs[r], r); err != nil {
				t.Fatal(err)
			}
			if err := m.Delete(m.refs[r], r); !errors.Is(err, ErrNotFound) {
				t.Fatalf("second delete: %v", err)
			}
			delete(m.refs, r)
			delete(m.must, r)
		},
		"advance": func(t *rapid.T) { m.Advance(1) },
		"scan": func(t *rapid.T) {
			if m.must == nil {
				m.must, m.seen, m.cursor = map[uint64]bool{}, map[uint64]bool{}, Cursor{}
				for r := range m.refs {
					m.must[r] = true
				}
			}
			var err error
			m.cursor, err = m.Scan(m.cursor, 3, func(h, r uint64) {
				if m.refs[r] != h {
					t.Fatalf("scan gives %d of hash %#x, which is not there", r, h)
				}
				m.seen[r] = true
			})
			if err != nil {
				t.Fatal(err)
			}
			if !m.cursor.Done {
				return
			}
			for r := range m.must {
				if !m.seen[r] {
					t.Fatalf("scan has missed %d", r)
				}
			}
			m.must = nil
		},
		"": func(t *rapid.T) { m.check(t) },
	})
}

// TestGrow fills tables by random hashes, deletes half, and fills again.
func TestGrow(t *testing.T) {
	const n = 20_000
	for _, l := range layouts {
		t.Run(fmt.Sprintf("%v/items=%d", l.kind, l.items), func(t *testing.T) {
			r := rand.New(rand.NewPCG(1, 7))
			x, err := New(l.kind, aligned(32<<20), Options{Items: l.items, Buckets: 8})
			if err != nil {
				t.Fatal(err)
			}
			m := &model{Index: x, refs: map[uint64]uint64{}}
			for range 2 {
				for len(m.refs) < n {
					if err := m.insert(r.Uint64()); err != nil {
						t.Fatalf("after %d: %v, %+v", len(m.refs), err, m.Stats())
					}
				}
				m.check(t)
				for _, ref := range slices.Sorted(maps.Keys(m.refs))[:n/2] {
					if err := m.Delete(m.refs[ref], ref); err != nil {
						t.Fatal(err)
					}
					delete(m.refs, ref)
				}
				m.check(t)
			}
			s := m.Stats()
			t.Logf("%+v", s)
			if l.kind == Compact {
				if s.Overflows == 0 || s.Merges == 0 {
					t.Error("no overflow, or none given back")
				}
				return
			}
			if s.Grown < 8 || s.Capacity > n*16 {
				t.Errorf("grown %d times to %d places", s.Grown, s.Capacity)
			}
		})
	}
}
