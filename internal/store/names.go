package store

import "github.com/catfish-index/catfish/internal/store/query"

// What is asked of a collection, and what is found, has a package of its own, which
// clients use without a store.
type (
	Query           = query.Query
	Prepared        = query.Prepared
	NearestQuery    = query.NearestQuery
	PreparedNearest = query.PreparedNearest
	NearestSoFar    = query.NearestSoFar
	BoxSearch       = query.BoxSearch
	Area            = query.Area
	Order           = query.Order
	Feature         = query.Feature
	Found           = query.Found
	Event           = query.Event
	EventKind       = query.EventKind
	Why             = query.Why

	CollectionOptions = query.CollectionOptions
	Description       = query.Description
	GeometryCount     = query.GeometryCount
	PropertySchema    = query.PropertySchema
)
