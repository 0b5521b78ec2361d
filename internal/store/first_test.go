package store

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"pgregory.net/rapid"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
)

// Of any offers, in any order and some twice, firsts keeps the first by id, as they
// came first.
func TestFirstsKeepLowestIDs(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		// Ids that differ where words end, and by zeros at their end.
		id := rapid.Custom(func(t *rapid.T) string {
			return strings.Repeat("x", rapid.IntRange(1, 9).Draw(t, "long")) +
				rapid.StringOfN(rapid.SampledFrom([]rune{0, 'a', 'b', 0x7f, 'é'}), 0, 10, -1).Draw(t, "rest")
		})
		limit := rapid.IntRange(1, 40).Draw(t, "limit")
		var k firsts
		k.begin()
		b := sorting(t.Context(), nil)
		want := map[string]uint64{}
		for i, id := range rapid.SliceOfN(id, 0, 200).Draw(t, "ids") {
			value, err := feature.Append(nil, orb.Point{float64(i), 1}, nil)
			if err != nil {
				t.Fatal(err)
			}
			if err := k.offer(&Found{ID: []byte(id), Value: value, Revision: uint64(i)}, limit, b); err != nil {
				t.Fatal(err)
			}
			if _, again := want[id]; !again {
				want[id] = uint64(i)
			}
			if most := limit + limit/2 + firstMore; len(k.all) > most {
				t.Fatalf("%d are kept of %d, want at most %d", len(k.all), limit, most)
			}
		}
		if err := errors.Join(k.drop(limit, b), k.sort(b)); err != nil {
			t.Fatal(err)
		}
		var ids []string
		for id := range want {
			ids = append(ids, id)
		}
		slices.Sort(ids)
		if k.cut != (len(ids) > limit) {
			t.Errorf("%d of %d: cut is %t", limit, len(ids), k.cut)
		}
		ids = ids[:min(limit, len(ids))]
		if len(k.order) != len(ids) {
			t.Fatalf("%d, want %d", len(k.order), len(ids))
		}
		for n, o := range k.order {
			var f Found
			ok, err := k.found(o.i, &f)
			if !ok || err != nil || string(f.ID) != ids[n] || f.Revision != want[ids[n]] || f.View.Bound().MinX != float64(f.Revision) {
				t.Fatalf("%d is %q of revision %d, ok %t, %v; want %q of %d", n, f.ID, f.Revision, ok, err, ids[n], want[ids[n]])
			}
		}
	})
}

// sorting is a buffer of a search that sorts.
func sorting(ctx context.Context, pace func() error) *Buffer {
	stopped := func() time.Duration { return time.Hour } // so that the count alone decides
	return &Buffer{pacing: newPacing(ctx, pace, stopped)}
}

// Blocks are sorted, whatever is in them.
func TestSortBlock(t *testing.T) {
	even := 0
	rapid.Check(t, func(t *rapid.T) {
		var k firsts
		k.begin()
		b := sorting(t.Context(), nil)
		var keys []firstKey
		digits := rapid.StringMatching(`[0-9]{1,12}`)
		for i, id := range rapid.SliceOfN(digits, 1, block).Draw(t, "ids") {
			if err := k.offer(&Found{ID: []byte(id), Revision: uint64(i)}, math.MaxInt, b); err != nil {
				t.Fatal(err)
			}
			keys = append(keys, firstKey{wordOf([]byte(id)), i})
		}
		want := slices.SortedFunc(slices.Values(keys), k.compare)
		if k.sortEven(slices.Clone(keys)) {
			even++
		}
		if k.sortBlock(keys); !slices.Equal(keys, want) {
			t.Errorf("%v, want %v", keys, want)
		}
	})
	if even == 0 {
		t.Error("too many were alike each time")
	}
}

// Large pages are sorted in steps: others go first after each of them, and a search
// that is stopped ends there.
func TestSortInSteps(t *testing.T) {
	const n = 40*block + 100
	offered := func(b *Buffer) (*firsts, []string) {
		k, ids := new(firsts), make([]string, n)
		k.begin()
		for i := range n { // Some come twice.
			ids[i] = fmt.Sprint("n/", i*7919%(n-50)*i)
			if err := k.offer(&Found{ID: []byte(ids[i]), Revision: uint64(i)}, math.MaxInt, b); err != nil {
				t.Fatal(err)
			}
		}
		slices.Sort(ids)
		return k, slices.Compact(ids)
	}
	paces := 0
	b := sorting(t.Context(), func() error { paces++; return nil })
	k, want := offered(b)
	if err := k.sort(b); err != nil {
		t.Fatal(err)
	}
	ids := make([]string, len(k.order))
	for i, o := range k.order {
		ids[i] = string(k.id(o.i))
	}
	if !slices.Equal(ids, want) {
		t.Error("they are not in order, or not each once")
	}
	// Each entry is passed twice before, once after merging, and once for each doubling.
	if least := 9 * n / (lookedAt / sortedAs * block); paces < least || paces > least+1 {
		t.Errorf("%d pauses, want %d", paces, least)
	}
	paces = 0
	if err := k.drop(len(want)/2, b); err != nil || paces == 0 || len(k.all) != len(want)/2 {
		t.Errorf("%d are left after %d pauses, %v", len(k.all), paces, err)
	}
	enough := errors.New("enough")
	b = sorting(t.Context(), func() error { return enough })
	k, _ = offered(b)
	if err := k.sort(b); !errors.Is(err, enough) {
		t.Errorf("sorting goes on: %v", err)
	}
	gone, cancel := context.WithCancel(t.Context())
	b = sorting(gone, nil)
	k, _ = offered(b)
	cancel()
	if err := k.drop(n/2, b); !errors.Is(err, context.Canceled) {
		t.Errorf("the context has ended, sorting has not: %v", err)
	}
	// By the clock, too, and what sorting takes is counted.
	now, held := time.Hour, int64(0)
	b = &Buffer{pacing: newPacing(t.Context(), func() error { paces++; return nil }, func() time.Duration { now += stepTime; return now })}
	b.kept = kept{hold: func(bytes int64) error { held = bytes; return nil }}
	k, _ = offered(b)
	paces = 0
	if err := k.sort(b); err != nil || paces < 9*n/block/2 {
		t.Errorf("%d pauses, though each block takes as long as a step: %v", paces, err)
	}
	if least := int64(2 * n * 16); held < least {
		t.Errorf("%d bytes are counted, want %d at least", held, least)
	}
}

