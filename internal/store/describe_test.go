package store

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/feature"
	"github.com/catfish-index/catfish/internal/kv"
	"github.com/catfish-index/catfish/internal/store/disk"
	"github.com/catfish-index/catfish/internal/store/query"
	"github.com/catfish-index/catfish/rstar"
)

// seen counts what a description must say of a collection's features, by looking at
// all of them.
func seen(t *testing.T, c *Collection) (d Description) {
	t.Helper()
	var s schema
	if err := c.Search(t.Context(), Query{}, func(f *Found) (bool, error) {
		var members map[string]any
		if p := f.View.Properties(); p != nil {
			if err := json.Unmarshal(p, &members); err != nil {
				return false, err
			}
		} else {
			s.nulls++
		}
		s.types[f.View.Type()]++
		for name, v := range members {
			typ := map[reflect.Kind]feature.JSONType{
				reflect.Bool: feature.JSONBoolean, reflect.Float64: feature.JSONNumber, reflect.String: feature.JSONString,
				reflect.Slice: feature.JSONArray, reflect.Map: feature.JSONObject,
			}[reflect.ValueOf(v).Kind()]
			if s.names == nil {
				s.names = map[string]*jsonTypes{}
			}
			if s.names[name] == nil {
				s.names[name] = new(jsonTypes)
			}
			s.names[name][typ]++
		}
		return true, nil
	}); err != nil {
		t.Fatal(err)
	}
	s.describe(&d)
	return d
}

func sameSchema(t *testing.T, c *Collection) {
	t.Helper()
	got, err := c.Describe()
	if err != nil {
		t.Fatal(err)
	}
	want := seen(t, c)
	if !reflect.DeepEqual(got.Properties, want.Properties) || !reflect.DeepEqual(got.Geometries, want.Geometries) ||
		got.NullProperties != want.NullProperties || got.MoreProperties {
		t.Fatalf("described\n%+v\n%+v\n%d nulls, want\n%+v\n%+v\n%d nulls", got.Properties, got.Geometries, got.NullProperties,
			want.Properties, want.Geometries, want.NullProperties)
	}
	if len(want.Properties) == 0 {
		t.Fatal("nothing is there")
	}
}

// A schema is right after any writes, single and in batches, of features
// that expire, and after a restart.
func TestSchema(t *testing.T) {
	for name, dir := range map[string]string{"memory": "", "disk": t.TempDir()} {
		t.Run(name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 8))
			clock := &clock{}
			clock.advance(time.Hour)
			st := open(t, Options{Dir: dir, Sync: disk.SyncOff, Now: clock.Now})
			c := create(t, st, CollectionOptions{})
			values := []string{`1`, `"a"`, `null`, `[1,{"z":2}]`, `{"y":{}}`, `true`, `-2.5e3`, `"\"\\"`}
			names := []string{"a", "bb", `a\"b`, "über", "n"}
			for round := range 60 {
				wait := make(chan error, 64)
				n := 1 + r.IntN(8)
				for range n {
					id := fmt.Sprint(r.IntN(40))
					text := `{`
					for i, name := range names {
						if r.IntN(2) == 0 {
							continue
						}
						if text != `{` {
							text += ","
						}
						text += fmt.Sprintf(`"%s":%s`, name, values[(r.IntN(3)+i)%len(values)])
					}
					f := Feature{ID: id, Properties: json.RawMessage(text + `}`)}
					switch r.IntN(4) {
					case 0:
						f.Geometry = orb.LineString{{1, 2}, {3, 4}}
					case 1:
						f.Properties = nil
						fallthrough
					case 2:
						f.Geometry = orb.Point{1, 2}
					}
					done := func(_ uint64, err error) { wait <- err }
					switch r.IntN(5) {
					case 0:
						c.DeleteLater(id, kv.Condition{}, done)
					case 1:
						c.PatchLater(id, []byte(`{"a":null,"n":"patched"}`), kv.Condition{}, done)
					default:
						_, value, err := query.Encode(f, feature.Geographic)
						if err != nil {
							t.Fatal(err)
						}
						expires := int64(0)
						if r.IntN(6) == 0 {
							expires = int64(clock.Now() + time.Second)
						}
						c.PutEncoded(id, value, expires, kv.Condition{}, done)
					}
				}
				for range n {
					<-wait
				}
				if round%7 == 3 {
					clock.advance(2 * time.Second)
				}
				if round%7 == 5 {
					clock.advance(time.Minute)
					for c.Tidy(1000) {
					}
					sameSchema(t, c)
				}
			}
			clock.advance(time.Minute)
			for c.Tidy(1000) {
			}
			sameSchema(t, c)
			if dir == "" {
				return
			}
			before, err := c.Describe()
			if err != nil {
				t.Fatal(err)
			}
			if err := st.Close(); err != nil {
				t.Fatal(err)
			}
			c = create(t, open(t, Options{Dir: dir, Now: clock.Now, Workers: 3}), CollectionOptions{})
			sameSchema(t, c)
			after, err := c.Describe()
			if err != nil {
				t.Fatal(err)
			}
			if !after.Created.Equal(before.Created) || after.Created.UnixNano() != int64(time.Hour) || after.CreatedRevision != before.CreatedRevision ||
				before.CreatedRevision == 0 || after.Revision == 0 || after.Revision > before.Revision {
				t.Errorf("%+v, before the restart %+v", after, before)
			}
		})
	}
}

