package datasets

import "github.com/catfish-index/catfish/internal/places/input"

// What a reader may keep
//
// Items are delivered one by one, but some input must be kept: the positions of
// OpenStreetMap nodes, to which the ways at the end of a file refer by id;
// those of a road network; the GeoJSON feature that is being read. A small file
// can ask for much of that (zlib packs a thousand equal nodes into about ten
// bytes), so all of it is bounded, for files of any size.

// ErrTooLarge: reading would take more memory than Options.MemoryBytes, or a
// part of the input is larger than its format's readers accept. The message
// names the limit.
var ErrTooLarge = input.ErrTooLarge

// DefaultMemoryBytes is 1 GiB, as much as a tree takes by default: the 67
// million nodes that fit have about as many segments between them, which are
// more than such a tree holds.
const DefaultMemoryBytes = input.DefaultMemoryBytes
