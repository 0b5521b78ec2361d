package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/datasets/places"
)

// placesHint says where places go that boxes have no room for.
const placesHint = "Places go to a collection of features: name it with --collection NAME."

// tellLeftOut says of which files a collection of boxes takes the boxes alone. Who
// types a flag of boxes means them.
func (a *app) tellLeftOut(sf *sourceFlags, into string, files []string) {
	for _, name := range boxFlagNames {
		if sf.flags != nil && sf.flags.Changed(name) {
			return
		}
	}
	for _, spec := range files {
		if sf.areBoxes(spec) {
			continue
		}
		fmt.Fprintf(a.err, "%s: only the boxes go into %s, which is of boxes: ids, names and properties are left out. %s\n", spec, into, placesHint)
	}
}

// notBoxes adds to what is wrong with files of boxes that places are read otherwise.
func (sf *sourceFlags) notBoxes(err error, files []string) error {
	if !errors.Is(err, datasets.ErrSyntax) && !errors.Is(err, datasets.ErrFormat) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, spec := range files {
		src, oerr := sf.open(spec)
		if oerr == nil && (src.Format() == datasets.GeoJSON || src.Format() == datasets.OSM) {
			continue // They are as malformed for places.
		}
		if !sf.areBoxes(spec) {
			r, perr := places.Open(spec, places.Options{})
			if perr == nil {
				_ = r.Close() // only opened
			}
			if errors.As(perr, new(*places.ForeignError)) {
				return convertible(perr, spec, "NAME")
			}
			return fmt.Errorf("%w\n%s", err, placesHint)
		}
	}
	return err
}
