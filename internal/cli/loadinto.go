package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/feature"
)

// intoFlags are the flags of commands that store places in a collection.
type intoFlags struct {
	placeFlags
	features, noCreate bool
}

func (f *intoFlags) register(c *cobra.Command) {
	f.placeFlags.register(c)
	fs := c.Flags()
	fs.BoolVar(&f.features, "features", false, "load features, also from files that hold boxes; the collection is made if it is not there")
	fs.BoolVar(&f.noCreate, "no-create", false, "fail if the collection is not there")
}

func (f *intoFlags) noUse(why string) error {
	return NoUse(f.flags, why, append([]string{"features", "no-create"}, placeFlagNames...)...)
}

// loadInto loads files into a collection of either kind.
func (a *App) loadInto(ctx context.Context, f clientFlags, into *intoFlags, sf *sourceFlags, files []string) error {
	if len(files) == 0 {
		return errNoFile
	}
	if err := sf.missing(files); err != nil {
		return err
	}
	what := catfish.KindFeatures
	if !into.features {
		what = sf.boxesOrPlaces(files)
	}
	cl, done, err := f.dialAny(ctx, a)
	if err != nil {
		return err
	}
	defer done()
	kind, err := kindOf(ctx, cl)
	if errors.Is(err, catfish.ErrUnknownCollection) && !into.noCreate && what == catfish.KindFeatures {
		fresh := into.space()
		return a.loadFeatures(ctx, cl, &f, &into.placeFlags, sf, files, &fresh)
	}
	if err != nil {
		return err
	}
	if kind == catfish.KindFeatures || into.features {
		return a.loadFeatures(ctx, cl, &f, &into.placeFlags, sf, files, nil)
	}
	if err := into.noUse("for a collection of " + kind); err != nil {
		return err
	}
	sources, err := sf.openFiles(files)
	if err != nil {
		return sf.notBoxes(err, files)
	}
	return a.loadBoxes(ctx, cl, f, sf, files, sources)
}

// dialAny is dial for a collection that need not exist.
func (f *clientFlags) dialAny(ctx context.Context, a *App) (cl *catfish.Client, done func(), err error) {
	first := *f
	first.collection = catfish.DefaultCollection
	conn, err := first.dial(ctx, a)
	if err != nil {
		return nil, nil, err
	}
	if cl, err = conn.Collection(f.collection); err != nil {
		conn.Close()
		return nil, nil, err
	}
	return cl, func() { conn.Close() }, nil
}

// planarOptions returns the options for creating a collection.
func planarOptions(planar bool) (o catfish.FeaturesOptions) {
	if planar {
		o.Space = feature.Planar
	}
	return o
}
