package cluster

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/internal/replica/node"
	"github.com/catfish-index/catfish/rstar"
)

// roads is the map of g1 and g2 with a collection of boxes, of which both have half of the curve.
func roads(t *testing.T) *registry {
	t.Helper()
	r := newRegistry(t)
	if _, err := Init(t.Context(), r, []placement.Group{{Name: "g1", Weight: 1}, {Name: "g2", Weight: 1}}); err != nil {
		t.Fatal(err)
	}
	_, err := change(t.Context(), r, func(m *placement.Map) (*placement.Map, error) {
		b := placement.Largest(1, 2)
		return m.AddBoxes("roads", rstar.Rect{MaxX: 1, MaxY: 1}, nil, &b)
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

const half = 1<<63 - 1 // where the second range of roads begins

// A range is divided at a position, or at the median of its boxes; both parts are the same group's, with
// the same bounds, and nothing moves.
func TestSplit(t *testing.T) {
	r := roads(t)
	load := func(_ context.Context, m *placement.Map, collection string) (*BoxLoad, error) {
		return &BoxLoad{Sample: []uint64{1, half + 30, half + 20, half + 10, half + 40, 2}, Each: 48}, nil
	}
	at, start := uint64(1000), uint64(0)
	for i, c := range []struct {
		cut  Cut
		at   uint64
		want error
	}{
		{Cut{}, half + 30, nil}, // of the second one, which has the most
		{Cut{Start: &start}, 2, nil},
		{Cut{At: &at}, at, nil},
		{Cut{At: &at}, 0, placement.ErrMap},
		{Cut{Start: &start}, 0, placement.ErrLoad}, // 1 alone is left
		{Cut{Start: &at}, 0, placement.ErrLoad},
		{Cut{At: &at, Start: new(uint64(7))}, 0, placement.ErrUnknown},
	} {
		before, err := Read(t.Context(), r)
		if err != nil {
			t.Fatal(err)
		}
		m, got, err := Split(t.Context(), r, "roads", c.cut, load)
		if !errors.Is(err, c.want) || (err == nil) != (c.want == nil) {
			t.Fatalf("%d: %v, want %v", i, err, c.want)
		}
		if c.want != nil {
			continue
		}
		ranges := curveOf(m, "roads").Ranges
		n := slices.IndexFunc(ranges, func(r placement.Range) bool { return r.Start == c.at })
		if got != c.at || n < 1 || ranges[n].Group != ranges[n-1].Group || *ranges[n].Bounds != *ranges[n-1].Bounds {
			t.Errorf("%d: split at %d, want %d: %+v", i, got, c.at, ranges)
		}
		if m.Version != before.Version+1 || m.Epoch != before.Epoch || len(ranges) != len(curveOf(before, "roads").Ranges)+1 {
			t.Errorf("%d: version %d, epoch %d, %d ranges", i, m.Version, m.Epoch, len(ranges))
		}
	}
	if _, _, err := Split(t.Context(), r, "rails", Cut{At: &at}, nil); !errors.Is(err, placement.ErrUnknown) {
		t.Error(err)
	}
	_, err := change(t.Context(), r, func(m *placement.Map) (*placement.Map, error) {
		return m.Begin(placement.Move{Part: placement.Part{Collection: "roads", Start: 0}, From: 0, To: 1})
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := Split(t.Context(), r, "roads", Cut{At: new(uint64(1))}, nil); !errors.Is(err, placement.ErrBusy) {
		t.Error(err)
	}
}

// Each position of the samples of several groups stands for as many boxes, and copies of ranges of
// others do not count.
func TestBoxLoad(t *testing.T) {
	m, err := Read(t.Context(), roads(t))
	if err != nil {
		t.Fatal(err)
	}
	groups := []*node.Group{
		{Name: "g1", Members: []node.Member{{Name: "n1", Addr: "a:1"}}}, {Name: "g2", Members: []node.Member{{Name: "n1", Addr: "b:1"}}},
	}
	ask := func(addrs, group string) (int, []uint64, error) {
		var positions []uint64
		switch addrs {
		case "a:1": // 1,000 of 4,000 boxes, half of them copies
			for i := range uint64(500) {
				positions = append(positions, i, half+i)
			}
			return 4000, positions, nil
		case "b:1": // all of 1,000
			for i := range uint64(1000) {
				positions = append(positions, half+1000+i)
			}
			return 1000, positions, nil
		}
		return 0, nil, fmt.Errorf("asked %q of %q", addrs, group)
	}
	load, err := boxLoad(m, "roads", groups, ask)
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for _, at := range load.Sample {
		if at < 500 {
			n++
		}
	}
	if n != 500 || len(load.Sample) != 750 || load.Each != 4*boxBytes {
		t.Errorf("%d of %d positions, each for %d bytes", n, len(load.Sample), load.Each)
	}
	if _, err := boxLoad(m, "rails", groups, ask); !errors.Is(err, placement.ErrUnknown) {
		t.Error(err)
	}
	if _, err := boxLoad(m, "roads", groups[:1], ask); !errors.Is(err, ErrLoad) {
		t.Error(err)
	}
	away := errors.New("away")
	if _, err := boxLoad(m, "roads", groups, func(string, string) (int, []uint64, error) { return 0, nil, away }); !errors.Is(err, away) {
		t.Error(err)
	}
}
