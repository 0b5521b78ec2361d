package client

import (
	"errors"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/catfish/model"
	"github.com/catfish-index/catfish/catfish/server"
	"github.com/catfish-index/catfish/internal/store"
)

// If a collection exists already, either it has the requested options, or the error
// names the difference.
func TestCreateAgain(t *testing.T) {
	s := startServer(t, server.Options{})
	c := dial(t, s, messagesOnly(model.TransportTCP))
	ctx := t.Context()
	records := func(shards int) error { return c.CreateRecords(ctx, "r", model.RecordsOptions{Shards: shards}) }
	features := func(o model.FeaturesOptions) error { return c.CreateFeatures(ctx, "f", o) }
	if err := errors.Join(records(3), features(model.FeaturesOptions{Title: "Cafés"})); err != nil {
		t.Fatal(err)
	}
	for _, err := range []error{records(3), records(0), features(model.FeaturesOptions{Title: "Cafés"})} {
		if err != nil {
			t.Errorf("the same again: %v", err)
		}
	}
	for want, err := range map[string]error{
		"3 shards, not 5":                      records(5),
		`the title "Cafés", not "Bars"`:        features(model.FeaturesOptions{Title: "Bars"}),
		"space geographic, not planar":         features(model.FeaturesOptions{Title: "Cafés", Space: 1}),
		`the description "", not "Of a town."`: features(model.FeaturesOptions{Title: "Cafés", Description: "Of a town."}),
	} {
		if !errors.Is(err, store.ErrCollectionExists) || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
