package store

import (
	"errors"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/boottime"
	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/kv"
)

// A precondition refuses a write only by a state that is surely the latest.
func TestRefusedByAnOldState(t *testing.T) {
	st, g := member(t, t.TempDir()), leading()
	st.Replicate(g)
	c, err := st.CreateFeatures("places", CollectionOptions{})
	if err != nil {
		t.Fatal(err)
	}
	put := func(id string) error {
		_, _, err := c.Put(t.Context(), Feature{ID: id, Geometry: orb.Point{1, 1}}, kv.Condition{IfAbsent: true})
		return err
	}
	if err := put("a"); err != nil {
		t.Fatal(err)
	}
	if err := put("a"); !errors.Is(err, kv.ErrExists) {
		t.Errorf("the primary says %v", err)
	}
	if _, err := c.Delete(t.Context(), "b", kv.Condition{}); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("the primary says %v", err)
	}
	g.lease.Until = boottime.Now()
	if err := put("a"); !errors.Is(err, fault.ErrNotPrimary) {
		t.Errorf("a deposed primary says %v", err)
	}
	if _, err := c.Delete(t.Context(), "b", kv.Condition{}); !errors.Is(err, fault.ErrNotPrimary) {
		t.Errorf("a deposed primary says %v", err)
	}
}
