package datasets

import (
	"fmt"
	"io"
	"slices"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/places/input"
	"github.com/catfish-index/catfish/rstar"
)

// OSMMode says which objects of an OpenStreetMap file become items.
type OSMMode string

// The modes. The ids of nodes and ways are OpenStreetMap's.
const (
	WaySegments OSMMode = "segments" // box of each two neighbours on a way; ids count from 0
	WayBoxes    OSMMode = "ways"     // box of each way
	TaggedNodes OSMMode = "nodes"    // each node with a tag, as a point
)

// ParseOSMMode accepts the names of the modes. Its errors wrap
// ErrOption.
func ParseOSMMode(s string) (OSMMode, error) {
	switch m := OSMMode(s); m {
	case WaySegments, WayBoxes, TaggedNodes:
		return m, nil
	}
	return "", fmt.Errorf("datasets: %w: OSM mode %s, want %s, %s or %s",
		ErrOption, input.Quote(s), WaySegments, WayBoxes, TaggedNodes)
}

// osmReader turns nodes and ways into items. Ways refer to their nodes by id,
// so it keeps all positions, 16 bytes each (limits.go), and requires the nodes
// to come first, as they do in every extract that is sorted by type.
type osmReader struct {
	*pass
	mode     OSMMode
	highways bool // only ways with a highway tag
	nodes    input.OSMNodes
	anyWay   bool
	next     uint64 // segment id
}

func readOSM(p *pass, r io.Reader, mode OSMMode, highways bool) error {
	file := input.NewOSMFile(r)
	o := &osmReader{pass: p, mode: mode, highways: highways}
	for {
		if err := file.Next(o); err == io.EOF {
			return nil
		} else if err != nil {
			return p.fail(0, file.Offset(), err)
		}
	}
}

// Node implements OSMVisitor.
func (o *osmReader) Node(id int64, lon, lat float64, tags []OSMTag) error {
	at := orb.Point{lon, lat}
	if o.mode == TaggedNodes {
		if len(tags) == 0 {
			return nil
		}
		return o.emitOSM(box(at, at), id)
	}
	if o.anyWay {
		return fmt.Errorf("%w: node %d after a way; sort the file by type",
			ErrUnsupported, id)
	}
	return o.nodes.Add(id, lon, lat, o.memory)
}

// Way implements OSMVisitor.
func (o *osmReader) Way(id int64, refs []int64, tags []OSMTag) error {
	if o.mode == TaggedNodes {
		return nil
	}
	if !o.anyWay {
		if err := o.nodes.Sort(o.memory); err != nil {
			return err
		}
	}
	o.anyWay = true
	if o.highways && !slices.ContainsFunc(tags, isHighway) {
		return nil
	}
	if o.mode == WayBoxes {
		return o.wayBox(id, refs)
	}
	var last orb.Point
	var hasLast bool
	for i, ref := range refs {
		at, ok := o.nodes.Find(ref)
		if i > 0 && ok && hasLast {
			if err := o.emit(box(last, at), o.next); err != nil {
				return err
			}
			o.next++
		} else if i > 0 {
			o.src.skipped.Add(1)
		}
		last, hasLast = at, ok
	}
	return nil
}

// Relation implements OSMVisitor. Relations have no boxes.
func (o *osmReader) Relation(int64, []OSMMember, []OSMTag) error { return nil }

func isHighway(t OSMTag) bool { return string(t.Key) == "highway" }

// wayBox delivers the box of those of its nodes that the extract has.
func (o *osmReader) wayBox(id int64, refs []int64) error {
	var r rstar.Rect
	found := false
	for _, ref := range refs {
		at, ok := o.nodes.Find(ref)
		if ok && found {
			r = r.Union(box(at, at))
		} else if ok {
			r, found = box(at, at), true
		}
	}
	if !found {
		o.src.skipped.Add(1)
		return nil
	}
	return o.emitOSM(r, id)
}

// emitOSM is emit for OpenStreetMap ids. Editors give negative ids to objects
// that they have not uploaded yet.
func (o *osmReader) emitOSM(r rstar.Rect, id int64) error {
	if id < 0 {
		return fmt.Errorf("%w: negative id %d", ErrUnsupported, id)
	}
	return o.emit(r, uint64(id))
}
