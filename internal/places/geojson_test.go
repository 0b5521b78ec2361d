package places

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/places/input"
)

func TestGeoJSON(t *testing.T) {
	point := `{"type":"Point","coordinates":[1,2]}`
	feature := `{"type":"Feature","id":7,"properties":{"a": 1},"geometry":` + point + `}`
	read := "7 " + point + ` {"a":1}`
	for _, c := range []struct{ name, text, want string }{
		{"geometry", point, " " + point + " "},
		{"feature", feature, read},
		{"members in any order", `{"features":[` + feature + `],"x":{"features":[1]},"type":"FeatureCollection","bbox":[1,2]}`, read},
		{"collection", `{"type":"FeatureCollection","features":[` + feature + "," + feature + `]}`, read + "\n" + read},
		{"nothing in it", `{"type":"FeatureCollection","features":[]}`, ""},
		{"several texts", feature + "{\n" + feature[1:], read + "\n" + read},
		{"lines", feature + "\r\n\n" + feature, read + "\n" + read},
		{"a collection a line", strings.Repeat(`{"type":"FeatureCollection","features":[`+feature+"]}\n", 2), read + "\n" + read},
		{"RFC 8142", "\x1e" + feature + "\n\x1e{\n" + feature[1:] + "\n", read + "\n" + read},
		{"byte order mark", "\ufeff" + feature, read},
		{"text that looks like more", `{"type":"Feature","geometry":null,"properties":{"a":"]}\"{\\"}}`, ` null {"a":"]}\"{\\"}`},
		{"feature with features", `{"type":"Feature","geometry":null,"properties":{"features":[1]},"features":1}`, ` null {"features":[1]}`},
		{"text id", `{"type":"Feature","id":"é","geometry":null}`, "é null "},
		{"long id", `{"type":"Feature","id":18446744073709551615,"geometry":null}`, "18446744073709551615 null "},
		{"altitude", `{"type":"Point","coordinates":[1,2,3,4]}`, ` {"type":"Point","coordinates":[1,2,3]} `},
		{"blanks", `{"type":"LineString","coordinates":[ [ 1 , 2 ] , [3e0,4.0] ]}`, ` {"type":"LineString","coordinates":[[1,2],[3,4]]} `},
		{"empty", `{"type":"MultiPolygon","coordinates":[]}`, " null "},
		{"empty part", `{"type":"MultiPolygon","coordinates":[[],[[]],[[[0,0],[1,0],[1,1],[0,0]],[]]]}`,
			` {"type":"MultiPolygon","coordinates":[[[[0,0],[1,0],[1,1],[0,0]]]]} `},
		{"empty point", `{"type":"Point","coordinates":[]}`, " null "},
		{"null coordinates", `{"type":"Polygon","coordinates":null}`, " null "},
		{"collection of geometries", `{"type":"GeometryCollection","geometries":[` + point + `,{"type":"LineString","coordinates":[]}]}`,
			` {"type":"GeometryCollection","geometries":[` + point + `]} `},
		{"empty collection", `{"type":"GeometryCollection","geometries":[]}`, " null "},
	} {
		all, _, err := readAll(t, c.name, c.text, Options{Strict: true})
		if got := showAll(t, all); err != nil || got != c.want {
			t.Errorf("%s:\n%s, %v; want\n%s", c.name, got, err, c.want)
		}
	}
}

