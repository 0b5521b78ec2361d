package cli

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/internal/places"
	"github.com/catfish-index/catfish/rstar"
)

// sourceFlags say how to read data sets.
type sourceFlags struct {
	format, osm string
	highways    bool
	objects     int64
	seed        uint64
	memory      int64
	flags       *pflag.FlagSet // of the command
}

// Formats of data sets, as --format takes them.
var Formats = []string{"csv", "geojson", "geojsonseq", "osm", "pbf", "fgb", "rea02", "rec", "road"}

func (f *sourceFlags) register(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.format, "format", "",
		"format of the files: csv, geojson, osm, of boxes also rea02, rec or road,\nof features also geojsonseq or fgb; empty: detect")
	Complete(c, "format", Formats...)
	f.registerOptions(c)
}

func (f *sourceFlags) registerOptions(c *cobra.Command) {
	fs := c.Flags()
	f.flags = fs
	fs.StringVar(&f.osm, "osm", string(datasets.WaySegments),
		"what to take from OpenStreetMap files: segments, ways or nodes")
	fs.BoolVar(&f.highways, "highways", false,
		"take only OpenStreetMap ways with a highway tag")
	fs.Int64Var(&f.objects, "objects", 0, "how many objects a generator makes, 0: its default")
	fs.Uint64Var(&f.seed, "seed", 0, "seed of a generator")
	fs.Int64Var(&f.memory, "read-memory", datasets.DefaultMemoryBytes,
		"most bytes to keep while reading a file: OpenStreetMap needs 24 for each node")
	Complete(c, "osm", "segments", "ways", "nodes")
}

// open opens a file or a generator. Reading starts later.
func (f *sourceFlags) open(spec string) (*datasets.Source, error) {
	if f.memory <= 0 {
		return nil, BadUsage("--read-memory is %d, want 1 or more", f.memory)
	}
	if f.format != "" {
		if _, err := datasets.ParseFormat(f.format); err != nil {
			return nil, BadUsage("--format: %w", err)
		}
		spec = f.format + ":" + spec
	}
	return datasets.Open(spec, datasets.Options{
		Count: f.objects, Seed: f.seed,
		OSM: datasets.OSMMode(f.osm), HighwaysOnly: f.highways,
		MemoryBytes: f.memory,
	})
}

// missing reports the file that does not exist, before anything else is done.
func (f *sourceFlags) missing(specs []string) error {
	for _, s := range specs {
		if s == places.Stdin {
			continue
		}
		if _, err := f.open(s); errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// openAll opens every source before any is read.
func (f *sourceFlags) openAll(specs []string) ([]*datasets.Source, error) {
	var all []*datasets.Source
	for _, s := range specs {
		src, err := f.open(s)
		if err != nil {
			return nil, err
		}
		all = append(all, src)
	}
	if len(all) > 0 {
		if err := f.noUse(all); err != nil {
			return nil, err
		}
	}
	return all, nil
}

// read passes all items of a source to each, with progress. An error of
// each or of ctx ends it too.
func (a *App) read(ctx context.Context, src *datasets.Source, each func(rstar.Item) error) error {
	p := newProgress(a.Err, IsTerminal(a.Err), "loading "+src.Name(), src)
	p.stamp = a.stamp && p.bar == nil
	var failed error
	err := src.Items(func(it rstar.Item) bool {
		if failed = each(it); failed == nil && p.items%progressItems == 0 {
			failed = ctx.Err()
		}
		if failed == nil {
			p.item()
		}
		return failed == nil
	})
	if failed != nil {
		err = failed
	}
	if err == nil {
		p.end()
	} else if p.bar != nil {
		fmt.Fprintln(a.Err)
	}
	return err
}

// fill reads the sources and bulk loads a tree, by calling load, with all of them that takes
// wants, nil: all. Data that does not fit is an error as soon as that is known, before fill
// allocates memory for it.
func (a *App) fill(ctx context.Context, tree *rstar.Tree, load func([]rstar.Item) error, takes func(rstar.Rect) (bool, error), sources []*datasets.Source) error {
	g := datasets.NewGather(tree)
	for _, src := range sources {
		var err error
		if takes == nil {
			err = g.Expect(src)
		}
		if err == nil {
			err = a.read(ctx, src, func(it rstar.Item) error {
				if takes != nil {
					if ok, err := takes(it.Rect); !ok || err != nil {
						return err
					}
				}
				return g.Add(it, src)
			})
		}
		if errors.Is(err, datasets.ErrTooMany) {
			err = fmt.Errorf("%w: %w; nothing was loaded%s", rstar.ErrSlabFull, err,
				slabFor(tree, src, int64(len(g.Items())), g.Most))
		}
		if err != nil {
			return err
		}
	}
	return load(g.Items())
}

// slabFor says which --slab-bytes a source needs beside the items read before it,
// if that is known.
func slabFor(tree *rstar.Tree, src *datasets.Source, before, room int64) string {
	have := tree.Stats().SlabBytes
	if src.Count() == datasets.Unknown || room == 0 {
		return fmt.Sprintf("; the tree has %d bytes, want a larger --slab-bytes", have)
	}
	// One percent more than in proportion, for upper levels and reserved nodes.
	const mib = 1 << 20
	need := float64(have) / float64(room) * float64(before+src.Count()) * 1.01
	return fmt.Sprintf("; the tree has %d bytes, want --slab-bytes %d", have, (int64(need)/mib+1)*mib)
}
