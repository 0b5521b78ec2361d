package places

import (
	"errors"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/places/input"
)

func TestCSV(t *testing.T) {
	point := `{"type":"Point","coordinates":[1.5,42.5]}`
	for _, c := range []struct {
		name, text string
		opts       Options
		want       string
	}{
		{"plain", "id,lon,lat,name\na,1.5,42.5,Bar\n", Options{}, "a " + point + ` {"name":"Bar"}`},
		{"upper case, semicolon", "Name;LATITUDE;Longitude\r\nBar;42.5;1.5\r\n", Options{}, " " + point + ` {"Name":"Bar"}`},
		{"tab", "x\ty\n1.5\t42.5\n", Options{}, " " + point + " "},
		{"pipe, mark, blank lines", "\ufeff\n\nlng|lat\n\n1.5|42.5", Options{}, " " + point + " "},
		{"separator in quotes", "\"a,b,c\";long;lat\n\"x;\"\"y\"\"\nz\";1.5;42.5\n", Options{}, " " + point + ` {"a,b,c":"x;\"y\"\nz"}`},
		{"named", "a,b,lon,lat\n1.5,42.5,9,10\n", Options{X: "A", Y: "b", ID: "lon"}, "9 " + point + ` {"lon":9,"lat":10}`},
		{"given separator", "lon:lat\n1.5:42.5\n", Options{Format: CSV, Separator: ':'}, " " + point + " "},
		{"the first pair of names counts", "x,y,lon,lat\n1,2,1.5,42.5\n", Options{}, " " + point + ` {"x":1,"y":2}`},
		{"a pair must be complete", "lon,x,y\n7,1.5,42.5\n", Options{}, " " + point + ` {"lon":7}`},
		{"wkt", "id,wkt,lon\n1,\"POINT (1.5 42.5)\",7\n2,,7\n3,POLYGON EMPTY,\n4,SRID=4326;POINT(1.5 42.5),\n5,Point Empty,\n", Options{},
			"1 " + point + ` {"lon":7}` + "\n2 null " + `{"lon":7}` + "\n3 null \n4 " + point + " \n5 null "},
		{"named wkt", "the_shape,lon,lat\nPOINT(1.5 42.5),1,2\n", Options{WKT: "the_shape"}, " " + point + ` {"lon":1,"lat":2}`},
		{"no position", "lon,lat,a\n,,1\n , ,2\n", Options{}, " null " + `{"a":1}` + "\n null " + `{"a":2}`},
		{"values", "lon,lat,a,b,c,d,e,f,g,h\n1.5,42.5,007,-0.5e-3,1e999,true, 1,NaN,null,-\n", Options{},
			" " + point + ` {"a":"007","b":-0.5e-3,"c":"1e999","d":"true","e":" 1","f":"NaN","g":"null","h":"-"}`},
		{"numbers", "lon,lat,a,b,c,d,e,f,g\n1.5,42.5,8010,-7,0,1.50,1e-05,-1.25E+20,18446744073709551615\n", Options{},
			" " + point + ` {"a":8010,"b":-7,"c":0,"d":1.50,"e":1e-05,"f":-1.25E+20,"g":18446744073709551615}`},
		{"no numbers", "lon,lat,a,b,c,d,e,f,g\n1.5,42.5,01067,+7,1e3,12e+4,1.5E7,18446744073709551617,-00\n", Options{},
			" " + point + ` {"a":"01067","b":"+7","c":"1e3","d":"12e+4","e":"1.5E7","f":"18446744073709551617","g":"-00"}`},
		{"text", "plz,lon,lat,n,Tel \n8010,1.5,42.5,20,316\n01067,1.5,42.5,7,\n", Options{Text: []string{"PLZ", "tel"}},
			" " + point + ` {"plz":"8010","n":20,"Tel":"316"}` + "\n " + point + ` {"plz":"01067","n":7}`},
		{"names", "lon,lat,,a,a, a ,a_5\n1.5,42.5,1,2,3,4,5\n", Options{},
			" " + point + ` {"column3":1,"a":2,"a_5":3,"a_6":4,"a_5_7":5}`},
		{"escapes", "lon,lat,\"q\"\"\\\"\n1.5,42.5,<&>\x01\n", Options{}, " " + point + ` {"q\"\\":"<&>\u0001"}`},
	} {
		c.opts.Strict = true
		all, _, err := readAll(t, "x.csv", c.text, c.opts)
		if got := showAll(t, all); err != nil || got != c.want {
			t.Errorf("%s:\n%s, %v; want\n%s", c.name, got, err, c.want)
		}
	}
}