// In one text, a bad feature with balanced brackets does not affect the others.
func TestBadGeoJSON(t *testing.T) {
	good := `{"type":"Feature","id":"ok","geometry":null}`
	deep := strings.Repeat(`{"type":"GeometryCollection","geometries":[`, 9) + strings.Repeat("]}", 9)
	for _, c := range []struct {
		name, feature string
		kind          error
		says          string
	}{
		{"number", `5`, input.ErrSyntax, `"5", want an object`},
		{"null", `null`, input.ErrSyntax, "want an object"},
		{"text", `"a]}"`, input.ErrSyntax, "want an object"},
		{"list", `[[1],[2]]`, input.ErrSyntax, "want an object"},
		{"no JSON", `{a b}`, input.ErrSyntax, "invalid character"},
		{"no UTF-8", "{\"type\":\"Feature\",\"id\":\"\xff\",\"geometry\":null}", input.ErrSyntax, "UTF-8"},
		{"properties", `{"type":"Feature","geometry":null,"properties":[1]}`, input.ErrSyntax, "properties"},
		{"id", `{"type":"Feature","id":{},"geometry":null}`, input.ErrSyntax, `id "{}"`},
		{"type", `{"type":"Circle","coordinates":[1,2]}`, input.ErrSyntax, "Circle"},
		{"no coordinates", `{"type":"Point"}`, input.ErrSyntax, "without coordinates"},
		{"one coordinate", `{"type":"Point","coordinates":[1]}`, input.ErrSyntax, "1 coordinates"},
		{"null in a position", `{"type":"Point","coordinates":[1,null]}`, input.ErrSyntax, "null"},
		{"too big", `{"type":"Point","coordinates":[1,1e999]}`, input.ErrSyntax, "finite"},
		{"text in a position", `{"type":"Point","coordinates":["1","2"]}`, input.ErrSyntax, "finite"},
		{"too shallow", `{"type":"Polygon","coordinates":[[1,2],[3,4]]}`, input.ErrSyntax, "array of numbers"},
		{"too deep", `{"type":"Point","coordinates":[[1,2]]}`, input.ErrSyntax, "finite"},
		{"short line", `{"type":"LineString","coordinates":[[1,2]]}`, input.ErrSyntax, "one position"},
		{"open ring", `{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,1]]]}`, input.ErrSyntax, "ring"},
		{"short ring", `{"type":"Polygon","coordinates":[[[0,0],[1,0],[0,0]]]}`, input.ErrSyntax, "ring"},
		{"open second ring", `{"type":"Polygon","coordinates":[[[0,0],[1,0],[1,1],[0,0]],[[0,0],[1,0],[1,1],[0,1]]]}`, input.ErrSyntax, "ring"},
		{"nested collections", deep, input.ErrUnsupported, "deeper than 8"},
		{"geometries", `{"type":"GeometryCollection","geometries":5}`, input.ErrSyntax, "geometries"},
	} {
		text := fmt.Sprintf(`{"type":"FeatureCollection","features":[%s,%s,%[1]s]}`, good, c.feature)
		all, r, err := readAll(t, c.name, text, Options{})
		if err != nil || len(all) != 2 || len(r.Bad()) != 1 {
			t.Errorf("%s: %v, %v", c.name, all, err)
			continue
		}
		bad := r.Bad()[0]
		if !errors.Is(bad, c.kind) || !strings.Contains(bad.Error(), c.says) ||
			bad.Offset != int64(strings.Index(text, good)+len(good)+1) {
			t.Errorf("%s: offset %d, %v; want %v, %q", c.name, bad.Offset, bad, c.kind, c.says)
		}
	}
}

// Lines are counted even if values end at line ends.
func TestGeoJSONLine(t *testing.T) {
	text := "{\"a\": 1\n,\"b\": null\n,\"type\": \"FeatureCollection\", \"features\": [\n5\n,\n 6\n]}"
	_, r, err := readAll(t, "x", text, Options{Format: GeoJSON})
	if bad := r.Bad(); err != nil || len(bad) != 2 || bad[0].Line != 4 || bad[1].Line != 6 {
		t.Errorf("%v, %v", bad, err)
	}
}

func TestBrokenGeoJSONEndsReading(t *testing.T) {
	good := `{"type":"Feature","id":"ok","geometry":null}`
	for _, c := range []struct {
		name, text string
		kind       error
	}{
		{"cut in a feature", `{"type":"FeatureCollection","features":[` + good + "," + good[:20], input.ErrTruncated},
		{"cut after a feature", `{"type":"FeatureCollection","features":[` + good, input.ErrTruncated},
		{"cut before the end", `{"type":"FeatureCollection","features":[` + good + "]", input.ErrTruncated},
		{"wrong bracket", `{"type":"FeatureCollection","features":[` + good + "}", input.ErrSyntax},
		{"wrong type", `{"type":"Feature","features":[` + good + "]}", input.ErrSyntax},
		{"type later", `{"features":[` + good + `],"type":"Point"}`, input.ErrSyntax},
	} {
		all, _, err := readAll(t, "x", c.text, Options{Format: GeoJSON})
		if len(all) != 1 || !errors.Is(err, c.kind) {
			t.Errorf("%s: %v, %v", c.name, all, err)
		}
	}
}

// The id can be a property; then each feature must have it.
func TestIDFromProperty(t *testing.T) {
	text := `{"type":"Feature","id":1,"geometry":null,"properties":{"x":{"ref":9},"ref":"b"}}
{"type":"Feature","id":2,"geometry":null,"properties":{"ref":5}}
{"type":"Feature","id":3,"geometry":null,"properties":{"ref":null}}
{"type":"Feature","id":4,"geometry":null}
{"type":"Point","coordinates":[1,2]}
`
	all, r, err := readAll(t, "x", text, Options{ID: "ref"})
	if err != nil || len(all) != 2 || all[0].ID != "b" || all[1].ID != "5" || r.Stats().Bad != 3 {
		t.Errorf("%v, %v, %v", all, r.Bad(), err)
	}
}
