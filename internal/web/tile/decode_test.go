package tile

import (
	"fmt"
	"testing"

	"github.com/paulmach/orb/encoding/mvt/vectortile"
)

// decoded is a feature of a tile, read by the specification: the bytes by code
// generated from its .proto, the geometry below.
type decoded struct {
	id    uint64
	hasID bool
	tags  map[string]any
	typ   geomType
	parts [][]spot // points, lines, or rings without the last position
}

// decode reads a tile, and reports what must not be in one.
func decode(t testing.TB, data []byte, name string) []decoded {
	t.Helper()
	if len(data) == 0 {
		return nil
	}
	var tile vectortile.Tile
	if err := tile.Unmarshal(data); err != nil {
		t.Fatal(err)
	}
	if len(tile.Layers) != 1 {
		t.Fatalf("%d layers", len(tile.Layers))
	}
	l := tile.Layers[0]
	if l.GetName() != name || l.GetVersion() != 2 || l.GetExtent() != extent || len(l.Features) == 0 {
		t.Fatalf("layer %q, version %d, extent %d, %d features", l.GetName(), l.GetVersion(), l.GetExtent(), len(l.Features))
	}
	seen := map[string]bool{}
	for _, v := range l.Values {
		if s := v.String(); seen[s] {
			t.Fatalf("value %s twice", s)
		} else {
			seen[s] = true
		}
	}
	keys := map[string]bool{}
	for _, k := range l.Keys {
		if keys[k] {
			t.Fatalf("key %q twice", k)
		}
		keys[k] = true
	}
	var all []decoded
	for _, f := range l.Features {
		d := decoded{id: f.GetId(), hasID: f.Id != nil, tags: map[string]any{}, typ: geomType(f.GetType())}
		if len(f.Tags)%2 != 0 {
			t.Fatalf("%d tags", len(f.Tags))
		}
		for i := 0; i < len(f.Tags); i += 2 {
			k := l.Keys[f.Tags[i]]
			if _, again := d.tags[k]; again {
				t.Fatalf("property %q twice", k)
			}
			d.tags[k] = valueOf(t, l.Values[f.Tags[i+1]])
		}
		d.parts = decodeGeometry(t, d.typ, f.Geometry)
		all = append(all, d)
	}
	return all
}

func valueOf(t testing.TB, v *vectortile.Tile_Value) any {
	switch {
	case v.StringValue != nil:
		return *v.StringValue
	case v.DoubleValue != nil:
		return *v.DoubleValue
	case v.IntValue != nil:
		return *v.IntValue
	case v.UintValue != nil:
		return *v.UintValue
	case v.SintValue != nil:
		return *v.SintValue
	case v.BoolValue != nil:
		return *v.BoolValue
	}
	t.Fatal("a value without a type")
	return nil
}

// decodeGeometry reports parts that are empty, degenerate, out of the tile's
// buffer, or of the wrong winding.
func decodeGeometry(t testing.TB, typ geomType, g []uint32) (parts [][]spot) {
	t.Helper()
	var at spot
	closed := true
	for i := 0; i < len(g); {
		op, n := g[i]&7, int(g[i]>>3)
		i++
		if op == closePath {
			if typ != typePolygon || n != 1 || closed {
				t.Fatalf("close path, %d times, of type %d", n, typ)
			}
			closed = true
			continue
		}
		switch {
		case n == 0, i+2*n > len(g):
			t.Fatalf("command %d, %d times, %d numbers", op, n, len(g)-i)
		case op == moveTo && typ != typePoint && (n != 1 || typ == typePolygon && !closed):
			t.Fatalf("move to, %d times", n)
		case op == lineTo && (typ == typePoint || len(parts) == 0 || len(parts[len(parts)-1]) != 1):
			t.Fatal("line to after no move to")
		case op != moveTo && op != lineTo:
			t.Fatalf("command %d", op)
		}
		for range n {
			last := at
			at.x += int32(g[i]>>1) ^ -int32(g[i]&1)
			at.y += int32(g[i+1]>>1) ^ -int32(g[i+1]&1)
			i += 2
			if at.x < -buffer-1 || at.y < -buffer-1 || at.x > extent+buffer+1 || at.y > extent+buffer+1 {
				t.Fatalf("%v is out of the buffer", at)
			}
			if op == moveTo {
				parts = append(parts, nil)
				closed = false
			} else if at == last {
				t.Fatalf("%v twice", at)
			}
			parts[len(parts)-1] = append(parts[len(parts)-1], at)
		}
	}
	if len(parts) == 0 || typ == typePolygon && !closed {
		t.Fatalf("type %d with %d parts", typ, len(parts))
	}
	for i, p := range parts {
		switch {
		case typ == typeLine && len(p) < 2, typ == typePolygon && len(p) < 3:
			t.Fatalf("type %d with a part of %d positions", typ, len(p))
		case typ == typePolygon && (ringArea(p) == 0 || i == 0 && ringArea(p) < 0):
			t.Fatalf("ring %d with area %d", i, ringArea(p))
		}
		for j := range p {
			if typ == typePolygon && straight(p[j], p[(j+1)%len(p)], p[(j+2)%len(p)]) {
				t.Fatalf("ring %d goes straight on, or back, at %v", i, p[(j+1)%len(p)])
			}
		}
	}
	return parts
}

func ringArea(ring []spot) (area int64) {
	for i, p := range ring {
		q := ring[(i+1)%len(ring)]
		area += int64(p.x)*int64(q.y) - int64(q.x)*int64(p.y)
	}
	return area
}

func (d *decoded) String() string { return fmt.Sprint(d.typ, d.parts, d.tags) }
