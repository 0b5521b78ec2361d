package cql2

import (
	"encoding/json"
	"maps"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// written is a filter in both forms.
type written struct{ text, json string }

func asJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(b)
}

// call is an operation in JSON.
func call(op string, args ...written) string {
	var all []string
	for _, a := range args {
		all = append(all, a.json)
	}
	return `{"op":` + asJSON(op) + `,"args":[` + strings.Join(all, ",") + `]}`
}

func list1(all []written) written {
	var texts, jsons []string
	for _, w := range all {
		texts, jsons = append(texts, w.text), append(jsons, w.json)
	}
	return written{"(" + strings.Join(texts, ", ") + ")", "[" + strings.Join(jsons, ",") + "]"}
}

// generators of both forms at once.
var (
	anyText = rapid.Custom(func(t *rapid.T) written {
		s := rapid.String().Draw(t, "text")
		return written{"'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'", asJSON(s)}
	})
	anyProperty = rapid.Custom(func(t *rapid.T) written {
		s := rapid.StringMatching(`[a-z:_]{1,3}(\.x)?|["' é%]{1,3}`).Draw(t, "property")
		return written{`"` + strings.ReplaceAll(s, `"`, `""`) + `"`, `{"property":` + asJSON(s) + `}`}
	})
	anyNumber = rapid.Custom(func(t *rapid.T) written {
		if rapid.Bool().Draw(t, "integer") {
			s := asJSON(rapid.Int64().Draw(t, "number"))
			return written{s, s}
		}
		s := asJSON(rapid.Float64().Draw(t, "number"))
		return written{s, s}
	})
	anyTime = rapid.Custom(func(t *rapid.T) written {
		if rapid.Bool().Draw(t, "date") {
			s := rapid.StringMatching(`20[0-9]{2}-0[1-9]-[01][1-9]`).Draw(t, "date")
			return written{"DATE('" + s + "')", `{"date":"` + s + `"}`}
		}
		s := rapid.StringMatching(`20[0-9]{2}-0[1-9]-[01][1-9]T0[0-9]:[0-5][0-9]:[0-5][0-9](\.[0-9]{1,9})?Z`).Draw(t, "timestamp")
		return written{"TIMESTAMP('" + s + "')", `{"timestamp":"` + s + `"}`}
	})
	anyEnd = rapid.Custom(func(t *rapid.T) written {
		switch rapid.IntRange(0, 2).Draw(t, "end") {
		case 0:
			return written{"'..'", `".."`}
		case 1:
			s := rapid.StringMatching(`20[0-9]{2}-0[1-9]-[01][1-9](T0[0-9]:[0-5][0-9]:[0-5][0-9]Z)?`).Draw(t, "time")
			return written{"'" + s + "'", `"` + s + `"`}
		}
		return anyProperty.Draw(t, "property")
	})
	anyInterval = rapid.Custom(func(t *rapid.T) written {
		from, to := anyEnd.Draw(t, "from"), anyEnd.Draw(t, "to")
		return written{"INTERVAL(" + from.text + ", " + to.text + ")", `{"interval":[` + from.json + "," + to.json + "]}"}
	})
	anyScalar = rapid.OneOf(anyText, anyNumber, anyTime, rapid.Just(written{"TRUE", "true"}), anyProperty, rapid.Custom(func(t *rapid.T) written {
		of := rapid.OneOf(anyText, anyProperty).Draw(t, "of")
		return written{"CASEI(" + of.text + ")", call("casei", of)}
	}))
	anyPlace = rapid.Custom(func(t *rapid.T) written {
		x, y := rapid.Float64Range(-170, 170).Draw(t, "x"), rapid.Float64Range(-80, 80).Draw(t, "y")
		at := func(dx, dy float64) written {
			return written{asJSON(x+dx) + " " + asJSON(y+dy), asJSON([]float64{x + dx, y + dy})}
		}
		a, b, c := at(0, 0), at(5, 0), at(5, 5)
		ring := list1([]written{a, b, c, a})
		switch rapid.IntRange(0, 3).Draw(t, "geometry") {
		case 0:
			return written{"POINT(" + a.text + ")", `{"type":"Point","coordinates":` + a.json + "}"}
		case 1:
			return written{"POLYGON(" + ring.text + ")", `{"type":"Polygon","coordinates":[` + ring.json + "]}"}
		case 2:
			return written{"MULTIPOLYGON((" + ring.text + "))", `{"type":"MultiPolygon","coordinates":[[` + ring.json + "]]}"}
		}
		box := asJSON([]float64{x, y, x + 5, y + 5})
		return written{"BBOX" + strings.NewReplacer("[", "(", "]", ")").Replace(box), `{"bbox":` + box + "}"}
	})
)

