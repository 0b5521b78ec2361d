package tile

import (
	"context"
	"errors"
	"fmt"
	"hash/crc32"
	"regexp"
	"sync"
	"time"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/feature/filter"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/internal/whole"
	"github.com/catfish-index/catfish/rstar"
)

// Errors. A returned error wraps one of them, or one of store's.
var (
	// ErrNoTile: there is no such tile.
	ErrNoTile = errors.New("tile: no such tile")
	// ErrSpace: tiles are of the sphere, and the collection is planar.
	ErrSpace = errors.New("tile: the collection is not geographic")
	// ErrTooMany: counts would have too many cells. A smaller area has fewer.
	ErrTooMany = errors.New("tile: too many for one answer")
)

const (
	// MaxBytes is the largest tile, uncompressed. Mapbox's and MapTiler's tools
	// allow as much. A phone draws one in a frame or two.
	MaxBytes = 500_000
	// MaxFeatures is how many features a tile draws at most: with 50 bytes each
	// they take MaxBytes, and reading them takes 20 ms.
	MaxFeatures = 10_000
	// MaxFiltered is up to how many boxes of features a filter looks at all:
	// half a second of work. Of more it looks at a sample.
	MaxFiltered = 200_000
)

// Options select features, and the parts of each that a tile has.
type Options struct {
	// Fields are names of properties; none: all.
	Fields []string
	// NoProperties leaves them out. The id stays.
	NoProperties bool
	// Filter is a condition (package internal/feature/filter). Then features are counted one
	// by one, and of more than MaxFiltered in the tile's area a sample (Tile.Sampled).
	Filter string
	// Where, if not nil, is a further condition. As with Filter, features are counted
	// one by one. Programs of one text must be the same condition.
	Where *filter.Program
	// Coding, if not nil, compresses the bytes.
	Coding *Coding
	// Pace and Hold are as in store.Query.
	Pace func() error
	Hold func(bytes int64) error
	// Bound, if not nil, is called by a Cache for a tile that it has to draw.
	// It calls draw once and returns nil, possibly after a wait until few other
	// tiles are drawn, or returns why it did not.
	Bound func(ctx context.Context, draw func()) error
}

// Coding is a way to compress tiles.
type Coding struct {
	Name string // unique
	// Encode returns data compressed, in new memory; nil: it would be no smaller.
	Encode func(data []byte) ([]byte, error)
}

// filtered reports whether features are looked at one by one.
func (o *Options) filtered() bool { return o.Filter != "" || o.Where != nil }

// timed reports whether the answer depends on the time, not only on stored
// data. A filter with the word in a text counts as one that does.
func (o *Options) timed() bool { return now.MatchString(o.Filter) }

var now = regexp.MustCompile(`\bnow\b`)

// Tile is a vector tile. It does not change.
type Tile struct {
	Data  []byte // empty if the tile shows nothing
	Coded bool   // Data is compressed, by Options.Coding
	// ETag, in quotes, is equal for equal states of what the tile shows, with the
	// same options, and for no others; it does not depend on Options.Coding. "": a
	// write there was in flight meanwhile, or the filter depends on the time.
	ETag string
	// Sampled, if not 0, says that a filter looked at the features of one in
	// Sampled boxes, and counted each as Sampled features, except large shapes.
	Sampled int

	revision uint64
	until    time.Duration // when the first feature expires, 0: never
}

// Builder draws tiles, and counts. The zero value is ready, and safe for concurrent use.
type Builder struct {
	// If not 0, they are less than the constants.
	MaxBytes, MaxFeatures, MaxFiltered int
}

// format is the version of the bytes and of the drawing: another one gives other ETags.
const format = 2

// Tile draws a tile of a collection in its current state: with every write that
// was acknowledged before. Concurrent writes may be in it or not.
func (b *Builder) Tile(ctx context.Context, c whole.Collection, z, x, y int, o Options) (Tile, error) {
	d, err := b.prepare(c, z, x, y, o)
	if err != nil {
		return Tile{}, err
	}
	return d.tile(ctx)
}

// drawing is the state of drawing one tile.
type drawing struct {
	*scratch
	c        whole.Collection
	name     string // of the collection, and of the layer
	o        Options
	area     *area
	q        *store.Prepared
	most     int // features
	filtered int // boxes
	sample   whole.Sample
	maxBytes int
	until    time.Duration
}

// scratch is memory for a drawing.
type scratch struct {
	layer  layer
	shaper shaper
	grid   rstar.Grid
	cells  cells
	ids    []uint64
	names  []string
	buffer store.Buffer
}

var scratches = sync.Pool{New: func() any { return new(scratch) }}

func (b *Builder) maxFiltered() int {
	if b.MaxFiltered > 0 {
		return min(b.MaxFiltered, MaxFiltered)
	}
	return MaxFiltered
}

