package datasets

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strconv"

	"github.com/catfish-index/catfish/internal/places"
	"github.com/catfish-index/catfish/internal/places/input"
	"github.com/catfish-index/catfish/rstar"
)

// GeoJSON (RFC 7946)
//
// Package places reads it, one feature at a time: a plain file, a text
// sequence (RFC 8142) or one text a line. An item is the box of a feature's
// geometry in the coordinates given (longitude, latitude). A box across the
// antimeridian is as wide as its coordinates say: RFC 7946, section 3.1.9,
// asks for geometries that are cut there. Features without a position
// (geometry null) are skipped and counted.
//
// Ids: the feature's id, or else its property id. If these are integers from
// 0 to 2^64-1 they are kept; if there are none, or text, features are
// numbered from 0, not counting the skipped ones, and text is passed to
// Options.Label. A file must do one or the other throughout, because a number
// could collide with an id that comes later.

type featureIDs struct {
	kind idKind
	next uint64 // running number
}

// idKind is the source of a file's ids.
type idKind int

const (
	idsUndecided idKind = iota
	idsKept
	idsNumbered
)

func readGeoJSON(p *pass, r io.Reader, label func(uint64, string)) error {
	var ids featureIDs
	most := min(input.MaxFeatureBytes, p.memory.Limit())
	err := places.GeoJSONBounds(r, most, func(b places.Bound) error {
		if b.Null {
			p.src.skipped.Add(1)
			return nil
		}
		id, name, err := ids.of(b.ID)
		if err != nil {
			return err
		}
		if name != "" && label != nil {
			label(id, name)
		}
		return p.emit(rstar.Rect{
			MinX: b.Min[0], MinY: b.Min[1], MaxX: b.Max[0], MaxY: b.Max[1],
		}, id)
	})
	var at *places.RecordError
	if errors.As(err, &at) {
		return p.fail(0, at.Offset, at.Err)
	}
	return err
}

// of returns the id of the next item, and its name if that is text.
func (ids *featureIDs) of(raw json.RawMessage) (id uint64, name string, err error) {
	kind := idsNumbered
	switch {
	case raw == nil, string(raw) == "null":
	case raw[0] == '"':
		if err := json.Unmarshal(raw, &name); err != nil {
			return 0, "", fmt.Errorf("%w: %w", ErrSyntax, err)
		}
	default:
		id, err = strconv.ParseUint(string(raw), 10, 64)
		if err != nil {
			return 0, "", fmt.Errorf("%w: id %s, want text or an integer from 0 to 2^64-1",
				ErrSyntax, input.Quote(raw))
		}
		kind = idsKept
	}
	if ids.kind == idsUndecided {
		ids.kind = kind
	}
	if ids.kind != kind {
		return 0, "", fmt.Errorf("%w: some features have an integer id and some not;"+
			" want all or none, id is %s", ErrSyntax, input.Quote(raw))
	}
	if kind == idsNumbered {
		id = ids.next
		ids.next++
	}
	return id, name, nil
}
