package web

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/catfish"
	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/limits"
	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/web/tile"
	"github.com/catfish-index/catfish/internal/whole"
)

// Vector tiles (package internal/web/tile, which draws and keeps them)
//
//	request   which tile, which features, which properties
//	cache     has the tile, and no write was made in it since: send it
//	drawing   otherwise wait for a slot, draw, compress and cache the tile
//
// The cache keeps a tile compressed, once for each coding, and sends it as it is.
//
// A few tiles are drawn at a time; sources share the slots round robin. Drawings have
// memory besides that of requests, so no tile is refused because others are drawn.

const (
	// DrawingBytes is the memory of a tile while it is drawn: 2 MB, and an encoder.
	DrawingBytes = 2<<20 + encoderBytes
	// sampledHeader is the sampled share of features in a filtered tile or in counts.
	sampledHeader = "Catfish-Sampled"
	// drawTries bounds the attempts at a drawing during which the process was stopped.
	drawTries = 3
)

// tiles draws and caches tiles.
type tiles struct {
	builder  tile.Builder
	cache    *tile.Cache
	drawings *limits.Slots
	bytes    int64 // limit of the cache
}

func newTiles(o *Options) tiles {
	bytes := max(0, o.TileCacheBytes)
	return tiles{cache: tile.NewCache(bytes, tile.Builder{}), drawings: limits.NewSlots(o.MaxDrawings), bytes: bytes}
}

// use is the size of the cache. Tiles belong to no source, so no source has a share; a
// new tile replaces the least recently used ones.
func (t *tiles) use() catfish.BudgetStats {
	s := t.cache.Stats()
	return catfish.BudgetStats{Name: "bytes of HTTP tiles", Used: s.Bytes, Limit: t.bytes, Share: t.bytes}
}

// xyz answers with a tile by the path of web maps.
func (q *request) xyz() error {
	y, ok := strings.CutSuffix(q.r.PathValue("y"), ".mvt")
	if !ok {
		return noTile("its path ends with %.50q, want a number and .mvt", q.r.PathValue("y"))
	}
	return q.tile(q.r.PathValue("z"), q.r.PathValue("x"), y)
}

// rowColumn answers with a tile by the path of the standard.
func (q *request) rowColumn() error {
	return q.tile(q.r.PathValue("tileMatrix"), q.r.PathValue("tileCol"), q.r.PathValue("tileRow"))
}

// sampled sets the header: the features of one in every boxes were looked at.
func (q *request) sampled(every int) { q.w.Header().Set(sampledHeader, "1/"+strconv.Itoa(every)) }

func noTile(format string, args ...any) error {
	return &statusError{http.StatusNotFound, "there is no such tile, " + fmt.Sprintf(format, args...)}
}

// tile answers with a vector tile.
func (q *request) tile(z, x, y string) error {
	c, err := q.find(access.Read)
	if err != nil {
		return err
	}
	var at [3]int
	for i, text := range []string{z, x, y} {
		n, err := strconv.ParseUint(text, 10, 31)
		if err != nil {
			return noTile("%.50q is no number", text)
		}
		at[i] = int(n)
	}
	if f, ok := q.params.take("f"); ok && f != "mvt" {
		return &paramError{name: "f", value: f, want: "mvt"}
	}
	o, err := q.tileOptions(c)
	if err != nil {
		return err
	}
	t, coding, err := q.drawn(c, at, o)
	if err != nil {
		return err
	}
	if err := q.hold(&q.holds.answer, int64(cap(t.Data))); err != nil {
		return err
	}
	q.varyByCoding()
	if t.Sampled != 0 {
		q.sampled(t.Sampled)
	}
	q.mayBeKept("no-store") // until it is known to be of one state
	if t.ETag != "" {
		q.mayBeKept("no-cache")
		if q.unchanged(t.ETag) {
			return nil
		}
	}
	if len(t.Data) == 0 {
		if err := q.believed(http.StatusNoContent); err != nil {
			return err
		}
		q.w.WriteHeader(http.StatusNoContent) // by OGC API - Tiles; MapLibre takes it as empty
		return nil
	}
	return q.sendCoded(http.StatusOK, typeMVT, coding, t.Data)
}

// tileOptions takes the parameters that select a tile's features and their properties.
func (q *request) tileOptions(c whole.Collection) (o tile.Options, err error) {
	if names, ok := q.params.take("properties"); ok {
		// A property that no feature has is no error: a feature may have it soon.
		o.Fields = slices.DeleteFunc(strings.Split(names, ","), func(s string) bool { return s == "" })
		slices.Sort(o.Fields)
		o.Fields = slices.Compact(o.Fields)
		o.NoProperties = len(o.Fields) == 0
	}
	err = q.drawConditions(c, &o, "f", "properties")
	return o, err
}

// drawConditions takes the parameters that select the features to draw or count. They
// are judged feature by feature, because a tile has an area of its own.
func (q *request) drawConditions(c whole.Collection, o *tile.Options, others ...string) error {
	query, err := q.conditionsIn(c, store.Query{Area: world}, others...)
	o.Filter, o.Where = query.Filter, query.Where
	return err
}

// drawn returns the tile as it is now, in a coding that the client accepts.
func (q *request) drawn(c whole.Collection, at [3]int, o tile.Options) (t tile.Tile, as coding, err error) {
	p := q.pacer(&o)
	defer p.End()
	o.Bound = q.bounded
	if as = q.accepted().best(tile.MaxBytes); as != identity {
		o.Coding = &tile.Coding{Name: as.String(), Encode: func(data []byte) ([]byte, error) { return encodeTile(as, data, p.Pause) }}
	}
	err = q.again(p, func() (err error) {
		t, err = q.cache.Tile(q.ctx, c, at[0], at[1], at[2], o)
		return err
	})
	if !t.Coded {
		as = identity
	}
	return t, as, err
}

// pacer lets drawing or counting take scheduling slots and hold memory as searches do.
func (q *request) pacer(o *tile.Options) *limits.Pacer {
	q.turns = limits.Pacer{Of: q.host, Ctx: q.ctx, Source: q.source}
	p := &q.turns
	o.Pace = p.Pause
	o.Hold = func(bytes int64) error { return q.hold(&q.holds.search, bytes) }
	return p
}

// bounded calls draw when it gets one of the few slots for drawings.
func (q *request) bounded(ctx context.Context, draw func()) error {
	return q.drawings.RunStep(ctx, q.source, draw)
}

// again calls draw, up to drawTries times, until the process was not stopped during it.
func (q *request) again(p *limits.Pacer, draw func() error) error {
	for try := 1; ; try++ {
		err := draw()
		p.End()
		if !errors.Is(err, store.ErrPaused) || try == drawTries {
			return err
		}
	}
}

// encodeTile compresses a tile; nil: it is kept uncompressed.
func encodeTile(c coding, data []byte, pause func() error) ([]byte, error) {
	if len(data) < minCoded {
		return nil, nil
	}
	out := bodies.Get().(*[]byte)
	defer keepBody(out)
	b, err := encode(c, (*out)[:0], data, func(int) error { return pause() })
	*out = b
	switch {
	case errors.Is(err, errTooLong):
		return nil, nil
	case err != nil:
		return nil, err
	}
	return slices.Clip(slices.Clone(b)), nil
}
