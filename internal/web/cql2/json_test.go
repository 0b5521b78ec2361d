package cql2

import (
	"encoding/json"
	"errors"
	"reflect"
	"strconv"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/catfish-index/catfish/internal/store"
)

// The examples of the standard (21-065r2), as text and as JSON, mean the same.
func TestJSONEqualsText(t *testing.T) {
	for _, c := range []struct{ text, json string }{
		{"city = 'Bern'", `{"op":"=","args":[{"property":"city"},"Bern"]}`},
		{"28 <= n", `{"op":"<=","args":[28,{"property":"n"}]}`},
		{"a <> b", `{"op":"<>","args":[{"property":"a"},{"property":"b"}]}`},
		{"pool = TRUE", `{"op":"=","args":[{"property":"pool"},true]}`},
		{"n > -1.50e3", `{"op":">","args":[{"property":"n"},-1.50e3]}`},
		{"updated >= DATE('1970-01-01')", `{"op":">=","args":[{"property":"updated"},{"date":"1970-01-01"}]}`},
		{"updated < TIMESTAMP('2012-08-10T05:30:00.5Z')", `{"op":"<","args":[{"property":"updated"},{"timestamp":"2012-08-10T05:30:00.5Z"}]}`},
		{"a < 0.1 AND b = 28 AND c = 203", `{"op":"and","args":[{"op":"<","args":[{"property":"a"},0.1]},{"op":"=","args":[{"property":"b"},28]},{"op":"=","args":[{"property":"c"},203]}]}`},
		{"pool = true AND (floors > 5 OR NOT (of LIKE 'brick%'))", `{"op":"and","args":[{"op":"=","args":[{"property":"pool"},true]},{"op":"or","args":[{"op":">","args":[{"property":"floors"},5]},{"op":"not","args":[{"op":"like","args":[{"property":"of"},"brick%"]}]}]}]}`},
		{"of NOT LIKE '%_x\\%'", `{"op":"not","args":[{"op":"like","args":[{"property":"of"},"%_x\\%"]}]}`},
		{"depth BETWEEN 100.0 AND 150.0", `{"op":"between","args":[{"property":"depth"},100.0,150.0]}`},
		{"n NOT BETWEEN low AND high", `{"op":"not","args":[{"op":"between","args":[{"property":"n"},{"property":"low"},{"property":"high"}]}]}`},
		{"city IN ('Bern', 'New York', 5)", `{"op":"in","args":[{"property":"city"},["Bern","New York",5]]}`},
		{"n NOT IN (1, 2)", `{"op":"not","args":[{"op":"in","args":[{"property":"n"},[1,2]]}]}`},
		{"x IS NULL", `{"op":"isNull","args":[{"property":"x"}]}`},
		{"geometry IS NOT NULL", `{"op":"not","args":[{"op":"isNull","args":[{"property":"geometry"}]}]}`},
		{"CASEI(road) IN (CASEI('Straße'), CASEI('X'))", `{"op":"in","args":[{"op":"casei","args":[{"property":"road"}]},[{"op":"casei","args":["Straße"]},{"op":"casei","args":["X"]}]]}`},
		{"CASEI(name) LIKE CASEI('%FOO%')", `{"op":"like","args":[{"op":"casei","args":[{"property":"name"}]},{"op":"casei","args":["%FOO%"]}]}`},
		{"S_INTERSECTS(geometry, POINT(36.3 32.2))", `{"op":"s_intersects","args":[{"property":"geometry"},{"type":"Point","coordinates":[36.3,32.2]}]}`},
		{"S_INTERSECTS(geometry, BBOX(-128, -1.1, -99999, 180, 90, 1e5))", `{"op":"s_intersects","args":[{"property":"geometry"},{"bbox":[-128,-1.1,-99999.0,180.0,90.0,1e5]}]}`},
		{"S_WITHIN(geometry, POLYGON((-10 -10, 10 -10, 10 10, -10 -10)))", `{"op":"s_within","args":[{"property":"geometry"},{"type":"Polygon","coordinates":[[[-10,-10],[10,-10],[10,10],[-10,-10]]],"bbox":[1,2,3,4]}]}`},
		{"S_CONTAINS(POLYGON Z((-10 -10 5, 10 -10 5, 10 10 5, -10 -10 5)), geometry)", `{"op":"s_contains","args":[{"type":"Polygon","coordinates":[[[-10,-10,5],[10,-10,5],[10,10,5],[-10,-10,5]]]},{"property":"geometry"}]}`},
		{"S_DISJOINT(geometry, MULTIPOLYGON(((1 1, 2 1, 2 2, 1 1))))", `{"op":"s_disjoint","args":[{"property":"geometry"},{"type":"MultiPolygon","coordinates":[[[[1,1],[2,1],[2,2],[1,1]]]]}]}`},
		{"S_DWITHIN(geometry, POINT(1 2), 500)", `{"op":"s_dwithin","args":[{"property":"geometry"},{"type":"Point","coordinates":[1,2]},500]}`},
		{"T_AFTER(built, DATE('2012-06-05'))", `{"op":"t_after","args":[{"property":"built"},{"date":"2012-06-05"}]}`},
		{"T_INTERSECTS(at, INTERVAL('1969-07-16T05:32:00Z', '..'))", `{"op":"t_intersects","args":[{"property":"at"},{"interval":["1969-07-16T05:32:00Z",".."]}]}`},
		{"T_FINISHEDBY(INTERVAL(a, b), INTERVAL('2005-01-10', '2010-02-10'))", `{"op":"t_finishedBy","args":[{"interval":[{"property":"a"},{"property":"b"}]},{"interval":["2005-01-10","2010-02-10"]}]}`},
		{"open AND NOT TRUE", `{"op":"and","args":[{"property":"open"},{"op":"not","args":[true]}]}`},
	} {
		_, err := Parse(c.text, any1)
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if _, err = ParseJSON(c.json, any1); err != nil {
			t.Errorf("%s: %v", c.json, err)
			continue
		}
		got, want := treeOf(c.json, any1), treeOf(c.text, any1)
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: %+v, %v, want %+v as of %s", c.json, got, err, want, c.text)
		}
	}
}