// anyFilter is a condition of nesting depth up to depth.
func anyFilter(depth int) *rapid.Generator[written] {
	return rapid.Custom(func(t *rapid.T) written {
		most := 9
		if depth == 0 {
			most = 6
		}
		scalar := func(label string) written { return anyScalar.Draw(t, label) }
		not := func(w written, negated string) written {
			if rapid.Bool().Draw(t, "not") {
				return written{negated, call("not", w)}
			}
			return w
		}
		switch rapid.IntRange(0, most).Draw(t, "predicate") {
		case 0:
			op := rapid.SampledFrom([]string{"=", "<>", "<", "<=", ">", ">="}).Draw(t, "op")
			a, b := scalar("left"), scalar("right")
			return written{a.text + op + b.text, call(op, a, b)}
		case 1:
			a, b, c := scalar("of"), scalar("low"), scalar("high")
			return not(written{a.text + " BETWEEN " + b.text + " AND " + c.text, call(opBetween, a, b, c)},
				a.text+" NOT BETWEEN "+b.text+" AND "+c.text)
		case 2:
			a, all := scalar("of"), list1(rapid.SliceOfN(anyScalar, 1, 4).Draw(t, "list"))
			return not(written{a.text + " in " + all.text, call(opIn, a, all)}, a.text+" Not in"+all.text)
		case 3:
			a, p := scalar("of"), anyText.Draw(t, "pattern")
			return not(written{a.text + " LIKE " + p.text, call(opLike, a, p)}, a.text+" NOT LIKE "+p.text)
		case 4:
			a := anyProperty.Draw(t, "of")
			return not(written{a.text + " IS NULL", call(opIsNull, a)}, a.text+" is not null")
		case 5:
			op := rapid.SampledFrom([]string{"s_intersects", "s_disjoint", "s_within", "s_contains"}).Draw(t, "op")
			a, b := written{"geometry", `{"property":"geometry"}`}, anyPlace.Draw(t, "place")
			if rapid.Bool().Draw(t, "swapped") {
				a, b = b, a
			}
			return written{strings.ToUpper(op) + "(" + a.text + "," + b.text + ")", call(op, a, b)}
		case 6:
			op := rapid.SampledFrom(slices.Sorted(maps.Keys(temporals))).Draw(t, "op")
			of := rapid.OneOf(anyInterval, anyInterval, anyTime, anyProperty)
			a, b := of.Draw(t, "first"), of.Draw(t, "second")
			return written{op + "(" + a.text + "," + b.text + ")", call(op, a, b)}
		case 7:
			a := anyFilter(depth-1).Draw(t, "of")
			return written{"NOT (" + a.text + ")", call(opNot, a)}
		}
		op := rapid.SampledFrom([]string{opAnd, opOr}).Draw(t, "op")
		var texts []string
		all := rapid.SliceOfN(anyFilter(depth-1), 2, 3).Draw(t, "args")
		for _, a := range all {
			texts = append(texts, "("+a.text+")")
		}
		return written{strings.Join(texts, " "+op+" "), call(op, all...)}
	})
}

// A filter means the same in text and in JSON, and both forms refuse it for the same
// reason.
func TestFormsAgree(t *testing.T) {
	accepted := 0
	rapid.Check(t, func(t *rapid.T) {
		w := anyFilter(3).Draw(t, "filter")
		a, errText := Parse(w.text, any1)
		b, errJSON := ParseJSON(w.json, any1)
		switch {
		case errText == nil && errJSON == nil:
			if accepted++; !reflect.DeepEqual(treeOf(w.text, any1), treeOf(w.json, any1)) {
				t.Fatalf("%s is %+v, %s is %+v", w.text, a, w.json, b)
			}
		case errText == nil || errJSON == nil || errText.(*Error).Message != errJSON.(*Error).Message:
			t.Fatalf("%s: %v, %s: %v", w.text, errText, w.json, errJSON)
		}
	})
	t.Logf("%d filters were accepted", accepted)
	if accepted == 0 {
		t.Error("every filter was refused")
	}
}