func (b *Builder) prepare(c whole.Collection, z, x, y int, o Options) (*drawing, error) {
	a, err := newArea(z, x, y)
	if err != nil {
		return nil, err
	}
	if err := geographic(c); err != nil {
		return nil, err
	}
	if c.Several() {
		o.Pace = nil // The groups take slots; this one must hold none meanwhile.
	}
	d := &drawing{c: c, o: o, area: a, most: MaxFeatures, filtered: b.maxFiltered(), maxBytes: MaxBytes}
	if b.MaxBytes > 0 {
		d.maxBytes = min(d.maxBytes, b.MaxBytes)
	}
	if b.MaxFeatures > 0 {
		d.most = min(d.most, b.MaxFeatures)
	}
	q, err := c.Prepare(store.Query{Area: query.Box(a.west, a.south, a.east, a.north), Filter: o.Filter, Where: o.Where, Pace: o.Pace, Hold: o.Hold})
	d.q = q
	return d, err
}

// tile draws the tile, and knows its revision (store.Changes), unless it is of several groups.
func (d *drawing) tile(ctx context.Context) (t Tile, err error) {
	before, err := d.changes()
	if err != nil {
		return t, err
	}
	d.scratch = scratches.Get().(*scratch)
	defer scratches.Put(d.scratch)
	d.shaper.a = d.area
	d.name = d.c.Name()
	d.layer.reset(d.maxBytes, &d.o)
	if t.Data, err = d.draw(ctx); err != nil {
		return Tile{}, fmt.Errorf("tile: %d/%d/%d of %q: %w", d.area.z, d.area.x, d.area.y, d.c.Name(), err)
	}
	t.Sampled = d.sample.Every
	after, err := d.changes()
	if err != nil {
		return Tile{}, err
	}
	if !d.c.Several() && after.Begun == before.Ended && after.Boot == before.Boot && !d.o.timed() {
		t.revision, t.until = before.Ended, d.until
		// A state is a revision, the collection's name, and which features have
		// expired since: all up to the one that is now the first to expire.
		t.ETag = fmt.Sprintf(`"%d-%x-%x-%x-%x-%x"`, format, before.Boot, before.Collection, t.revision, int64(t.until), crc32.ChecksumIEEE([]byte(d.name)))
	}
	if d.o.Coding != nil && len(t.Data) > 0 {
		coded, err := d.o.Coding.Encode(t.Data)
		if err != nil {
			return Tile{}, err
		}
		if coded != nil {
			t.Data, t.Coded = coded, true
		}
	}
	return t, nil
}

// changes are those of the tile's area; of several groups they are not known.
func (d *drawing) changes() (store.Changes, error) {
	if d.c.Several() {
		return store.Changes{}, nil
	}
	return d.c.Own().Changes(d.q.Boxes())
}

// draw returns the tile's bytes.
func (d *drawing) draw(ctx context.Context) ([]byte, error) {
	most := d.most
	if d.o.filtered() {
		most = d.filtered
	}
	_, few, err := d.c.CountBoxes(ctx, d.q, most)
	switch {
	case err != nil:
		return nil, err
	case !few && d.o.filtered():
		if err := d.sampled(ctx); err != nil {
			return nil, err
		}
	case few:
		if data, ok, err := d.features(ctx); ok || err != nil {
			return data, err
		}
	}
	for n := mostCells; ; n /= 2 {
		if data, ok, err := d.clusters(ctx, n); ok || err != nil {
			return data, err
		}
	}
}

// features draws each feature; not ok: they are too many, or too large.
func (d *drawing) features(ctx context.Context) (data []byte, ok bool, err error) {
	defer d.layer.clear()
	d.shaper.coarse = 1
	drawn, fits := 0, true
	err = d.search(ctx, func(f *store.Found) (bool, error) {
		drawn++
		fits = drawn <= d.most && d.feature(f)
		return fits, nil
	})
	if err != nil || !fits {
		return nil, false, err
	}
	data, ok = d.layer.encode(d.name)
	return data, ok, nil
}

// search calls yield with the features of the area for which the conditions hold.
func (d *drawing) search(ctx context.Context, yield func(*store.Found) (bool, error)) error {
	return d.c.SearchSample(ctx, d.q, &d.sample, &d.buffer, yield)
}

// feature draws a feature; false: the tile has no room.
func (d *drawing) feature(f *store.Found) bool {
	d.expires(f)
	d.shaper.draw(&f.View)
	return d.layer.feature(f.ID, &f.View, &d.shaper)
}

func (d *drawing) expires(f *store.Found) {
	if f.Expiry != 0 && (d.until == 0 || f.Expiry < d.until) {
		d.until = f.Expiry
	}
}

func geographic(c whole.Collection) error {
	if s := c.Options().Space; s != feature.Geographic {
		return fmt.Errorf("%w: %q is %v", ErrSpace, c.Name(), s)
	}
	return nil
}