func TestJSONErrors(t *testing.T) {
	known := named("a")
	deep := func(n int) string {
		return strings.Repeat(`{"op":"not","args":[`, n) + "true" + strings.Repeat("]}", n)
	}
	geometry := func(g string) string { return `{"op":"s_within","args":[{"property":"geometry"},` + g + `]}` }
	for text, want := range map[string]struct {
		column        int
		pointer, says string
	}{
		``:                                    {1, "", "no JSON: unexpected end"},
		`{"op":`:                              {7, "", "no JSON: unexpected end"},
		`{"é":1,}`:                            {8, "", "invalid character '}'"},
		`true false`:                          {6, "", "invalid character 'f'"},
		`a = 1`:                               {1, "", "no JSON"},
		`null`:                                {0, "", "null, want a condition"},
		`"x"`:                                 {0, "", "'x', want a condition"},
		`5`:                                   {0, "", "5, want a condition"},
		`[true]`:                              {0, "", "a list, want a condition"},
		`{}`:                                  {0, "", "an object, want one with op and args"},
		`{"op":5,"args":[]}`:                  {0, "/op", "want a text"},
		`{"op":"xor","args":[]}`:              {0, "/op", `operation "xor" is unknown`},
		`{"op":"","args":[]}`:                 {0, "/op", `operation "" is unknown`},
		`{"op":"AND","args":[]}`:              {0, "/op", `operation "AND" is unknown`},
		`{"op":"and"}`:                        {0, "/args", "want an array"},
		`{"op":"and","args":[true],"x/~y":1}`: {0, "/x~1~0y", `member "x/~y" is unknown beside "op"`},
		`{"op":"and","op":"or","args":[true,true]}`:                                                   {0, "/op", "two members"},
		`{"op":"and","args":[true]}`:                                                                  {0, "/args", "1 arguments of and, want 2 or more"},
		`{"op":"not","args":[true,true]}`:                                                             {0, "/args", "2 arguments of not, want 1"},
		`{"op":"and","args":[true,{"property":"b"}]}`:                                                 {0, "/args/1", `property "b" is unknown`},
		`{"op":"=","args":[{"property":"a"},null]}`:                                                   {0, "/args/1", "null"},
		`{"op":"=","args":[{"property":"a"},[1]]}`:                                                    {0, "/args/1", "a list, want a property or a literal"},
		`{"op":"=","args":[{"property":"a"},1e999]}`:                                                  {0, "/args/1", "1e999 is no number"},
		`{"op":"=","args":[1,"x"]}`:                                                                   {0, "/args/1", "want what = compares"},
		`{"op":"=","args":[{"property":5},1]}`:                                                        {0, "/args/0/property", "want a text"},
		`{"op":"in","args":[{"property":"a"},5]}`:                                                     {0, "/args/1", "5, want a list"},
		`{"op":"in","args":[{"property":"a"},[5,{"op":"and","args":[]}]]}`:                            {0, "/args/1/1/args", "0 arguments of and"},
		`{"op":"like","args":[{"property":"a"},5]}`:                                                   {0, "/args/1", "5, want a pattern"},
		`{"op":">","args":[{"property":"a"},{"date":"2024-13-01"}]}`:                                  {0, "/args/1/date", "want a time such as 2024-05-01"},
		`{"op":">","args":[{"property":"a"},{"date":"2024-01-01","x":1}]}`:                            {0, "/args/1/x", "unknown"},
		`{"op":"t_after","args":[{"property":"a"},{"interval":["..","x"]}]}`:                          {0, "/args/1/interval/1", `"x", want a time such as`},
		`{"op":"t_after","args":[{"property":"a"},{"interval":[".."]}]}`:                              {0, "/args/1/interval", "1 ends, want 2"},
		`{"op":"t_during","args":[{"property":"a"},{"interval":["..",".."]}]}`:                        {0, "/args/0", "want an INTERVAL in T_DURING"},
		`{"op":"s_touches","args":[]}`:                                                                {0, "/op", "want one of s_contains"},
		`{"op":"s_dwithin","args":[{"property":"geometry"},{"type":"Point","coordinates":[1,2]},-5]}`: {0, "/args/2", "a distance of -5"},
		geometry(`{"type":"LineString","coordinates":[[1,2],[3,4]]}`):                                 {0, "/args/1/type", `"LineString", want Point`},
		geometry(`{"type":"Point"}`):                                                                  {0, "/args/1/coordinates", "want an array"},
		geometry(`{"type":"Point","coordinates":[1]}`):                                                {0, "/args/1/coordinates", "a position of 1 numbers"},
		geometry(`{"type":"Point","coordinates":[1,"2"]}`):                                            {0, "/args/1/coordinates/1", "want a number"},
		geometry(`{"type":"Point","coordinates":[1,95]}`):                                             {0, "/args/1", "95"},
		geometry(`{"type":"Polygon","coordinates":[[[1,2],[3]]]}`):                                    {0, "/args/1/coordinates/0/1", "a position of 1 numbers"},
		geometry(`{"type":"Polygon","coordinates":[[[0,0],[1,1],[1,0],[0,1],[0,0]]]}`):                {0, "/args/1", "invalid geometry"},
		geometry(`{"bbox":[1,2,3]}`):                                                                  {0, "/args/1", "4 or 6"},
		geometry(`{"type":"Point","crs":1}`):                                                          {0, "/args/1/crs", "unknown"},
		deep(maxDepth):                                                                                {-1, "", ""},
		deep(maxDepth + 1):                                                                            {0, strings.Repeat("/args/0", maxDepth) + "/args", "deeper than 64"},
		strings.Repeat("[", 10_000):                                                                   {10_001, "", "no JSON"},
		strings.Repeat("[", 100) + strings.Repeat("]", 100):                                           {0, strings.Repeat("/0", 64), "deeper than 64"},
		`"` + strings.Repeat("x", MaxBytes) + `"`:                                                     {1, "", "at most 32768"},
	} {
		_, err := ParseJSON(text, known)
		if want.column < 0 {
			if err != nil {
				t.Errorf("%.80s: %v", text, err)
			}
			continue
		}
		var bad *Error
		if !errors.As(err, &bad) || bad.Column != want.column || bad.Pointer != want.pointer || !strings.Contains(bad.Message, want.says) ||
			!strings.HasPrefix(bad.Error(), want.pointer) {
			t.Errorf("%.80s: %+v, want %+v", text, bad, want)
		}
	}
}

