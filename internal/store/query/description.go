package query

import (
	"fmt"
	"strings"
	"time"

	"github.com/catfish-index/catfish/internal/fault"
	"github.com/catfish-index/catfish/internal/feature"
)

// CollectionOptions configure a collection. Alter changes all but the space.
type CollectionOptions struct {
	Space feature.Space `json:"space"`
	// Title and Description are for people.
	Title       string `json:"title,omitempty"`
	Description string `json:"description,omitempty"`
}

// Differs says how o differs from what is wanted.
func (o CollectionOptions) Differs(want CollectionOptions) string {
	var all []string
	if o.Space != want.Space {
		all = append(all, fmt.Sprintf("the space %v, not %v", o.Space, want.Space))
	}
	if o.Title != want.Title {
		all = append(all, fmt.Sprintf("the title %.80q, not %.80q", o.Title, want.Title))
	}
	if o.Description != want.Description {
		all = append(all, fmt.Sprintf("the description %.80q, not %.80q", o.Description, want.Description))
	}
	return strings.Join(all, ", and ")
}

// CheckSame is fault.ErrCollectionExists if a collection of that name has o, and others are
// wanted. The text says which differ.
func (o CollectionOptions) CheckSame(name string, want CollectionOptions) error {
	if o == want {
		return nil
	}
	return fmt.Errorf("%w: %q has %s", fault.ErrCollectionExists, name, o.Differs(want))
}

// Description describes a collection, for people and programs. It
// is put together while others write, so its parts may be of different moments.
type Description struct {
	Name string `json:"name"`
	CollectionOptions
	// Features is their number, including those that have expired and are
	// not removed yet.
	Features int `json:"features"`
	// Extent is the box around all geometries: west, south, east, north. It is
	// exact. In a geographic space west is greater than east if the box is
	// narrower across 180 degrees. nil: there are no geometries.
	Extent *[4]float64 `json:"extent,omitempty"`
	// Geometries are the types of the geometries, by name.
	Geometries []GeometryCount `json:"geometries,omitempty"`
	// Properties of all features, by name: up to 1,000 names of up to 256 bytes.
	// Counts are exact.
	Properties []PropertySchema `json:"properties,omitempty"`
	// MoreProperties: there are, or were, other names.
	MoreProperties bool `json:"more_properties,omitempty"`
	// NullProperties is how many features have null in place of properties.
	NullProperties int `json:"null_properties,omitempty"`
	// Created is when the collection was created, by the server's clock; zero: by
	// a version that did not keep that. CreatedRevision is of that moment.
	Created         time.Time `json:"created,omitzero"`
	CreatedRevision uint64    `json:"created_revision"`
	// Revision of the last write to the collection; after a restart, of the
	// latest that has left something.
	Revision uint64 `json:"revision"`
}

// GeometryCount is how many features have geometries of a type.
type GeometryCount struct {
	Type     string `json:"type"` // of GeoJSON; "null": none
	Features int    `json:"features"`
}

// PropertySchema describes a property.
type PropertySchema struct {
	Name string `json:"name"`
	// Features have it.
	Features int `json:"features"`
	// Types has the number of values of each type of JSON, by the names of
	// feature.JSONType.
	Types map[string]int `json:"types"`
}
