package places

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/paulmach/orb"

	"github.com/catfish-index/catfish/internal/places/input"
)

// smallOSM has a square with a hole, of four ways, and a shop.
const smallOSM = `<?xml version="1.0" encoding="UTF-8"?>
<osm version="0.6" generator="by hand">
 <note>Made for <b>tests</b></note>
 <bounds minlat="0" minlon="0" maxlat="9" maxlon="9"/>
 <node id="1" lat="0" lon="0"/> <node id="2" lat="0" lon="9"/>
 <node id="3" lat="9" lon="9"/> <node id="4" lat="9" lon="0"/>
 <node id="5" lat="1" lon="1"/> <node id="6" lat="1" lon="2"/>
 <node id="7" lat="2" lon="2"><tag k="shop" v="a &amp; &quot;b&quot;"/><tag k="name" v="é"/></node>
 <node id="8" lat="3" lon="3" visible="false"><tag k="a" v="b"/></node>
 <node id="9" lat="3" lon="3" action="delete"><tag k="a" v="b"/></node>
 <way id="10"><nd ref="1"/><nd ref="2"/><nd ref="3"/></way>
 <way id="11"><nd ref="1"/><nd ref="4"/><nd ref="3"/><tag k="highway" v="path"/></way>
 <way id="12"><nd ref="5"/><nd ref="6"/><nd ref="7"/><nd ref="5"/><tag k="building" v="yes"/></way>
 <way id="13"><nd ref="5"/><nd ref="6"/><nd ref="7"/><nd ref="5"/><tag k="highway" v="path"/></way>
 <way id="14"><nd ref="5"/><nd ref="99"/><tag k="highway" v="path"/></way>
 <relation id="20">
  <member type="node" ref="1" role="label"/>
  <member type="way" ref="12" role="outer"/> <member type="way" ref="11" role="outer"/>
  <member type="way" ref="10" role=""/> <member type="way" ref="10" role=""/>
  <tag k="type" v="multipolygon"/><tag k="landuse" v="forest"/>
 </relation>
 <relation id="21"><member type="way" ref="98" role=""/>
  <tag k="type" v="boundary"/><tag k="name" v="cut"/></relation>
 <relation id="22"><member type="way" ref="10" role=""/>
  <tag k="type" v="boundary"/><tag k="name" v="open"/></relation>
 <relation id="23"><member type="way" ref="12" role=""/><tag k="type" v="multipolygon"/></relation>
 <relation id="24"><member type="way" ref="12" role=""/><tag k="type" v="route"/></relation>
</osm>
`

const smallOSMPlaces = `node/7 {"type":"Point","coordinates":[2,2]} {"shop":"a & \"b\"","name":"é"}
way/11 {"type":"LineString","coordinates":[[0,0],[0,9],[9,9]]} {"highway":"path"}
way/12 {"type":"Polygon","coordinates":[[[1,1],[2,1],[2,2],[1,1]]]} {"building":"yes"}
way/13 {"type":"LineString","coordinates":[[1,1],[2,1],[2,2],[1,1]]} {"highway":"path"}
relation/20 {"type":"Polygon","coordinates":[[[0,0],[9,0],[9,9],[0,9],[0,0]],[[1,1],[2,2],[2,1],[1,1]]]} {"landuse":"forest"}`

func TestOSMXML(t *testing.T) {
	all, r, err := readAll(t, "x.osm", smallOSM, Options{Strict: true})
	if got := showAll(t, all); err != nil || got != smallOSMPlaces {
		t.Errorf("%v\n%s\nwant\n%s", err, got, smallOSMPlaces)
	}
	if s := r.Stats(); s.Incomplete != 3 { // way 14, relations 21 and 22
		t.Errorf("%+v", s)
	}
}

var object = regexp.MustCompile(`(?s)<(node|way|relation) [^>]*/>|<(node|way|relation) .*?</(node|way|relation)>`)

// The places are the same for any order of the objects.
func TestOSMOrder(t *testing.T) {
	in := object.FindAllString(smallOSM, -1)
	want := strings.Split(smallOSMPlaces, "\n")
	slices.Sort(want)
	for turn := range len(in) {
		for _, reverse := range []bool{false, true} {
			order := slices.Concat(in[turn:], in[:turn])
			if reverse {
				slices.Reverse(order)
			}
			text := "<osm>" + strings.Join(order, "\n") + "</osm>"
			all, r, err := readAll(t, "x.osm", text, Options{Strict: true})
			if err != nil {
				t.Fatal(err)
			}
			got := strings.Split(showAll(t, all), "\n")
			slices.Sort(got)
			if !slices.Equal(got, want) || r.Stats().Incomplete != 3 {
				t.Fatalf("from object %d, reversed %v: %d incomplete\n%s", turn, reverse,
					r.Stats().Incomplete, strings.Join(got, "\n"))
			}
		}
	}
}