// at1 reports whether a pointer leads to a value.
func at1(doc any, pointer string) bool {
	if pointer == "" {
		return true
	}
	step, rest, more := strings.Cut(pointer[1:], "/")
	if more {
		rest = "/" + rest
	}
	switch v := doc.(type) {
	case map[string]any:
		next, ok := v[strings.NewReplacer("~1", "/", "~0", "~").Replace(step)]
		return (ok || !more) && at1(next, rest) // A pointer may name a missing member.
	case []any:
		for i, next := range v {
			if strconv.Itoa(i) == step {
				return at1(next, rest)
			}
		}
	}
	return false
}

// Any text is refused with an error at a place in it, or the resulting filter compiles.
func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{
		`true`, `{"op":"=","args":[{"property":"a"},1e400]}`, `{"op":"like","args":[{"property":"a"},"%x\\_"]}`,
		`{"op":"not","args":[{"op":"in","args":[{"property":"a"},[1,"x"]]}]}`, `{"op":"s_within","args":[{"property":"geometry"},{"bbox":[1,2,3,4]}]}`,
		`{"op":"s_intersects","args":[{"type":"Polygon","coordinates":[[[1,2],[3,4],[5,2],[1,2]]]},{"property":"geometry"}]}`,
		`{"op":"t_meets","args":[{"interval":["..","2024-05-01"]},{"interval":[{"property":"a"},{"property":"b"}]}]}`,
		`{"op":"=","args":[{"op":"casei","args":[{"property":"\u0000"}]},"\ud800"]}`, `[[[`, `{"a":1,"a":2}`,
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		e, err := ParseJSON(s, any1)
		if err != nil {
			var bad *Error
			if !errors.As(err, &bad) || bad.Column < 0 || bad.Column > utf8.RuneCountInString(s)+1 || bad.Column > 0 && bad.Pointer != "" {
				t.Fatalf("%q: %v", s, err)
			}
			var doc any
			d := json.NewDecoder(strings.NewReader(s))
			d.UseNumber()
			if bad.Column == 0 && (d.Decode(&doc) != nil || !at1(doc, bad.Pointer) && !strings.Contains(bad.Message, "two members")) {
				t.Fatalf("%q: %v leads nowhere", s, err)
			}
			return
		}
		if len(s) > 500 {
			return // Long conditions may be refused by package filter.
		}
		matches(t, e, foundOf(t, store.Feature{ID: "x"}))
	})
}
