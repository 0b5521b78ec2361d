package client

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store"
)

// Errors of features are this package's, and name places, in process and over a
// connection. Older programs, which compare with those of packages kv and store, find
// them, too.
func TestFeatureErrors(t *testing.T) {
	ctx := context.Background()
	local, err := server.Open(ctx, "", server.LocalOptions{SlabBytes: 1 << 24})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	remote := dial(t, startFeatures(t, server.Options{}), Options{Transport: model.TransportSoft, Logger: quiet()})
	for by, x := range map[string]interface {
		CreateFeatures(ctx context.Context, name string, o model.FeaturesOptions) error
		Features(name string) (*model.Features, error)
	}{"in process": local, "over a connection": remote} {
		if err := x.CreateFeatures(ctx, "cafes", model.FeaturesOptions{}); err != nil {
			t.Fatal(err)
		}
		cafes, err := x.Features("cafes")
		if err != nil {
			t.Fatal(err)
		}
		sol := model.Feature{ID: "sol", Geometry: orb.Point{1, 2}}
		if _, _, err := cafes.Put(ctx, sol, model.Condition{}); err != nil {
			t.Fatal(err)
		}
		_, get := cafes.Get(ctx, "nope")
		_, patch := cafes.Patch(ctx, "nope", []byte(`{}`), model.Condition{})
		_, del := cafes.Delete(ctx, "nope", model.Condition{})
		_, _, exists := cafes.Put(ctx, sol, model.Condition{IfAbsent: true})
		_, _, conflict := cafes.Put(ctx, sol, model.Condition{IfRevision: 1})
		_, gone := cafes.Delete(ctx, "nope", model.Condition{IfRevision: 1})
		for _, e := range []struct {
			err, is, was error
			text         string
		}{
			{get, model.ErrNotFound, kv.ErrNotFound, `no feature "nope" in "cafes"`},
			{patch, model.ErrNotFound, kv.ErrNotFound, `no feature "nope" in "cafes"`},
			{del, model.ErrNotFound, kv.ErrNotFound, `no feature "nope" in "cafes"`},
			{exists, model.ErrExists, kv.ErrExists, `feature "sol" is in "cafes" already, with revision `},
			{conflict, model.ErrConflict, kv.ErrConflict, `feature "sol" of "cafes" has revision `},
			{gone, model.ErrConflict, kv.ErrConflict, `no feature "nope" in "cafes", want revision 1`},
		} {
			if !errors.Is(e.err, e.is) || !errors.Is(e.err, e.was) || !strings.HasPrefix(e.err.Error(), e.text) {
				t.Errorf("%s: %v, want %v: %q", by, e.err, e.is, e.text)
			}
		}
		other, err := x.Features("nosuch") // Over a connection the first call shows it.
		if err == nil {
			_, err = other.Count(ctx, model.FeatureQuery{})
		}
		if !errors.Is(err, model.ErrUnknownCollection) || !errors.Is(err, store.ErrUnknownCollection) || !strings.Contains(err.Error(), `unknown collection: "nosuch"`) {
			t.Errorf("%s: %v", by, err)
		}
	}
}
