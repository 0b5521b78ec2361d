package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/feature"
)

// loadFeatures loads files into the collection of features that f names. If fresh is not
// nil, the collection does not exist, and is created before the first place is stored.
func (a *App) loadFeatures(ctx context.Context, cl *catfish.Client, f *clientFlags, pf *placeFlags, sf *sourceFlags, files []string, fresh *catfish.FeaturesOptions) error {
	if err := NoUse(sf.flags, "for a collection of features", boxFlagNames...); err != nil {
		return err
	}
	to, err := cl.Features(f.collection)
	if err != nil {
		return err
	}
	l := &featureLoader{a: a, to: to, name: f.collection}
	if fresh != nil {
		l.space = fresh.Space
		l.create = func() error { return cl.CreateFeatures(ctx, f.collection, *fresh) }
	} else {
		info, err := to.Describe(ctx)
		if err != nil {
			return err
		}
		if pf.planar && info.Space != feature.Planar {
			return BadUsage("--planar: collection %q is %v", f.collection, info.Space)
		}
		l.space = info.Space
	}
	err = l.loadAll(ctx, pf, sf, files)
	if fresh != nil && l.create == nil && l.stored.Load() == 0 && (err != nil || l.total.Bad > 0) && !l.unsure.Load() {
		err = errors.Join(err, dropEmpty(ctx, cl, to, f.collection))
	}
	if err != nil {
		return err
	}
	return l.report(f, cl.Info().Transport)
}

// dropPatience bounds how long a failed load tries to remove its new collection.
const dropPatience = 5 * time.Second

// dropEmpty removes a collection that was created for a load that stored nothing, unless
// another client has stored something in it.
func dropEmpty(ctx context.Context, cl *catfish.Client, c *catfish.Features, name string) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), dropPatience)
	defer cancel()
	info, err := c.Describe(ctx)
	if err == nil && info.Features == 0 {
		_, err = cl.DropCollection(ctx, name)
	}
	if err != nil {
		return fmt.Errorf("collection %s was made, and stays: %w", name, err)
	}
	return nil
}

// loadedJSON is the output of load with --json.
type loadedJSON struct {
	Collection string `json:"collection"`
	Loaded     int64  `json:"loaded"`
	Bad        int64  `json:"bad"`
	NoGeometry int64  `json:"no_geometry"`
	Incomplete int64  `json:"incomplete"`
	Transport  string `json:"transport"`
	Read       int64  `json:"read"`
	// Of loaded; nil: the server is too old to report it.
	New           *int64    `json:"new,omitempty"`
	Replaced      *int64    `json:"replaced,omitempty"`
	FirstReplaced *recordAt `json:"first_replaced,omitempty"`
}

// report prints what became of the records.
func (l *featureLoader) report(f *clientFlags, transport string) error {
	var none error
	loaded, created, replaced := l.stored.Load(), l.created.Load(), l.replaced.Load()
	if loaded == 0 && l.total.Bad > 0 {
		none = fmt.Errorf("nothing was loaded: all %d records are bad", l.total.Bad)
	}
	said := created+replaced == loaded
	if !said {
		fmt.Fprintf(l.a.Err, "the server is older than this client, and does not say which features took the place of others\n")
	}
	if f.json {
		out := loadedJSON{
			Collection: f.collection, Loaded: loaded, Bad: l.total.Bad, NoGeometry: l.total.NoGeometry, Incomplete: l.total.Incomplete,
			Transport: transport, Read: l.read, FirstReplaced: l.first,
		}
		if said {
			out.New, out.Replaced = &created, &replaced
		}
		return errors.Join(none, l.a.json(out))
	}
	if none != nil {
		return none
	}
	text := ""
	if replaced > 0 {
		text = fmt.Sprintf(": %d read, %d new, %d took the place of a feature with the same id, the first %v", l.read, created, replaced, l.first)
	}
	if l.total.Bad > 0 {
		text += fmt.Sprintf(", %d bad records were left out", l.total.Bad)
	}
	return l.a.Printf("loaded %d features into %s%s\n", loaded, f.collection, text)
}
