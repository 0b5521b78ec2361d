package datasets

import (
	"cmp"
	"errors"
	"fmt"
)

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
var ErrTooLarge = errors.New("too large")

// DefaultMemoryBytes is 1 GiB, as much as a tree takes by default: the 44
// million nodes that fit have about as many segments between them, which are
// more than such a tree holds.
const DefaultMemoryBytes int64 = 1 << 30

// keep counts bytes that stay in memory until the pass ends.
func (p *pass) keep(bytes int64, what string) error {
	limit := p.memoryLimit()
	if bytes > limit-p.kept {
		return fmt.Errorf("%w: %s need more than %d bytes of memory;"+
			" raise the limit if that is meant (Options.MemoryBytes, --read-memory)",
			ErrTooLarge, what, limit)
	}
	p.kept += bytes
	return nil
}

func (p *pass) memoryLimit() int64 { return cmp.Or(p.src.memory, DefaultMemoryBytes) }

// maxFeatureBytes bounds one feature, or any other part of a GeoJSON text that
// must be read in one piece. The outlines of whole countries, at full
// resolution, take some 50 MB. Options.MemoryBytes may be less.
const maxFeatureBytes = 64 << 20

// maxWayNodes bounds the nodes of one OpenStreetMap way: 8 MiB. The database
// itself allows 2,000.
const maxWayNodes = 1 << 20

// maxMembers bounds the members of one OpenStreetMap relation: 5 MiB. The
// database itself allows 32,000.
const maxMembers = 1 << 17
