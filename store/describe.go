package store

import (
	"time"
)

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

// Describe returns the collection's options, schema and extent. It takes up to a
// millisecond.
func (c *Collection) Describe() (Description, error) {
	d, err := c.Schema()
	if err != nil {
		return d, err
	}
	if err := c.use(); err != nil {
		return Description{}, err
	}
	defer c.using.leave()
	if e, ok := extent(c.set.tree, c.o.Space); ok {
		d.Extent = &e
	}
	return d, nil
}

// Schema is Describe without the extent, which takes most of its time.
func (c *Collection) Schema() (Description, error) {
	if err := c.use(); err != nil {
		return Description{}, err
	}
	defer c.using.leave()
	d := Description{
		Name: c.Name(), CollectionOptions: c.Options(), Features: c.Len(), Created: c.since,
		CreatedRevision: c.created, Revision: max(c.created, c.revision.Load()),
	}
	c.set.schema.describe(&d)
	return d, nil
}
