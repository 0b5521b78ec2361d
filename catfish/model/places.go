package model

import (
	"context"
	"encoding/json"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/query"
)

// FeaturesInfo describes a collection of features: options, count, extent, types of
// geometries and properties.
type FeaturesInfo = query.Description

// Describe returns the collection's options and a summary of its features. A server
// older than this client sends only name, options and count.
func (f *Features) Describe(ctx context.Context) (FeaturesInfo, error) { return f.be.Describe(ctx) }

// Feature is a place: an id, a geometry, properties.
type Feature struct {
	// ID is unique in its collection, 1 to 512 bytes of UTF-8. If it is empty, a Put
	// makes one (UUIDv7, RFC 9562).
	ID string
	// Geometry of any GeoJSON type, or nil.
	Geometry orb.Geometry
	// Altitudes of the positions of Geometry, in the order in which GeoJSON writes
	// them: one for each, NaN for a position that has none. Nil: none has one. No
	// query looks at them.
	Altitudes []float64
	// Properties is the text of a JSON object, or nil.
	Properties json.RawMessage
	// Expires is when the feature ceases to exist, by the server's clock; zero: never.
	Expires time.Time
	// Revision of the write that made the feature as it is.
	Revision uint64
	// Distance of a Nearest: metres, or the unit of a planar space.
	Distance float64
}

// FeatureQuery says which features are wanted. The zero value is all of them.
type FeatureQuery struct {
	// Area is a Box, a Circle or a Polygon; nil: all features, also those without a
	// geometry.
	Area *Area
	// Relation is what must hold between a feature and the area: Intersects, Within
	// or Contains.
	Relation Relation
	// Filter is a condition on properties, id, geometry type and times, in CEL
	// (docs/filters.md). Empty: none.
	Filter string
	// Limit is how many features are wanted; 0: all. It counts features that have
	// passed the filter.
	Limit int
	// Order says in which order the features come, and which of them if more than
	// Limit match: AnyOrder or ByID.
	Order Order
	// After continues an order by id after this id.
	After string
	// Fields are the parts of features that are wanted. Filters see all parts.
	Fields FeatureFields
}

// OfStore returns the query as the store has it. It is for packages of this module.
func (q *FeatureQuery) OfStore() query.Query {
	return query.Query{
		Area: q.Area, Relation: q.Relation, Filter: q.Filter, Limit: q.Limit,
		Order: q.Order, After: q.After, Fields: feature.Selection(q.Fields),
	}
}

// NearestQuery asks for the features around a point, in the order of their
// distance, then of their ids. At least one of K and Within is needed.
type NearestQuery struct {
	X, Y float64 // longitude and latitude, or of a planar space
	K    int     // how many, up to 65,536; 0: all within
	// Within is the greatest distance, in metres or the unit of a planar space;
	// 0: none.
	Within float64
	Filter string        // as of a FeatureQuery
	Fields FeatureFields // as of a FeatureQuery
}

// OfStore returns the query as the store has it. It is for packages of this module.
func (q *NearestQuery) OfStore() query.NearestQuery {
	return query.NearestQuery{
		X: q.X, Y: q.Y, K: q.K, Within: q.Within, Filter: q.Filter, Fields: feature.Selection(q.Fields),
	}
}

// FeatureFields says which parts of features are wanted. The zero value is all.
type FeatureFields struct {
	// Fields are names of properties; none: all. A property that a feature does not
	// have is left out.
	Fields []string
	// NoProperties and NoGeometry leave out all properties, and the geometry.
	NoProperties, NoGeometry bool
}

// FeaturesOptions configure a collection of features, and do not change.
type FeaturesOptions struct {
	Space Space `json:"space"` // Geographic or Planar
	// Title and Description are for people.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
}

type (
	// Condition of a write: Condition{IfAbsent: true} is for an id that has no
	// feature, Condition{IfRevision: 7} for a feature of that revision. Otherwise the
	// write is refused (ErrExists, ErrConflict). The zero value is none.
	Condition = kv.Condition
	// Area is a part of a collection's space: a Box, a Circle or a Polygon.
	Area = query.Area
	// Order of an answer: AnyOrder, ByID.
	Order = query.Order
	// Relation of a feature to an area: Intersects, Within, Contains.
	Relation = feature.Relation
	// Space of a collection: Geographic, Planar.
	Space = feature.Space
	// EventKind is what a write means for an area: Progress, Enter, Exit, Inside,
	// Changed.
	EventKind = query.EventKind
	// Why a feature left an area: Moved, Filtered, Deleted, Expired.
	Why = query.Why
)

// Orders. ByID is the order of the bytes of ids. It is stable: writes in the
// meantime move no other feature.
const (
	AnyOrder = query.AnyOrder
	ByID     = query.ByID
)

// Relations of a feature to an area.
const (
	Intersects = feature.Intersects // they share a point
	Within     = feature.Within     // all of the feature lies in the area, not only on its edge
	Contains   = feature.Contains   // all of the area lies in the feature, not only on its edge
)

// Spaces of a collection.
const (
	Geographic = feature.Geographic // longitude and latitude in degrees; distances are metres
	Planar     = feature.Planar     // x and y in any one unit, which is also that of distances
)

// Kinds of a FeatureEvent. A feature matches if it lies in the area and passes the
// filter.
const (
	Progress = query.Progress // no other event happened up to Resume
	Enter    = query.Enter    // it matches now, and did not before
	Exit     = query.Exit     // it matched before, and does not now; see Why
	Inside   = query.Inside   // it matches, as before, and its geometry is another
	Changed  = query.Changed  // it matches, as before, and was written with the same geometry
)

// Reasons of an Exit.
const (
	Moved    = query.Moved    // the feature is not in the area any more
	Filtered = query.Filtered // it is in the area, but does not pass the filter any more
	Deleted  = query.Deleted
	Expired  = query.Expired // deleted after its time
)

// Box is the area from west to east and south to north. If west is greater than
// east it crosses 180 degrees.
func Box(west, south, east, north float64) *Area { return query.Box(west, south, east, north) }

// Circle is the area at most radius away, in metres or the unit of a planar space.
func Circle(x, y, radius float64) *Area { return query.Circle(x, y, radius) }

// Polygon is the area of an orb.Polygon or orb.MultiPolygon.
func Polygon(g orb.Geometry) *Area { return query.Polygon(g) }
