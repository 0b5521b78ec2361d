package feature

// MaxBoxes is the most boxes of one feature in a tree.
const MaxBoxes = 16

// boxes of the geometry, at most so many.
func (f *flat) boxes(most int) []Box { return []Box{boundOf(f.vertices)} }
