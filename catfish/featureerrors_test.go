package catfish

import (
	"context"
	"errors"
	"go/parser"
	"go/token"
	"reflect"
	"strconv"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/kv"
	"github.com/catfish-index/catfish/store"
)

// Errors of features are this package's, and name places, in process and over a
// connection. Older programs, which compare with those of packages kv and store, find
// them, too.
func TestFeatureErrors(t *testing.T) {
	ctx := context.Background()
	local, err := Open(ctx, "", LocalOptions{SlabBytes: 1 << 24})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := local.Close(); err != nil {
			t.Error(err)
		}
	})
	remote := dial(t, startFeatures(t, ServerOptions{}), Options{Transport: TransportSoft, Logger: quiet()})
	for by, x := range map[string]interface {
		CreateFeatures(ctx context.Context, name string, o FeaturesOptions) error
		Features(name string) (*Features, error)
	}{"in process": local, "over a connection": remote} {
		if err := x.CreateFeatures(ctx, "cafes", FeaturesOptions{}); err != nil {
			t.Fatal(err)
		}
		cafes, err := x.Features("cafes")
		if err != nil {
			t.Fatal(err)
		}
		sol := Feature{ID: "sol", Geometry: orb.Point{1, 2}}
		if _, _, err := cafes.Put(ctx, sol, Condition{}); err != nil {
			t.Fatal(err)
		}
		_, get := cafes.Get(ctx, "nope")
		_, patch := cafes.Patch(ctx, "nope", []byte(`{}`), Condition{})
		_, del := cafes.Delete(ctx, "nope", Condition{})
		_, _, exists := cafes.Put(ctx, sol, Condition{IfAbsent: true})
		_, _, conflict := cafes.Put(ctx, sol, Condition{IfRevision: 1})
		_, gone := cafes.Delete(ctx, "nope", Condition{IfRevision: 1})
		for _, e := range []struct {
			err, is, was error
			text         string
		}{
			{get, ErrNotFound, kv.ErrNotFound, `no feature "nope" in "cafes"`},
			{patch, ErrNotFound, kv.ErrNotFound, `no feature "nope" in "cafes"`},
			{del, ErrNotFound, kv.ErrNotFound, `no feature "nope" in "cafes"`},
			{exists, ErrExists, kv.ErrExists, `feature "sol" is in "cafes" already, with revision `},
			{conflict, ErrConflict, kv.ErrConflict, `feature "sol" of "cafes" has revision `},
			{gone, ErrConflict, kv.ErrConflict, `no feature "nope" in "cafes", want revision 1`},
		} {
			if !errors.Is(e.err, e.is) || !errors.Is(e.err, e.was) || !strings.HasPrefix(e.err.Error(), e.text) {
				t.Errorf("%s: %v, want %v: %q", by, e.err, e.is, e.text)
			}
		}
		other, err := x.Features("nosuch") // Over a connection the first call shows it.
		if err == nil {
			_, err = other.Count(ctx, FeatureQuery{})
		}
		if !errors.Is(err, ErrUnknownCollection) || !errors.Is(err, store.ErrUnknownCollection) || !strings.Contains(err.Error(), `unknown collection: "nosuch"`) {
			t.Errorf("%s: %v", by, err)
		}
	}
}

// A program that uses places imports this package and orb, and of Catfish otherwise only
// readers of files: what docs/compatibility.md promises.
func TestPlacesNeedNoOtherPackage(t *testing.T) {
	f, err := parser.ParseFile(token.NewFileSet(), "example_features_test.go", nil, parser.ImportsOnly)
	if err != nil {
		t.Fatal(err)
	}
	const ours = "github.com/catfish-index/catfish/"
	for _, i := range f.Imports {
		path, _ := strconv.Unquote(i.Path.Value)
		if of, ok := strings.CutPrefix(path, ours); ok && of != "catfish" && of != "datasets/places" {
			t.Errorf("the examples import %s", path)
		}
	}
	for _, x := range []any{Feature{}, FeatureQuery{}, NearestQuery{}, FeatureFields{}, FeaturesOptions{}, LocalOptions{}} {
		if of := reflect.TypeOf(x); !strings.HasPrefix(of.PkgPath(), ours+"catfish") {
			t.Errorf("%v is of %s, where users do not look for its fields", of, of.PkgPath())
		}
	}
}
