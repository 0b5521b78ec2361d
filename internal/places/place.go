package places

import (
	"encoding/json"

	"github.com/paulmach/orb"
)

// Place is an object of a file.
type Place struct {
	// ID is empty if the file gives none.
	ID string
	// Geometry is nil if the file has none, or an empty one. Positions are
	// longitude and latitude as the file has them: the collection checks their
	// range.
	Geometry orb.Geometry
	// Altitudes of the positions of Geometry, in their order: one for each, NaN for
	// a position without one. Nil: no position has one.
	Altitudes []float64
	// Properties is one JSON object in UTF-8, nil if there is none.
	Properties json.RawMessage
}

// Stats is the progress of a Reader.
type Stats struct {
	// Read of Total bytes of the input, as it is stored, compressed or
	// not. Total is -1 if it is not known, as from a pipe.
	Read, Total int64
	// Places were delivered, of which NoGeometry have a nil geometry.
	Places, NoGeometry int64
	// Bad records were left out, because they break a rule of the format.
	Bad int64
	// Incomplete OpenStreetMap ways and relations were left out: their
	// nodes or members are not in the file, or make no line or ring.
	// Extracts cut such objects at their borders, so this is no error.
	Incomplete int64
}
