package store

import (
	"fmt"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/feature"
	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/record"
	"github.com/catfish-index/catfish/rstar"
)

// A feature that was offered is not looked at again, whether it passed or not, and the
// memory of those is bounded.
func TestNearestOffered(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	const far = remembered + 100
	for i := range far {
		f := Feature{
			ID: fmt.Sprint(i), Geometry: orb.Point{float64(i) / far, 0},
			Properties: fmt.Appendf(nil, `{"n":%d}`, i%2),
		}
		if _, _, err := c.Put(t.Context(), f, kv.Condition{}); err != nil {
			t.Fatal(err)
		}
	}
	for filter, wanted := range map[string]bool{"properties.n == 1": true, "properties.n == 2": false} {
		p, err := c.PrepareNearest(NearestQuery{K: 3, Filter: filter})
		if err != nil {
			t.Fatal(err)
		}
		n := p.Collect()
		var b Buffer
		b.begin(t.Context(), c.set, nil, nil)
		offered := 0
		var items []rstar.Item
		c.Tree().Search(rstar.Rect{MinX: -1, MinY: -1, MaxX: 2, MaxY: 1}, func(r rstar.Rect, id uint64) bool {
			items = append(items, rstar.Item{Rect: r, ID: id})
			return true
		})
		for _, it := range items {
			if !n.Wants(it) {
				continue
			}
			ok, err := c.set.read(record.Ref(it.ID), &b, &b.found)
			if err == nil && ok {
				offered++
				err = n.Offer(&b.found, record.Ref(it.ID))
			}
			if err != nil {
				t.Fatal(err)
			}
			if offered < remembered && n.Wants(it) {
				t.Fatalf("%s: %v is wanted again", filter, it)
			}
		}
		if len(n.refs) > remembered+3 || n.Full() != wanted {
			t.Errorf("%s: %d remembered of %d, full %v", filter, len(n.refs), offered, n.Full())
		}
		got := ""
		for f := range n.Result() {
			got += string(f.ID) + " "
		}
		if want := map[bool]string{true: "1 3 5 ", false: ""}[wanted]; got != want {
			t.Errorf("%s: found %s, want %s", filter, got, want)
		}
	}
}

// A state that was read before, and is offered after a later one, changes nothing,
// even if it was nearer.
func TestNearestOlderState(t *testing.T) {
	c := create(t, open(t, Options{}), CollectionOptions{})
	for _, k := range []int{2, fewBest + 1} { // ids are found in two ways
		p, err := c.PrepareNearest(NearestQuery{K: k})
		if err != nil {
			t.Fatal(err)
		}
		n := p.Collect()
		for i, x := range []struct {
			at       float64
			revision uint64
		}{{3, 7}, {1, 6}, {2, 7}} {
			value, err := feature.Append(nil, orb.Point{x.at, 0}, nil)
			if err != nil {
				t.Fatal(err)
			}
			f := Found{ID: []byte("a"), Value: value, Revision: x.revision}
			if err := f.open(); err != nil {
				t.Fatal(err)
			}
			if err := n.Offer(&f, record.Ref(i+1)); err != nil {
				t.Fatal(err)
			}
		}
		met := 0
		for f := range n.Result() {
			if met++; f.View.Bound().MinX != 3 || f.Revision != 7 {
				t.Errorf("k %d: revision %d at %v", k, f.Revision, f.View.Bound())
			}
		}
		if met != 1 {
			t.Errorf("k %d: %d found of one", k, met)
		}
	}
}
