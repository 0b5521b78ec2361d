package catfish_test

import (
	"context"
	"errors"
	"testing"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/kv"
)

// An ended context ends each call of a Local before it begins, as over a connection.
func TestLocalEndedContext(t *testing.T) {
	l, err := catfish.Open(t.Context(), "", catfish.LocalOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	for _, name := range []string{"c", "other"} {
		if err := l.CreateFeatures(t.Context(), name, catfish.FeaturesOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	f, err := l.Features("c")
	if err != nil {
		t.Fatal(err)
	}
	if _, _, err := f.Put(t.Context(), catfish.Feature{ID: "a"}, kv.Condition{}); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	for what, call := range map[string]func() error{
		"put":    func() error { _, _, err := f.Put(ctx, catfish.Feature{ID: "a"}, kv.Condition{}); return err },
		"patch":  func() error { _, err := f.Patch(ctx, "a", []byte(`{}`), kv.Condition{}); return err },
		"get":    func() error { _, err := f.Get(ctx, "a"); return err },
		"many":   func() error { _, err := f.GetMany(ctx, []string{"a"}); return err },
		"delete": func() error { _, err := f.Delete(ctx, "a", kv.Condition{}); return err },
		"where":  func() error { _, err := f.DeleteWhere(ctx, catfish.FeatureQuery{}); return err },
		"create": func() error { return l.CreateFeatures(ctx, "d", catfish.FeaturesOptions{}) },
		"drop":   func() error { _, err := l.DropCollection(ctx, "c"); return err },
		"swap":   func() error { return l.SwapCollections(ctx, "c", "other") },
		"count":  func() error { _, err := f.Count(ctx, catfish.FeatureQuery{}); return err },
		"search": func() (err error) {
			for _, err = range f.Search(ctx, catfish.FeatureQuery{}) {
			}
			return err
		},
		"nearest": func() (err error) {
			for _, err = range f.Nearest(ctx, catfish.NearestQuery{K: 1}) {
			}
			return err
		},
		"watch": func() (err error) {
			for _, err = range f.Watch(ctx, catfish.WatchQuery{}) {
			}
			return err
		},
	} {
		if err := call(); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v, want context.Canceled", what, err)
		}
	}
	if f, err := f.Get(t.Context(), "a"); err != nil || f.ID != "a" {
		t.Errorf("%v, %v", f, err)
	}
}
