package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/rstar"
)

// sourceFlags say how to read data sets.
type sourceFlags struct {
	format, osm string
	highways    bool
	objects     int64
	seed        uint64
}

var formats = []string{"csv", "geojson", "osm", "rea02", "rec", "road"}

func (f *sourceFlags) register(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.format, "format", "",
		"format of the files: csv, geojson, osm, rea02, rec or road; empty: detect")
	complete(c, "format", formats...)
	f.registerOptions(c)
}

func (f *sourceFlags) registerOptions(c *cobra.Command) {
	fs := c.Flags()
	fs.StringVar(&f.osm, "osm", string(datasets.WaySegments),
		"what to take from OpenStreetMap files: segments, ways or nodes")
	fs.BoolVar(&f.highways, "highways", false,
		"take only OpenStreetMap ways with a highway tag")
	fs.Int64Var(&f.objects, "objects", 0, "how many objects a generator makes, 0: its default")
	fs.Uint64Var(&f.seed, "seed", 0, "seed of a generator")
	complete(c, "osm", "segments", "ways", "nodes")
}

// open opens a file or a generator. Reading starts later.
func (f *sourceFlags) open(spec string) (*datasets.Source, error) {
	if f.format != "" {
		if _, err := datasets.ParseFormat(f.format); err != nil {
			return nil, badUsage("--format: %w", err)
		}
		spec = f.format + ":" + spec
	}
	return datasets.Open(spec, datasets.Options{
		Count: f.objects, Seed: f.seed,
		OSM: datasets.OSMMode(f.osm), HighwaysOnly: f.highways,
	})
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
	return all, nil
}

// read passes all items of a source to each, with progress. Errors of
// each and of ctx end it too.
func (a *app) read(ctx context.Context, src *datasets.Source, each func(rstar.Item) error) error {
	p := newProgress(a.err, isTerminal(a.err), "loading "+src.Name(), src)
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
		fmt.Fprintln(a.err)
	}
	return err
}

// fill reads the sources and bulk loads a tree with all of them.
func (a *app) fill(ctx context.Context, tree *rstar.Tree, sources []*datasets.Source) error {
	var items []rstar.Item
	for _, src := range sources {
		if err := a.read(ctx, src, func(it rstar.Item) error {
			items = append(items, it)
			return nil
		}); err != nil {
			return err
		}
	}
	return tree.Load(items)
}