// navaids has the form of the list of radio beacons that OurAirports
// publishes: 20 columns, a text id, quotes.
const navaids = `"id","filename","ident","name","type","frequency_khz","latitude_deg","longitude_deg","elevation_ft","iso_country","dme_frequency_khz","dme_channel","dme_latitude_deg","dme_longitude_deg","dme_elevation_ft","slaved_variation_deg","magnetic_variation_deg","usageType","power","associated_airport"
85050,"Williams_Harbour_NDB_CA","1A","Williams Harbour","NDB",373,52.55889892578125,-55.78219985961914,,"CA",,,,,,,-20.75,"LO","MEDIUM","CCA6"
85051,"Sable_Island_NDB_CA","1B","Sable ""Island""","NDB",277,43.930599212646484,-60.02280044555664,,"CA",,,,,,,-17.95,"LO","MEDIUM","CSB2"
`

func TestNavaids(t *testing.T) {
	all, r, err := readAll(t, "navaids.csv", navaids, Options{ID: "ident"})
	if err != nil || len(all) != 2 || r.Stats().Bad != 0 {
		t.Fatalf("%v, %v", all, err)
	}
	want := `1B {"type":"Point","coordinates":[-60.02280044555664,43.930599212646484]} {"id":85051,"filename":"Sable_Island_NDB_CA",` +
		`"ident":"1B","name":"Sable \"Island\"","type":"NDB","frequency_khz":277,"iso_country":"CA",` +
		`"magnetic_variation_deg":-17.95,"usageType":"LO","power":"MEDIUM","associated_airport":"CSB2"}`
	if got := show(t, all[1]); got != want {
		t.Errorf("%s\nwant\n%s", got, want)
	}
}

func TestBadRows(t *testing.T) {
	text := "id,lon,lat\n1,2,3\n2,x,3\n3,4\n4,NaN,1\n5,\"6\"7,8\n6,7,\n7,8,\xe9\n8,9,1e400\n9,10,11\n"
	all, r, err := readAll(t, "x", text, Options{})
	if err != nil || len(all) != 2 || all[1].ID != "9" {
		t.Fatalf("%v, %v", all, err)
	}
	says := []string{`"x"`, "2 fields, the header has 3", "NaN", `extraneous or missing "`, `coordinate ""`, "UTF-8", "1e400"}
	for i, bad := range r.Bad() {
		if bad.Line != int64(i)+3 || !errors.Is(bad, input.ErrSyntax) || !strings.Contains(bad.Error(), says[i]) {
			t.Errorf("%v, want line %d, %s", bad, i+3, says[i])
		}
		if at := text[bad.Offset:]; at[:1] != string(rune('2'+i)) {
			t.Errorf("%v at %q", bad, at)
		}
	}
	if len(r.Bad()) != len(says) {
		t.Errorf("%v", r.Bad())
	}
}

func TestBadWKT(t *testing.T) {
	for text, says := range map[string]string{
		"POINT(1)":                        "invalid",
		"CIRCLE(1 2)":                     "unsupported",
		"POINT(NaN 2)":                    "finite",
		"LINESTRING(1 2)":                 "2 or more",
		"MULTILINESTRING((1 2))":          "2 or more",
		"POLYGON((0 0,1 0,1 1,0 1))":      "closed",
		"SRID=3857;POINT(1 2)":            "SRID=3857",
		strings.Repeat("(", 20) + "POINT": "nested",
	} {
		_, r, err := readAll(t, "x.csv", "a,wkt\n1,\""+text+"\"\n", Options{})
		if err != nil || len(r.Bad()) != 1 || !strings.Contains(r.Bad()[0].Error(), says) {
			t.Errorf("%s: %v, %v, want %q", text, r.Bad(), err, says)
		}
	}
}

func TestBadHeaders(t *testing.T) {
	for _, c := range []struct {
		text string
		opts Options
		kind error
		says string
	}{
		{"name,town\n", Options{}, input.ErrSyntax, "--x and --y"},
		{"name\n", Options{}, input.ErrSyntax, "--separator"},
		{"lon,lat\n", Options{ID: "ref"}, input.ErrOption, `"ref"`},
		{"lon,lat\n", Options{X: "a", Y: "lat"}, input.ErrOption, `"a"`},
		{"lon,lat\n", Options{WKT: "w"}, input.ErrOption, `"w"`},
		{"lon,lat\n", Options{Text: []string{"plz"}}, input.ErrOption, `"plz", which Options.Text (--text) names`},
		{"lon,lat,\xe9\n", Options{}, input.ErrSyntax, "UTF-8"},
		{"lon,lat,\"a\n", Options{}, input.ErrSyntax, "column"},
	} {
		_, _, err := readAll(t, "x.csv", c.text, c.opts)
		if !errors.Is(err, c.kind) || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%q, %+v: %v; want %v, %s", c.text, c.opts, err, c.kind, c.says)
		}
	}
}

// An unclosed quote does not use all memory.
func TestUnclosedQuoteIsBounded(t *testing.T) {
	text := "lon,lat\n1,2\n\"" + strings.Repeat("x\n", maxRowBytes)
	all, _, err := readAll(t, "x", text, Options{})
	if len(all) != 1 || !errors.Is(err, input.ErrTooLarge) || !strings.Contains(err.Error(), "quote") {
		t.Errorf("%v, %v", all, err)
	}
}
