package cli

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"fmt"
	"math"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/cli/clitest"
)

// Commands that users tried with files from others

// All of countries.geojson loads, also the country whose geometry is empty, and a point
// lies in one country.
func TestCountries(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	const countries = "../../internal/feature/testdata/countries.geojson"
	text, err := os.ReadFile(countries)
	if err != nil {
		t.Fatal(err)
	}
	all := strings.Count(string(text), `"type":"Feature",`)
	code, out, says := clitest.Program(t, at(addr, "load", countries, "--id", "id")...)
	if code != ExitOK || all != 12 || out != fmt.Sprintf("loaded %d features into cafes\n", all) {
		t.Fatalf("exit %d, %q, of %d\n%s", code, out, all, says)
	}
	if !strings.Contains(says, "1 features have no geometry") {
		t.Errorf("the one without a geometry is not told: %s", says)
	}
	if out := clitest.Succeed(t, at(addr, "get", "RU-CHU")...); !strings.Contains(out, `"geometry":null`) {
		t.Error(out)
	}
	for place, want := range map[string]string{
		"2.35,48.85": "FR", "7.45,46.95": "CH", "9.52,47.14": "LI", "12.49,41.89": "IT",
		"12.453,41.903": "VA", "12.45,43.94": "SM", // which lie within Italy
		"174.76,-41.29": "NZ", "28.23,-25.75": "ZA", "28.2,-29.5": "LS", // which lies within South Africa
		"37.6,55.75": "RU", "-175,66.5": "RU", "179.0,-16.5": "FJ", "0,-30": "",
	} {
		got := clitest.Decode[collectionJSON](t, clitest.Succeed(t, at(addr, "search", "--bbox", place+","+place, "--format", "geojson", "--no-geometry")...))
		var names []string
		for _, f := range got.Features {
			names = append(names, fmt.Sprint(f.ID))
		}
		if want == "" && len(names) == 0 {
			continue
		}
		if !slices.Equal(names, []string{want}) {
			t.Errorf("%s is in %q, want %q", place, names, want)
		}
	}
}

// A file of radio beacons as OurAirports publishes it, packed, from standard input:
// its columns are found by name, ids are texts, quotes hold separators.
func TestNavaids(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	const header = `"id","filename","ident","name","type","frequency_khz","latitude_deg","longitude_deg","elevation_ft","iso_country","dme_frequency_khz","dme_channel","dme_latitude_deg","dme_longitude_deg","dme_elevation_ft","slaved_variation_deg","magnetic_variation_deg","usageType","power","associated_airport"` + "\n"
	rows := header +
		`85047,"Williams_Harbour_NDB_CA","1A","Williams, ""Harbour""","NDB",373,52.558,-55.781,70,"CA",,,,,,,-22.7,"LO","MEDIUM","CCA6"` + "\n" +
		`90001,"Taveuni_VOR_FJ","TV","Taveuni","VOR",113900,-16.69,-179.87,,"FJ",,,,,,,12.9,"BOTH","HIGH","NFNM"` + "\n" +
		`90002,"Nadi_VOR_FJ","NN","Nadi","VOR",112500,-17.75,177.44,,"FJ",,,,,,,12.4,"BOTH","HIGH","NFFN"` + "\n" +
		`90003,"Swapped","SW","Swapped","VOR",112500,177.44,-17.75,,"FJ",,,,,,,12.4,"BOTH","HIGH",""` + "\n"
	var packed bytes.Buffer
	w := gzip.NewWriter(&packed)
	if _, err := w.Write([]byte(rows)); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	code, out, says := programIn(t, packed.String(), at(addr, "load", "-", "--id", "ident")...)
	if code != ExitOK || out != "loaded 3 features into cafes, 1 bad records were left out\n" || !strings.Contains(says, "1 bad record") || !strings.Contains(says, "latitude 177.44") {
		t.Fatalf("exit %d, %q\n%s", code, out, says)
	}
	clitest.Fail(t, ExitFailure, at(addr, "load", clitest.File(t, "swapped.csv", rows), "--id", "ident", "--strict"), "line 5", "177.44")
	if text := clitest.Succeed(t, at(addr, "get", "1A", "--fields", "name,power")...); !strings.Contains(text, `"properties":{"name":"Williams, \"Harbour\"","power":"MEDIUM"}`) {
		t.Error(text)
	}
	// A window across 180 degrees contains both parts of Fiji, and not Canada.
	if got := clitest.Decode[collectionJSON](t, clitest.Succeed(t, at(addr, "search", "--bbox", "170,-25,-170,-10", "--format", "geojson")...)); !slices.Equal(got.ids(), []string{"NN", "TV"}) {
		t.Errorf("%q", got.ids())
	}
	if d := clitest.Succeed(t, at(addr, "features", "describe")...); !strings.Contains(d, "extent      177.44,-17.75,-55.781,52.558\n") {
		t.Error(d)
	}
	// The nearest to a point at 180 degrees is the one on its other side.
	near := clitest.Decode[itemsJSON](t, clitest.Succeed(t, at(addr, "nearest", "--point", "179.9,-16.69", "-k", "1", "--json")...))
	if len(near.Items) != 1 || near.Items[0].ID != "TV" || math.Abs(*near.Items[0].Metres-24_500) > 200 {
		t.Errorf("%+v", near)
	}
	// Moved and deleted by its id alone.
	clitest.Succeed(t, at(addr, "put", clitest.File(t, "tv.geojson", `{"type":"Feature","id":"TV","geometry":{"type":"Point","coordinates":[-55,52]},"properties":{}}`))...)
	if n := clitest.Succeed(t, at(addr, "count", "--bbox", "170,-25,-170,-10")...); n != "1\n" {
		t.Errorf("after the move: %s", n)
	}
	clitest.Succeed(t, at(addr, "delete", "TV")...)
	clitest.Fail(t, ExitFailure, at(addr, "get", "TV"), "TV")
}

