package catfish

import "fmt"

// The kinds of collections.
const (
	KindBoxes    = "boxes"    // rectangles with numbers, in an R*-tree
	KindRecords  = "records"  // values by key
	KindFeatures = "features" // places: geometries with properties, by area and by id
)

func kindOf(records bool) string {
	if records {
		return KindRecords
	}
	return KindBoxes
}

func (c *collection) kind() string {
	if c.features != nil {
		return KindFeatures
	}
	return kindOf(c.records != nil)
}

// isOf returns an error if the collection is of another kind.
func (c *collection) isOf(kind string) error {
	if is := c.kind(); is != kind {
		return fmt.Errorf("%w: %q is one of %s, not of %s", ErrKind, c.name, is, kind)
	}
	return nil
}
