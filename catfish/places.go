package catfish

import (
	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/catfish/model"
)

type (
	// FeaturesInfo describes a collection of features: options, count, extent, types of
	// geometries and properties.
	FeaturesInfo = model.FeaturesInfo
	// Features reads and changes a collection of features: places by area, distance,
	// properties and id.
	Features = model.Features
	// PutResult is the outcome for one feature of PutMany.
	PutResult = model.PutResult
	// WatchQuery says what to watch.
	WatchQuery = model.WatchQuery
	// WatchArea is one of several areas.
	WatchArea = model.WatchArea
	// FeatureEvent is something that happened to a feature, as an area sees it.
	FeatureEvent = model.FeatureEvent
	// Feature is a place: an id, a geometry, properties.
	Feature = model.Feature
	// FeatureQuery says which features are wanted.
	FeatureQuery = model.FeatureQuery
	// NearestQuery asks for the features around a point, in the order of their distance,
	// then of their ids.
	NearestQuery = model.NearestQuery
	// FeatureFields says which parts of features are wanted.
	FeatureFields = model.FeatureFields
	// FeaturesOptions configure a collection of features, and do not change.
	FeaturesOptions = model.FeaturesOptions
	// Condition of a write: Condition{IfAbsent: true} is for an id that has no feature,
	// Condition{IfRevision: 7} for a feature of that revision.
	Condition = model.Condition
	// Area is a part of a collection's space: a Box, a Circle or a Polygon.
	Area = model.Area
	// Order of an answer: AnyOrder, ByID.
	Order = model.Order
	// Relation of a feature to an area: Intersects, Within, Contains.
	Relation = model.Relation
	// Space of a collection: Geographic, Planar.
	Space = model.Space
	// EventKind is what a write means for an area: Progress, Enter, Exit, Inside, Changed.
	EventKind = model.EventKind
	// Why a feature left an area: Moved, Filtered, Deleted, Expired.
	Why = model.Why
)

const (
	AnyOrder = model.AnyOrder
	ByID     = model.ByID
	// they share a point
	Intersects = model.Intersects
	// all of the feature lies in the area, not only on its edge
	Within = model.Within
	// all of the area lies in the feature, not only on its edge
	Contains = model.Contains
	// longitude and latitude in degrees; distances are metres
	Geographic = model.Geographic
	// x and y in any one unit, which is also that of distances
	Planar = model.Planar
	// no other event happened up to Resume
	Progress = model.Progress
	// it matches now, and did not before
	Enter = model.Enter
	// it matched before, and does not now; see Why
	Exit = model.Exit
	// it matches, as before, and its geometry is another
	Inside = model.Inside
	// it matches, as before, and was written with the same geometry
	Changed = model.Changed
	// the feature is not in the area any more
	Moved = model.Moved
	// it is in the area, but does not pass the filter any more
	Filtered = model.Filtered
	Deleted  = model.Deleted
	// deleted after its time
	Expired = model.Expired
)

// Box is the area from west to east and south to north.
func Box(west, south, east, north float64) *Area { return model.Box(west, south, east, north) }

// Circle is the area at most radius away, in metres or the unit of a planar space.
func Circle(x, y, radius float64) *Area { return model.Circle(x, y, radius) }

// Polygon is the area of an orb.Polygon or orb.MultiPolygon.
func Polygon(g orb.Geometry) *Area { return model.Polygon(g) }