// Postal codes are text, also those written as numbers, if --text names their column.
func TestTextColumns(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	shops := clitest.File(t, "shops.csv", "id,lat,lon,plz,tel,seats\na,47,15,8010,0316123,20\nb,51,13.7,01067,+49351,7\n")
	clitest.Succeed(t, at(addr, "load", shops)...)
	if got := clitest.Succeed(t, at(addr, "get", "a")...); !strings.Contains(got, `{"plz":8010,"tel":"0316123","seats":20}`) {
		t.Error(got)
	}
	clitest.Succeed(t, at(addr, "load", shops, "--text", "plz,tel")...)
	for id, want := range map[string]string{"a": `{"plz":"8010","tel":"0316123","seats":20}`, "b": `{"plz":"01067","tel":"+49351","seats":7}`} {
		if got := clitest.Succeed(t, at(addr, "get", id)...); !strings.Contains(got, want) {
			t.Errorf("%s, want %s", got, want)
		}
	}
	clitest.Fail(t, ExitUsage, at(addr, "load", shops, "--text", "zip"), `no column "zip", which Options.Text (--text) names`)
}

// The nearest places are nearest by great circle, not by degrees: far north a degree of
// longitude is short.
func TestNearestByGreatCircle(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	places := clitest.File(t, "north.csv", "id,lat,lon,name\neast,80,3,a\nsouth,79,0,b\npole,89.9,-179,c\n")
	clitest.Succeed(t, at(addr, "load", places, "--id", "id")...)
	near := clitest.Decode[itemsJSON](t, clitest.Succeed(t, at(addr, "nearest", "--point", "0,80", "-k", "3", "--json")...))
	var ids []string
	for _, i := range near.Items {
		ids = append(ids, i.ID)
	}
	if !slices.Equal(ids, []string{"east", "south", "pole"}) {
		t.Errorf("%q, want the one 3 degrees east (58 km) before the one a degree south (111 km)", ids)
	}
}

// OSM XML: nodes with tags, ways as lines and areas.
func TestOSMXML(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	path := clitest.File(t, "town.osm", `<?xml version="1.0"?><osm version="0.6">
<node id="1" lat="42.5" lon="1.5"><tag k="amenity" v="cafe"/><tag k="name" v="Sol"/></node>
<node id="2" lat="42.5" lon="1.6"/><node id="3" lat="42.6" lon="1.6"/><node id="4" lat="42.6" lon="1.5"/>
<way id="7"><nd ref="2"/><nd ref="3"/><nd ref="4"/><nd ref="2"/><tag k="building" v="yes"/></way>
<way id="8"><nd ref="2"/><nd ref="3"/><tag k="highway" v="path"/></way></osm>`)
	clitest.Succeed(t, at(addr, "load", path)...)
	types := map[string]string{}
	for _, f := range clitest.Decode[collectionJSON](t, clitest.Succeed(t, at(addr, "search", "--bbox", "1,42,2,43", "--format", "geojson")...)).Features {
		var g struct{ Type string }
		if err := json.Unmarshal(f.Geometry, &g); err != nil {
			t.Fatal(err)
		}
		types[fmt.Sprint(f.Properties)] = g.Type
	}
	for properties, want := range map[string]string{"cafe": "Point", "building": "Polygon", "highway": "LineString"} {
		found := false
		for p, typ := range types {
			found = found || strings.Contains(p, properties) && typ == want
		}
		if !found {
			t.Errorf("no %s of %s in %v", want, properties, types)
		}
	}
}

// The next 20 results, and the next, by the cursor of each answer.
func TestSearchPages(t *testing.T) {
	_, addr, _ := clitest.Serve(t)
	rows := "id,lat,lon,name\n"
	for i := range 50 {
		rows += fmt.Sprintf("p%02d,1,%d,x\n", i, i%7)
	}
	clitest.Succeed(t, at(addr, "load", clitest.File(t, "points.csv", rows), "--id", "id")...)
	for _, way := range []string{"fast", "offload", "tcp"} {
		var all []string
		pages := 0
		for cursor := ""; pages < 5; pages++ {
			args := []string{"search", "--bbox", "-1,0,9,2", "--limit", "20", "--format", "geojson", "--policy", way}
			if cursor != "" {
				args = append(args, "--cursor", cursor)
			}
			got := clitest.Decode[collectionJSON](t, clitest.Succeed(t, at(addr, args...)...))
			all = append(all, got.ids()...)
			if cursor = got.Next; cursor == "" {
				break
			}
		}
		if pages != 2 || len(all) != 50 || !slices.IsSorted(all) || len(slices.Compact(all)) != 50 {
			t.Errorf("%s: %d pages, %d features: %q", way, pages+1, len(all), all)
		}
	}
	// A truncated result is reported on standard error, too.
	if _, _, says := clitest.Program(t, at(addr, "search", "--bbox", "-1,0,9,2", "--limit", "20")...); !strings.Contains(says, "there are more: --cursor p19") {
		t.Error(says)
	}
}
