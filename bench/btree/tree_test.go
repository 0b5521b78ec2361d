package btree

import (
	"context"
	"errors"
	"maps"
	"slices"
	"testing"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/catfish-index/catfish/internal/readtest"
	"github.com/catfish-index/catfish/offload"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// scan is a way to read a range.
type scan func(from, to uint64) ([]Item, error)

// keysNear are keys at which something happens: few enough that they meet, and the ends.
var keysNear = rapid.OneOf(rapid.Uint64Range(0, 6000), rapid.SampledFrom([]uint64{0, maxKey, maxKey - 1, 1 << 63}))

// TestModel compares a tree with a map, by each way of reading it.
func TestModel(t *testing.T) {
	const slab = 512 * NodeBytes
	srv := readtest.Serve(t, slab)
	many, single := srv.Dial(NodeBytes, Window), srv.Dial(NodeBytes, 1)
	rapid.Check(t, func(rt *rapid.T) {
		clear(srv.Bytes())
		tree, err := New(srv.Bytes())
		if err != nil {
			rt.Fatal(err)
		}
		remote := func(ch *offload.Channel) scan {
			r := NewReader(ch, srv.Remote(), tree.Chunks())
			return func(from, to uint64) ([]Item, error) {
				return r.Scan(context.Background(), from, to, nil, &offload.Stats{})
			}
		}
		ways := map[string]scan{
			"local":   func(from, to uint64) ([]Item, error) { return tree.Scan(from, to, nil) },
			"offload": remote(many), "offload-single": remote(single),
		}
		want := map[uint64]uint64{}
		put := func(k, v uint64) {
			if err := tree.Put(k, v); err != nil {
				rt.Fatal(err)
			}
			want[k] = v
		}
		check := func(from, to uint64) {
			items := []Item{}
			for _, k := range slices.Sorted(maps.Keys(want)) {
				if from <= k && k <= to {
					items = append(items, Item{k, want[k]})
				}
			}
			for name, read := range ways {
				if got, err := read(from, to); err != nil || !slices.Equal(got, items) {
					i := 0
					for i < min(len(got), len(items)) && got[i] == items[i] {
						i++
					}
					rt.Fatalf("%s: keys %d to %d: %d items, %v; want %d; they differ from number %d on", name, from, to, len(got), err, len(items), i)
				}
			}
		}
		rt.Repeat(map[string]func(*rapid.T){
			"put": func(rt *rapid.T) { put(keysNear.Draw(rt, "key"), rapid.Uint64().Draw(rt, "value")) },
			"put many": func(rt *rapid.T) {
				k, step := keysNear.Draw(rt, "key"), rapid.SampledFrom([]uint64{1, 3, maxKey}).Draw(rt, "step")
				for range rapid.IntRange(1, 300).Draw(rt, "keys") {
					put(k, k^step)
					k += step
				}
			},
			"delete many": func(rt *rapid.T) {
				k := keysNear.Draw(rt, "key")
				for range rapid.IntRange(1, 200).Draw(rt, "keys") {
					_, had := want[k]
					if was, err := tree.Delete(k); err != nil || was != had {
						rt.Fatalf("delete of %d: %v, %v; want %v", k, was, err, had)
					}
					delete(want, k)
					k++
				}
			},
			"get":  func(rt *rapid.T) { k := keysNear.Draw(rt, "key"); check(k, k) },
			"scan": func(rt *rapid.T) { check(keysNear.Draw(rt, "from"), keysNear.Draw(rt, "to")) },
		})
		check(0, maxKey)
		if tree.Len() != len(want) {
			rt.Fatalf("%d keys, want %d", tree.Len(), len(want))
		}
	})
}

// TestTrips: a get reads a node of each level, and a range read has no more round trips.
func TestTrips(t *testing.T) {
	srv := readtest.Serve(t, SlabBytes(20_000))
	tree, err := New(srv.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for k := range uint64(20_000) {
		if err := tree.Put(k*7, k); err != nil {
			t.Fatal(err)
		}
	}
	r := NewReader(srv.Dial(NodeBytes, 64), srv.Remote(), tree.Chunks())
	for _, c := range []struct {
		name     string
		from, to uint64
		items    int
		most     uint64
	}{
		{"a get", 7 * 777, 7 * 777, 1, 3},
		{"1000 keys", 7000, 7*2000 - 1, 1000, 3 + 1000/(MaxEntries/2)},
	} {
		var st offload.Stats
		items, err := r.Scan(t.Context(), c.from, c.to, nil, &st)
		if err != nil || len(items) != c.items {
			t.Errorf("%s: %d items, %v", c.name, len(items), err)
		}
		if st.RoundTrips != 3 || st.Reads > srv.Copies()*(c.most+1) {
			t.Errorf("%s: %+v, want 3 round trips and at most %d reads", c.name, st, c.most+1)
		}
	}
}

// TestFull: a put that has no room for its splits changes nothing.
func TestFull(t *testing.T) {
	tree, err := New(make([]byte, 6*NodeBytes))
	if err != nil {
		t.Fatal(err)
	}
	k := uint64(0)
	for err == nil {
		err = tree.Put(k, k)
		k++
	}
	items, scanned := tree.Scan(0, maxKey, nil)
	if !errors.Is(err, ErrFull) || scanned != nil || len(items) != int(k-1) || tree.Len() != len(items) || len(items) < MaxEntries {
		t.Errorf("%v after %d keys; %d are there, %v", err, k, len(items), scanned)
	}
	if _, err := New(make([]byte, NodeBytes)); !errors.Is(err, ErrSlab) {
		t.Errorf("a slab of one node: %v", err)
	}
}