func TestBadXML(t *testing.T) {
	node := `<node id="1" lat="1" lon="2"><tag k="a" v="b"/></node>`
	for _, c := range []struct {
		name, text  string
		places, bad int
		kind        error
	}{
		{"latitude", "<osm>" + node + `<node id="2" lat="91" lon="0"/>` + node + "</osm>", 2, 1, nil},
		{"no longitude", "<osm>" + node + `<node id="2" lat="9"/></osm>`, 1, 1, nil},
		{"not a number", "<osm>" + node + `<node id="2" lat="NaN" lon="0"/></osm>`, 1, 1, nil},
		{"id", "<osm>" + node + `<node id="x" lat="9" lon="0"/></osm>`, 1, 1, nil},
		{"node of a way", "<osm>" + node + `<way id="2"><nd ref="x"/></way></osm>`, 1, 1, nil},
		{"member", "<osm>" + node + `<relation id="2"><member type="x" ref="1"/></relation></osm>`, 1, 1, nil},
		{"cut", "<osm>" + node, 1, 0, input.ErrTruncated},
		{"cut in an object", "<osm>" + node + "<node id='1'>", 1, 0, input.ErrTruncated},
		{"syntax", "<osm>" + node + "<node id=1>", 1, 0, input.ErrSyntax},
		{"ends", "<osm>" + node + "<way></node></osm>", 1, 0, input.ErrSyntax},
		{"stray end", "<osm>" + node + "</way>", 1, 0, input.ErrSyntax},
		{"changes", "<osmChange>" + node + "</osmChange>", 0, 0, input.ErrUnsupported},
		{"Latin 1", "<?xml version='1.0' encoding='ISO-8859-1'?><osm></osm>", 0, 0, input.ErrUnsupported},
		{"version", "<?xml version='1.1'?><osm></osm>", 0, 0, input.ErrUnsupported},
		{"long", "<osm>" + node + "<!--" + strings.Repeat(" ", 2*maxElementBytes), 1, 0, input.ErrTooLarge},
	} {
		all, r, err := readAll(t, "x", c.text, Options{Format: OSMXML})
		if len(all) != c.places || len(r.Bad()) != c.bad || !errors.Is(err, c.kind) {
			t.Errorf("%s: %v, %v, %v", c.name, all, r.Bad(), err)
		}
	}
}

func TestOSMMemory(t *testing.T) {
	for _, c := range []struct {
		text string
		most int64
	}{
		{"<osm><node id='1' lat='1' lon='1'/></osm>", 1024 * 16},
		{"<osm><way id='1'><nd ref='1'/></way></osm>", wayChunk + 2*firstWays*wayPlaceBytes},
	} {
		_, _, err := readAll(t, "x.osm", c.text, Options{MemoryBytes: c.most})
		if err != nil {
			t.Error(err)
		}
		_, _, err = readAll(t, "x.osm", c.text, Options{MemoryBytes: c.most - 1})
		if !errors.Is(err, input.ErrTooLarge) {
			t.Errorf("%s with %d bytes: %v", c.text, c.most-1, err)
		}
	}
}

func TestIsArea(t *testing.T) {
	for tags, want := range map[string]bool{
		"building=yes": true, "building=no": false, "highway=path": false,
		"highway=services": true, "natural=water": true, "natural=cliff": false,
		"area=yes": true, "area=no building=yes": false, "highway=path area=yes": true,
		"natural=cliff landuse=quarry": true, "name=building": false, "": false,
		"junction=roundabout": false, "barrier=fence": false, "barrier=wall": true,
	} {
		var all []input.OSMTag
		for _, tag := range strings.Fields(tags) {
			k, v, _ := strings.Cut(tag, "=")
			all = append(all, input.OSMTag{Key: []byte(k), Value: []byte(v)})
		}
		if got := isArea(all); got != want {
			t.Errorf("%s: %v", tags, got)
		}
	}
}

// The result of osmium export (1.15, --add-unique-id=type_id) for the same file,
// compared once place by place: the 11,257 points; the lines; of closed ways,
// which it writes both ways unless a tag decides, those that osmareas.go
// chooses; the areas of 190 relations, with their size, parts and holes; and
// all tags but type. 57 relations have members beyond the extract.
func TestAndorra(t *testing.T) {
	r, err := Open("../../datasets/testdata/andorra.osm.pbf", Options{Strict: true})
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	kinds := map[string]int{}
	parts, holes := 0, 0
	for p, err := range r.All() {
		if err != nil {
			t.Fatal(err)
		}
		kind, _, _ := strings.Cut(p.ID, "/")
		kinds[kind+" "+p.Geometry.GeoJSONType()]++
		var areas orb.MultiPolygon
		switch g := p.Geometry.(type) {
		case orb.Polygon:
			areas = orb.MultiPolygon{g}
		case orb.MultiPolygon:
			areas = g
		}
		for _, a := range areas {
			parts++
			holes += len(a) - 1
			for i, ring := range a {
				if want := [2]orb.Orientation{orb.CCW, orb.CW}[min(i, 1)]; ring.Orientation() == -want {
					t.Errorf("%s: ring %d turns the wrong way", p.ID, i)
				}
			}
		}
	}
	want := map[string]int{
		"node Point": 11257, "way LineString": 8047, "way Polygon": 9655,
		"relation Polygon": 182, "relation MultiPolygon": 8,
	}
	if s := r.Stats(); fmt.Sprint(kinds) != fmt.Sprint(want) || s.Incomplete != 57 || s.Read != s.Total {
		t.Errorf("%v, %+v; want %v", kinds, s, want)
	}
	if parts != andorraParts || holes != andorraHoles {
		t.Errorf("%d parts, %d holes", parts, holes)
	}
}

const andorraParts, andorraHoles = 9859, 358

// The id can be a tag.
func TestOSMTagID(t *testing.T) {
	all, r, err := readAll(t, "x.osm", smallOSM, Options{ID: "name"})
	if err != nil || len(all) != 1 || all[0].ID != "é" || r.Stats().Bad != 4 {
		t.Errorf("%v, %v, %v", all, r.Bad(), err)
	}
}
