package query

import (
	"fmt"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter/cel"
	"github.com/catfish-index/catfish/internal/record"
	"github.com/catfish-index/catfish/rstar"
)

// A feature that was offered is not looked at again, whether it passed or not, and the
// memory of those is bounded.
func TestNearestOffered(t *testing.T) {
	const far = remembered + 100
	found := make([]Found, far)
	for i := range found {
		f := Feature{
			ID: fmt.Sprint(i), Geometry: orb.Point{float64(i) / far, 0},
			Properties: fmt.Appendf(nil, `{"n":%d}`, i%2),
		}
		value, err := f.Encode(feature.Geographic)
		if err != nil {
			t.Fatal(err)
		}
		found[i] = Found{ID: []byte(f.ID), Value: value, Revision: uint64(i + 1)}
		if err := found[i].Open(); err != nil {
			t.Fatal(err)
		}
	}
	for text, wanted := range map[string]bool{"properties.n == 1": true, "properties.n == 2": false} {
		q := NearestQuery{K: 3, Filter: text}
		p, err := q.Prepare(feature.Geographic, cel.NewCache(1))
		if err != nil {
			t.Fatal(err)
		}
		n := p.Collect()
		offered := 0
		for i := range found {
			f := &found[i]
			it := rstar.Item{Rect: rstar.Rect(f.View.Boxes(nil)[0]), ID: uint64(i)}
			if !n.Wants(it) {
				continue
			}
			offered++
			if err := n.Offer(f, record.Ref(it.ID)); err != nil {
				t.Fatal(err)
			}
			if offered < remembered && n.Wants(it) {
				t.Fatalf("%s: %v is wanted again", text, it)
			}
		}
		if len(n.refs) > remembered+3 || n.Full() != wanted {
			t.Errorf("%s: %d remembered of %d, full %v", text, len(n.refs), offered, n.Full())
		}
		got := ""
		for f := range n.Result() {
			got += string(f.ID) + " "
		}
		if want := map[bool]string{true: "1 3 5 ", false: ""}[wanted]; got != want {
			t.Errorf("%s: found %s, want %s", text, got, want)
		}
	}
}

// A state that was read before, and is offered after a later one, changes nothing,
// even if it was nearer.
func TestNearestOlderState(t *testing.T) {
	for _, k := range []int{2, fewBest + 1} { // ids are found in two ways
		q := NearestQuery{K: k}
		p, err := q.Prepare(feature.Geographic, nil)
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
			if err := f.Open(); err != nil {
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