// Beyond its limits a schema says so, and what it counts stays exact.
func TestSchemaFull(t *testing.T) {
	view := func(text string) *feature.View {
		b, err := feature.Append(nil, nil, []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		v, err := feature.Parse(b)
		if err != nil {
			t.Fatal(err)
		}
		return &v
	}
	var s schema
	for i := range maxNames {
		s.change(nil, view(fmt.Sprintf(`{"n%d":1}`, i)))
	}
	if s.full || len(s.names) != maxNames {
		t.Fatal(s.full, len(s.names))
	}
	s.change(nil, view(`{"late":1}`))
	s.change(view(`{"n3":1}`), nil) // No place comes free: "late" was not counted.
	s.change(nil, view(`{"late":1,"n4":"x"}`))
	s.change(nil, view(`{"n3":true}`))
	var d Description
	s.describe(&d)
	if !d.MoreProperties || len(d.Properties) != maxNames {
		t.Fatal(d.MoreProperties, len(d.Properties))
	}
	for _, p := range d.Properties {
		want := PropertySchema{Name: p.Name, Features: 1, Types: map[string]int{"number": 1}}
		switch p.Name {
		case "n3":
			want.Types = map[string]int{"boolean": 1}
		case "n4":
			want.Features, want.Types = 2, map[string]int{"number": 1, "string": 1}
		}
		if !reflect.DeepEqual(p, want) {
			t.Errorf("%+v, want %+v", p, want)
		}
	}
	// After a join of parts, a name that one part could not count is not known.
	var other, both schema
	other.change(nil, view(`{"n1":1,"own":2}`))
	both.join([]schema{{}, {names: other.names}, {names: s.names, full: true}})
	if both.names["own"] != nil || both.names["n1"][feature.JSONNumber] != 2 || !both.full {
		t.Error(both.names["own"], both.names["n1"], both.full)
	}
	var long schema
	long.change(nil, view(fmt.Sprintf(`{"%0*d":1,"a":1}`, maxNameBytes+1, 0)))
	if long.full || !long.unkept || len(long.names) != 1 {
		t.Error(long.full, long.unkept, long.names)
	}
}

// A write that looks like the state before costs no allocation here.
func TestSchemaAllocs(t *testing.T) {
	b, err := feature.Append(nil, orb.Point{1, 2}, []byte(`{"name":"x","speed":17.5,"tags":["a","b"],"open":true}`))
	if err != nil {
		t.Fatal(err)
	}
	v, err := feature.Open(b)
	if err != nil {
		t.Fatal(err)
	}
	var s schema
	s.change(nil, &v)
	if n := testing.AllocsPerRun(100, func() { s.change(&v, &v) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func BenchmarkSchema(b *testing.B) {
	value, err := feature.Append(nil, orb.Point{1, 2}, []byte(`{"name":"x","speed":17.5,"tags":["a","b"],"open":true}`))
	if err != nil {
		b.Fatal(err)
	}
	v, err := feature.Open(value)
	if err != nil {
		b.Fatal(err)
	}
	var s schema
	s.change(nil, &v)
	for b.Loop() {
		s.change(&v, &v)
	}
}

// An extent is the box around all rectangles of a planar space.
func TestExtentPlanar(t *testing.T) {
	rng := rand.New(rand.NewPCG(5, 6))
	for _, n := range []int{0, 1, 2, 300} {
		for range 20 {
			tree := testTree(t)
			want := [4]float64{math.Inf(1), math.Inf(1), math.Inf(-1), math.Inf(-1)}
			scale := math.Pow(10, rng.Float64()*40-20)
			for i := range n {
				x, y := rng.NormFloat64()*scale, rng.NormFloat64()*scale
				r := rstar.Rect{MinX: x, MinY: y, MaxX: x + rng.Float64(), MaxY: y + rng.Float64()*scale}
				if err := tree.Insert(r, uint64(i)); err != nil {
					t.Fatal(err)
				}
				want = [4]float64{min(want[0], r.MinX), min(want[1], r.MinY), max(want[2], r.MaxX), max(want[3], r.MaxY)}
			}
			if got, ok := extent(tree, feature.Planar); ok != (n > 0) || ok && got != want {
				t.Fatalf("%d rectangles: %v, %v, want %v", n, got, ok, want)
			}
		}
	}
}

// In degrees it is the narrowest one, perhaps across 180.
func TestExtentGeographic(t *testing.T) {
	for name, x := range map[string]struct {
		at         [][2]float64 // west, east
		west, east float64
	}{
		"fiji":     {[][2]float64{{177.2, 180}, {-180, -178.5}}, 177.2, -178.5},
		"russia":   {[][2]float64{{19.6, 180}, {-180, -169}}, 19.6, -169},
		"usa":      {[][2]float64{{-125, -67}, {172.4, 179.8}, {-179.2, -130}}, 172.4, -67},
		"france":   {[][2]float64{{-5, 9.5}}, -5, 9.5},
		"americas": {[][2]float64{{-168, -34}}, -168, -34},
		"world":    {[][2]float64{{-180, 180}}, -180, 180},
		"two":      {[][2]float64{{-91, -91}, {91, 91}}, 91, -91},
		"nearer":   {[][2]float64{{-80, -80}, {80, 80}}, -80, 80},
	} {
		t.Run(name, func(t *testing.T) {
			tree := testTree(t)
			for i, r := range x.at {
				if err := tree.Insert(rstar.Rect{MinX: r[0], MaxX: r[1], MinY: -1, MaxY: 2}, uint64(i)); err != nil {
					t.Fatal(err)
				}
			}
			if got, ok := extent(tree, feature.Geographic); !ok || got != [4]float64{x.west, -1, x.east, 2} {
				t.Errorf("%v, %v, want %v to %v", got, ok, x.west, x.east)
			}
		})
	}
}

func testTree(t *testing.T) *rstar.Tree {
	t.Helper()
	tree, err := rstar.New(rstar.Options{SlabBytes: 1 << 20})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = tree.Close() })
	return tree
}
