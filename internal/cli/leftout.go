package cli

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/catfish-index/catfish/datasets"
	"github.com/catfish-index/catfish/internal/places"
)

// placesHint names the collection for places that do not fit into one of boxes.
const placesHint = "Places go to a collection of features: name it with --collection NAME."

// tellLeftOut reports the files of which a collection of boxes stores only the boxes. A
// user who types a flag of boxes means the boxes.
func (a *App) tellLeftOut(sf *sourceFlags, into string, files []string) {
	for _, name := range boxFlagNames {
		if sf.flags != nil && sf.flags.Changed(name) {
			return
		}
	}
	for _, spec := range files {
		if sf.areBoxes(spec) {
			continue
		}
		fmt.Fprintf(a.Err, "%s: only the boxes go into %s, which is of boxes: ids, names and properties are left out. %s\n", spec, into, placesHint)
	}
}

// notBoxes adds to an error about files of boxes how to load places.
func (sf *sourceFlags) notBoxes(err error, files []string) error {
	if !errors.Is(err, datasets.ErrSyntax) && !errors.Is(err, datasets.ErrFormat) && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	for _, spec := range files {
		src, oerr := sf.open(spec)
		if oerr == nil && (src.Format() == datasets.GeoJSON || src.Format() == datasets.OSM) {
			continue // They are malformed as places, too.
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
