package cli

import (
	"context"
	"io"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/datasets"
)

// LoadPlaces, for 'catfish demo', fills a new collection of features from a file, and returns their number.
func LoadPlaces(ctx context.Context, srv *catfish.Server, name, path string) (int, error) {
	c, err := srv.CreateFeatures(name, catfish.FeaturesOptions{Title: "Places"})
	if err != nil {
		return 0, err
	}
	quiet := &App{Out: io.Discard, Err: io.Discard}
	l := &featureLoader{a: quiet, to: catfish.FeaturesOf(c), name: name, space: c.Options().Space}
	err = c.Fill(func() error {
		return l.loadAll(ctx, new(placeFlags), &sourceFlags{memory: datasets.DefaultMemoryBytes}, []string{path})
	})
	return c.Len(), err
}