// page is what a search by id gave.
func page(t *testing.T, c *Collection, q Query) (ids []string, matched int) {
	t.Helper()
	p, err := c.Prepare(q)
	if err != nil {
		t.Fatal(err)
	}
	b := new(Buffer)
	if err := c.SearchWith(t.Context(), p, b, func(f *Found) (bool, error) {
		ids = append(ids, string(f.ID))
		if !bytes.Contains(f.View.Properties(), []byte(`"`+string(f.ID)+`"`)) {
			t.Errorf("%q has properties %.60s", f.ID, f.View.Properties())
		}
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
	return ids, b.Matched
}

// Pages of features so large that not all of their values are kept have all of them, in
// order, and count them.
func TestFirstOfLarge(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	const n = 60
	pad := strings.Repeat("x", firstBytes/20)
	fill(t, c, n, func(i int) Feature {
		id := fmt.Sprintf("f%02d", i)
		return Feature{ID: id, Geometry: orb.Point{float64(i*37%n) / n, 1}, Properties: fmt.Appendf(nil, `{"id":%q,"pad":%q}`, id, pad)}
	})
	after := ""
	for from := 0; from < n; from += 25 {
		ids, matched := page(t, c, Query{Area: query.Box(0, 0, 2, 2), Order: query.ByID, Limit: 25, After: after, Count: true})
		if matched != n || len(ids) != min(25, n-from) {
			t.Fatalf("after %q: %d of %d, want %d of %d", after, len(ids), matched, min(25, n-from), n)
		}
		for i, id := range ids {
			if id != fmt.Sprintf("f%02d", from+i) {
				t.Errorf("%d is %s", from+i, id)
			}
		}
		after = ids[len(ids)-1]
	}
}

// A feature that is deleted between being found and being given leaves its place on the
// page to others: a page that is not full is the last one.
func TestFirstFillsPageAfterDeletes(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	const n, limit = 200, 50
	pad := strings.Repeat("x", firstBytes/10)
	fill(t, c, n, func(i int) Feature {
		id := fmt.Sprintf("f%03d", i)
		f := Feature{ID: id, Geometry: orb.Point{float64(i*37%n) / n, 1}, Properties: fmt.Appendf(nil, `{"id":%q}`, id)}
		if i < 100 {
			f.Properties = fmt.Appendf(nil, `{"id":%q,"pad":%q}`, id, pad)
		}
		return f
	})
	p, err := c.Prepare(Query{Area: query.Box(0, 0, 2, 2), Order: query.ByID, Limit: limit, Count: true})
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	b := new(Buffer)
	if err := c.SearchWith(t.Context(), p, b, func(f *Found) (bool, error) {
		if len(ids) == 0 { // All were found. Of those that come next, most of the values were not kept.
			for i := range 45 {
				if id := fmt.Sprintf("f%03d", i); i > 0 {
					if _, err := c.Delete(context.Background(), id, kv.Condition{}); err != nil {
						return false, err
					}
				}
			}
		}
		ids = append(ids, string(f.ID))
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
	if len(ids) != limit || b.Matched != n || !slices.IsSorted(ids) || len(slices.Compact(slices.Clone(ids))) != limit {
		t.Errorf("%d of %d, want %d of %d, each once and in order: %q", len(ids), b.Matched, limit, n, ids)
	}
	kept := 0
	for i := range 45 {
		if slices.Contains(ids, fmt.Sprintf("f%03d", i)) {
			kept++
		}
	}
	// The first, and some whose values were kept: they existed when they were found.
	if kept == 0 || kept > firstBytes/len(pad)+1 {
		t.Errorf("%d of those that were deleted, want 1 to %d", kept, firstBytes/len(pad)+1)
	}
}

// A search by id gives the same as one of everything that is sorted.
func TestFirstAgreesWithAll(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	r := rand.New(rand.NewPCG(7, 7))
	const n = 3000
	fill(t, c, n, func(i int) Feature {
		id := fmt.Sprint("n/", i*i)
		return Feature{ID: id, Geometry: orb.Point{r.Float64() * 20, r.Float64() * 20}, Properties: fmt.Appendf(nil, `{"id":%q}`, id)}
	})
	for range 60 {
		x, y, size := r.Float64()*20, r.Float64()*20, r.Float64()*10
		q := Query{Area: query.Box(x, y, x+size, y+size)}
		all, _ := page(t, c, q)
		slices.Sort(all)
		q.Order, q.Limit, q.Count = query.ByID, 1+r.IntN(200), r.IntN(2) == 0
		matched := 0
		if q.Count {
			matched = len(all)
		}
		if r.IntN(2) == 0 && len(all) > 0 {
			q.After = all[r.IntN(len(all))]
			all = all[slices.Index(all, q.After)+1:]
		}
		got, m := page(t, c, q)
		if want := all[:min(q.Limit, len(all))]; !slices.Equal(got, want) || m != matched {
			t.Fatalf("%+v: %q of %d, want %q of %d", q, got, m, want, matched)
		}
	}
}
