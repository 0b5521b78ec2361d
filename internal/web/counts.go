package web

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"

	"github.com/catfish-index/catfish/internal/access"
	"github.com/catfish-index/catfish/internal/web/tile"
	"github.com/catfish-index/catfish/internal/whole"
)

// Counts of features by cells, for clusters and heat maps (tile.Builder.Counts): the
// non-empty cells of a zoom, as GeoJSON.

const (
	countsPattern = "/collections/{collectionId}/counts"
	// cellBytes is the memory of a cell until it is written.
	cellBytes = 40
)

// counts answers with the number of features in each cell of an area.
func (q *request) counts() error {
	c, err := q.find(access.Read)
	if err != nil {
		return err
	}
	if f, ok := q.params.take("f"); ok && f != "json" {
		return &paramError{name: "f", value: f, want: "json"}
	}
	area, err := q.params.box()
	if err != nil {
		return err
	}
	if area == nil {
		area = &[4]float64{-180, -90, 180, 90}
	}
	zoom, err := q.params.zoom()
	if err != nil {
		return err
	}
	var o tile.Options
	if err := q.drawConditions(c, &o, "f", "bbox", "zoom"); err != nil {
		return err
	}
	cells, sampled, err := q.counted(c, area, zoom, o)
	if err != nil {
		return err
	}
	if err := q.hold(&q.holds.ids, int64(len(cells))*cellBytes); err != nil {
		return err
	}
	q.mayBeKept("no-store")
	body := bodies.Get().(*[]byte)
	defer keepBody(body)
	b := (*body)[:0]
	b = append(b, `{"type":"FeatureCollection","features":[`...)
	for i := range cells {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendCell(b, &cells[i])
		*body = b
		if err := q.holdBody(b); err != nil {
			return err
		}
	}
	b = fmt.Appendf(b, "],\"numberReturned\":%d", len(cells))
	if sampled != 0 {
		b = fmt.Appendf(b, ",\"sampled\":%d", sampled)
		q.sampled(sampled)
	}
	b = append(b, "}\n"...)
	*body = b
	return q.send(http.StatusOK, typeGeoJSON, b)
}

// zoom is the zoom of the cells of /counts.
func (p *params) zoom() (int, error) {
	text, ok := p.take("zoom")
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil || n > tile.MaxCellZoom {
		if err = nil; !ok {
			err = errMissing
		}
		return 0, &paramError{name: "zoom", value: text, err: err, want: fmt.Sprintf("a number from 0 to %d: a cell is a tile of that zoom", tile.MaxCellZoom)}
	}
	return int(n), nil
}

// counted is tile.Builder.Counts. Few run at a time, as with drawings: the memory is the same.
func (q *request) counted(c whole.Collection, area *[4]float64, zoom int, o tile.Options) (cells []tile.Cell, sampled int, err error) {
	p := q.pacer(&o)
	defer p.End()
	stopped := q.bounded(q.ctx, func() {
		err = q.again(p, func() (err error) {
			cells, sampled, err = q.builder.Counts(q.ctx, c, area[0], area[1], area[2], area[3], zoom, o)
			return err
		})
	})
	switch {
	case stopped != nil:
		err = stopped
	case errors.Is(err, tile.ErrTooMany):
		err = fmt.Errorf("%w: ask for a smaller area, or for cells of a smaller zoom", err)
	}
	return cells, sampled, err
}

// appendCell appends a cell as a feature: a point in its middle, with its box.
func appendCell(b []byte, c *tile.Cell) []byte {
	number := func(v float64) { b = strconv.AppendFloat(b, v+0, 'f', -1, 64) } // not -0
	b = append(b, `{"type":"Feature","bbox":[`...)
	for i, v := range []float64{c.West, c.South, c.East, c.North} {
		if i > 0 {
			b = append(b, ',')
		}
		number(v)
	}
	longitude, latitude := c.Middle()
	b = append(b, `],"geometry":{"type":"Point","coordinates":[`...)
	number(longitude)
	b = append(b, ',')
	number(latitude)
	b = append(b, `]},"properties":{"count":`...)
	b = strconv.AppendInt(b, int64(c.Count), 10)
	return append(b, "}}"...)
}
