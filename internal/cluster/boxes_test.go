package cluster

import (
	"context"
	"errors"
	"testing"

	"github.com/catfish-index/catfish/internal/coord"
	"github.com/catfish-index/catfish/internal/placement"
	"github.com/catfish-index/catfish/rstar"
)

// oneMap is a coordinator with the map alone. before is called once, before a change.
type oneMap struct {
	v      coord.Value
	before func()
}

func (o *oneMap) Get(context.Context, string) (coord.Value, error) { return o.v, nil }

func (o *oneMap) Swap(_ context.Context, _ string, version int64, b []byte) (int64, error) {
	if f := o.before; f != nil {
		o.before = nil
		f()
	}
	if version != o.v.Version {
		return 0, coord.ErrConflict
	}
	o.v = coord.Value{Bytes: b, Version: version + 1}
	return o.v.Version, nil
}

func (o *oneMap) Watch(context.Context, string, func()) {}

// A collection is placed once; a change of the map meanwhile is kept.
func TestPlaceBoxes(t *testing.T) {
	ctx, o := t.Context(), &oneMap{}
	place := func(name string) (*placement.Map, error) {
		return PlaceBoxes(ctx, o, name, func(m *placement.Map) (*placement.Map, error) {
			return m.AddBoxes(name, rstar.Rect{MaxX: 1, MaxY: 1}, nil, nil)
		})
	}
	if _, err := place("roads"); !errors.Is(err, ErrRefused) {
		t.Errorf("without a map: %v", err)
	}
	m, err := placement.New([]placement.Group{{Name: "a", Weight: 1}, {Name: "b", Weight: 1}})
	if err != nil {
		t.Fatal(err)
	}
	b, err := m.Encode()
	if err != nil {
		t.Fatal(err)
	}
	o.v = coord.Value{Bytes: b, Version: 7}
	o.before = func() {
		if _, err := place("rails"); err != nil {
			t.Error(err)
		}
	}
	if m, err = place("roads"); err != nil || !m.Places("roads") || !m.Places("rails") || m.Epoch != 1 {
		t.Errorf("%+v, %v", m, err)
	}
	if _, err := place("roads"); !errors.Is(err, ErrRefused) {
		t.Errorf("again: %v", err)
	}
	if is, err := Read(ctx, o); err != nil || len(is.Boxes) != 2 {
		t.Errorf("%+v, %v", is, err)
	}
}
