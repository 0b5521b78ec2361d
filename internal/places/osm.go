package places

import (
	"fmt"
	"slices"
	"strconv"
	"sync/atomic"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/places/input"
)

// Places from OpenStreetMap's objects
//
//	node with a tag                  node/ID      point
//	way with a tag                   way/ID       line, or polygon (osmareas.go)
//	multipolygon, boundary relation  relation/ID  polygon or multipolygon
//
// Objects without tags are parts of others. Ways name their nodes, relations
// their ways, so positions and ways are kept, about 16 bytes a node, 16 a way and 2 for
// each node of a way; Options.MemoryBytes bounds them. Extracts are sorted by
// type; then a place is complete as soon as its object was read. Answers of
// Overpass often have ways before nodes: an object out of order, and all objects
// that depend on it, wait until the end, in memory as well.

// osm is an input.OSMVisitor that makes places.
type osm struct {
	memory     *input.Budget
	incomplete *atomic.Int64
	nodes      input.OSMNodes
	ways       osmWays
	stage      input.OSMKind // the last kind in order
	disordered bool
	ready      []Place
	waiting    []osmObject

	refs  []int64 // reused, like rings
	rings ringMaker
}

// osmObject is a way or a relation with its tags.
type osmObject struct {
	kind       input.OSMKind
	area       bool
	id         int64
	refs       []int64 // nodes of a way, member ways of a relation
	properties []byte
}

func newOSM(memory *input.Budget, incomplete *atomic.Int64) *osm {
	return &osm{memory: memory, incomplete: incomplete}
}

// Node implements input.OSMVisitor.
func (o *osm) Node(id int64, lon, lat float64, tags []input.OSMTag) error {
	o.disordered = o.disordered || o.stage > input.OSMNode
	if len(tags) > 0 {
		o.ready = append(o.ready, Place{
			ID: osmID(input.OSMNode, id), Geometry: orb.Point{lon, lat}, Properties: tagText(tags),
		})
	}
	return o.nodes.Add(id, lon, lat, o.memory)
}

// Way implements input.OSMVisitor.
func (o *osm) Way(id int64, nodes []int64, tags []input.OSMTag) error {
	if err := o.enter(input.OSMWay); err != nil {
		return err
	}
	if err := o.ways.add(id, nodes, o.memory); err != nil || len(tags) == 0 {
		return err
	}
	return o.place(osmObject{
		kind: input.OSMWay, area: isArea(tags), id: id,
		refs: nodes, properties: tagText(tags),
	})
}

// Relation implements input.OSMVisitor. The type of a relation only decides
// whether it is an area, and is no property. A relation that has no other tag is
// left out, like a way without tags.
func (o *osm) Relation(id int64, members []input.OSMMember, tags []input.OSMTag) error {
	if err := o.enter(input.OSMRelation); err != nil || !isAreaRelation(tags) || len(tags) == 1 {
		return err
	}
	tags = slices.DeleteFunc(slices.Clone(tags), isType)
	o.refs = o.refs[:0]
	for _, m := range members {
		if m.Kind == input.OSMWay {
			o.refs = append(o.refs, m.ID)
		}
	}
	// A way that is listed twice counts once.
	slices.Sort(o.refs)
	return o.place(osmObject{
		kind: input.OSMRelation, area: true, id: id,
		refs: slices.Compact(o.refs), properties: tagText(tags),
	})
}

// enter tracks the order of kinds.
func (o *osm) enter(kind input.OSMKind) error {
	if kind < o.stage {
		o.disordered = true
		return nil
	}
	if o.stage == input.OSMNode && kind > o.stage {
		if err := o.nodes.Sort(o.memory); err != nil {
			return err
		}
	}
	o.stage = kind
	return nil
}

// place makes a place of an object, now or at the end.
func (o *osm) place(obj osmObject) error {
	if !o.disordered {
		p, ok, err := o.build(obj)
		if err != nil {
			return err
		}
		if ok {
			o.ready = append(o.ready, p)
			return nil
		}
	}
	const objectBytes = 80
	size := objectBytes + 8*len(obj.refs) + len(obj.properties)
	if err := o.memory.Keep(int64(size), "objects that wait for others"); err != nil {
		return err
	}
	obj.refs = slices.Clone(obj.refs) // they are valid during the call only
	o.waiting = append(o.waiting, obj)
	return nil
}

// end is called after all objects. If the file was out of order, waiting objects
// may be complete now; otherwise they stay incomplete.
func (o *osm) end() error {
	if !o.disordered {
		o.incomplete.Add(int64(len(o.waiting)))
		o.waiting = nil
		return nil
	}
	return o.nodes.Sort(o.memory)
}

// build makes a place; ok is false if something is missing.
func (o *osm) build(obj osmObject) (p Place, ok bool, err error) {
	p = Place{ID: osmID(obj.kind, obj.id), Properties: obj.properties}
	if obj.kind == input.OSMRelation {
		p.Geometry, ok, err = o.relation(obj.refs)
		if err != nil {
			err = fmt.Errorf("%s: %w", p.ID, err)
		}
		return p, ok, err
	}
	line, ok := o.line(obj.refs)
	if !ok || len(line) < 2 {
		return p, false, nil
	}
	p.Geometry = line
	if closed := obj.refs[0] == obj.refs[len(obj.refs)-1]; closed && obj.area {
		if len(line) < 4 {
			return p, false, nil
		}
		p.Geometry = orb.Polygon{turned(orb.Ring(line), orb.CCW)}
	}
	return p, true, nil
}

// line returns the positions of nodes; ok is false if one is missing.
func (o *osm) line(nodes []int64) (orb.LineString, bool) {
	line := make(orb.LineString, 0, len(nodes))
	for _, id := range nodes {
		at, ok := o.nodes.Find(id)
		if !ok {
			return nil, false
		}
		line = append(line, at)
	}
	return line, true
}

// relation makes the area that member ways enclose.
func (o *osm) relation(ways []int64) (orb.Geometry, bool, error) {
	o.rings.reset()
	var nodes []int64
	for _, way := range ways {
		var ok bool
		if nodes, ok = o.ways.appendNodes(nodes[:0], way); !ok {
			return nil, false, nil
		}
		for _, id := range nodes {
			if _, ok := o.nodes.Find(id); !ok {
				return nil, false, nil
			}
		}
		o.rings.add(nodes)
	}
	rings, ok := o.rings.rings(func(id int64) orb.Point { p, _ := o.nodes.Find(id); return p })
	if !ok || len(rings) == 0 {
		return nil, false, nil
	}
	all := make([]orb.Ring, len(rings))
	for i, r := range rings {
		line, _ := o.line(r)
		all[i] = orb.Ring(line)
	}
	area, err := polygons(all)
	if err == nil && len(area) == 1 {
		return area[0], true, nil
	}
	return area, true, err
}

func osmID(kind input.OSMKind, id int64) string {
	return [...]string{"node/", "way/", "relation/"}[kind] + strconv.FormatInt(id, 10)
}

// tagText makes a JSON object of tags: values are text, unchanged.
func tagText(tags []input.OSMTag) []byte {
	size := len("{}")
	for _, t := range tags {
		size += len(t.Key) + len(t.Value) + 6
	}
	text := append(make([]byte, 0, size), '{')
	for i, t := range tags {
		if i > 0 {
			text = append(text, ',')
		}
		text = append(appendString(text, t.Key), ':')
		text = appendString(text, t.Value)
	}
	return append(text, '}')
}
