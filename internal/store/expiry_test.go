package store

import (
	"errors"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/kv"
)

// For conditions, a feature that has expired, and is not deleted yet, does not exist.
func TestConditionsOfExpired(t *testing.T) {
	now := &clock{}
	now.advance(1e18)
	st := open(t, Options{Now: now.Now})
	c := create(t, st, CollectionOptions{})
	ctx := t.Context()
	put := func(expires time.Duration, cond kv.Condition) (uint64, error) {
		f := Feature{ID: "a", Geometry: orb.Point{1, 1}, Properties: []byte(`{}`)}
		if expires > 0 {
			f.Expires = time.Unix(0, int64(expires))
		}
		_, rev, err := c.Put(ctx, f, cond)
		return rev, err
	}
	rev, err := put(now.Now()+time.Second, kv.Condition{})
	if err != nil {
		t.Fatal(err)
	}
	now.advance(2 * time.Second)
	if _, err := c.Get(ctx, "a"); !errors.Is(err, kv.ErrNotFound) {
		t.Fatal(err)
	}
	if _, err := c.Patch(ctx, "a", []byte(`{"b":1}`), kv.Condition{}); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("patch: %v", err)
	}
	if _, err := c.Delete(ctx, "a", kv.Condition{}); !errors.Is(err, kv.ErrNotFound) {
		t.Errorf("delete: %v", err)
	}
	if _, err := put(0, kv.Condition{IfRevision: rev}); err == nil {
		t.Error("put in place of an expired revision")
	}
	again, err := put(0, kv.Condition{IfAbsent: true})
	if err != nil || again <= rev {
		t.Errorf("put if absent: %d after %d, %v", again, rev, err)
	}
	for range 100 { // Tidying does not delete the new one.
		c.Tidy(1000)
	}
	if f, err := c.Get(ctx, "a"); err != nil || f.Revision != again {
		t.Errorf("%+v, %v", f, err)
	}
}
