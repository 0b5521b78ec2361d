package cql2

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/store"
)

// schemaOf is a store's description of features with these properties.
func schemaOf(objects []string, others ...string) (p Properties) {
	p = named(others...)
	for _, name := range objects {
		p.Schema = append(p.Schema, store.PropertySchema{Name: name, Types: map[string]int{"object": 1, "null": 2}})
	}
	return p
}

// The longest prefix of the name that a feature has as a property counts.
func TestPaths(t *testing.T) {
	has := schemaOf([]string{"addr", "a.b", "a"}, "kind", "addr:city", "fuel.octane", "a.b.c", "tags")
	features := randomFeatures(t, 300)
	deep := "addr" + strings.Repeat(".x", maxSteps-1)
	for text, want := range map[string]string{
		`addr.city = 'Graz'`:             `properties["addr"]["city"] == "Graz"`,
		`"addr.city" = 'Graz'`:           `properties["addr"]["city"] == "Graz"`,
		`addr.geo.lat > 4`:               `properties["addr"]["geo"]["lat"] > 4`,
		`addr:city = 'Graz'`:             `properties["addr:city"] == "Graz"`,
		`fuel.octane = 95`:               `properties["fuel.octane"] == 95`,
		`a.b.c = 1`:                      `("a.b.c" in properties ? properties["a.b.c"] : "a.b" in properties ? properties["a.b"]["c"] : properties["a"]["b"]["c"]) == 1`,
		`a.b.d = 1`:                      `("a.b" in properties ? properties["a.b"]["d"] : properties["a"]["b"]["d"]) == 1`,
		`a.c.d = 1`:                      `properties["a"]["c"]["d"] == 1`,
		`addr.city LIKE 'G%'`:            `properties["addr"]["city"].startsWith("G")`,
		`CASEI(addr.city) = CASEI('X')`:  `properties["addr"]["city"].foldCase() == "x"`,
		`addr.city IN ('a', 'b')`:        `properties["addr"]["city"] in ["a", "b"]`,
		`addr.city <> addr.town`:         `properties["addr"]["city"] != null && properties["addr"]["town"] != null && properties["addr"]["city"] != properties["addr"]["town"]`,
		`addr.open`:                      `properties["addr"]["open"] == true`,
		`kind IS NULL`:                   `!("kind" in properties) || properties["kind"] == null`,
		`addr.city IS NOT NULL`:          `properties["addr"]["city"] != null`,
		`A_CONTAINS(addr.l, (1, TRUE))`:  `1 in properties["addr"]["l"] && true in properties["addr"]["l"]`,
		`A_OVERLAPS(('a', 'b'), tags)`:   `"a" in properties["tags"] || "b" in properties["tags"]`,
		`A_CONTAINEDBY(tags, (1.5, -2))`: `properties["tags"].all(e, e in [1.5, -2])`,
		`NOT A_CONTAINS(tags, ('a'))`:    `!("a" in properties["tags"])`,
		deep + ` = 1`:                    `properties["` + strings.ReplaceAll(deep, ".", `"]["`) + `"] == 1`,
	} {
		if err := equalToCEL(text, want, has, features); err != nil {
			t.Error(err)
		}
	}
	for text, want := range map[string]string{
		`adr.city = 1`:                "column 1: property \"adr.city\" is unknown",
		`kind = 'a' AND knid = 'b'`:   `column 16: property "knid" is unknown, did you mean "kind"?`,
		`KIND = 1`:                    `did you mean "kind"?`,
		`nosuch = 1`:                  `property "nosuch" is unknown: the collection's`,
		`kind.x = 1`:                  `property "kind.x" is unknown: "kind" is no object`,
		`addr..city = 1`:              "a step of the path is empty",
		`addr. = 1`:                   "a step of the path is empty",
		deep + `.x = 1`:               "has 33 steps, at most 32",
		`A_CONTAINS(tags, 'a')`:       "column 18: 'a', want a property, or a list such as ('a', 'b')",
		`A_CONTAINS(tags, (tags))`:    `column 19: "tags", want a text, a number, TRUE or FALSE in an array`,
		`A_EQUALS(tags)`:              "column 14: \")\", want ,",
		`A_EQUALS(tags, ('a' 'b'))`:   "column 21: 'b', want )",
		`A_HAS(tags, ('a'))`:          `function "A_HAS" is unknown, want one of A_CONTAINEDBY, A_CONTAINS, A_EQUALS, A_OVERLAPS`,
		`A_EQUALS(tags, POINT(1 2))`:  "a POINT, want a property, or a list",
		`T_AFTER(tags, ('a'))`:        "a list, want a property, DATE",
		`S_WITHIN(geometry, ('a'))`:   "a list, want POINT",
		`A_EQUALS(tags, nosuch) `:     `property "nosuch" is unknown`,
		`A_EQUALS(tags, ('a')) = 'a'`: `want AND, OR or the end`,
	} {
		_, err := Parse(text, has)
		var bad *Error
		if !errors.As(err, &bad) || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60s: %v\nwant %s", text, err, want)
		}
	}
	// Where there are more names than the schema knows, any prefix may be an object,
	// except for those that are known to be none.
	has.More = true
	for text, want := range map[string]string{
		`addr.city = 1`: `("addr.city" in properties ? properties["addr.city"] : properties["addr"]["city"]) == 1`,
		`x.y = 1`:       `("x.y" in properties ? properties["x.y"] : properties["x"]["y"]) == 1`,
		`kind.x = 1`:    `properties["kind.x"] == 1`,
		`addr. = 1`:     `properties["addr."] == 1`,
	} {
		if err := equalToCEL(text, want, has, features); err != nil {
			t.Error(err)
		}
	}
}

// side is a predicate in both forms of CQL2, in CEL if CEL is equivalent, and its value.
type side struct {
	text, json, cel string
	is              func(f map[string]any) truth
}

// valueAt returns the value at a path, or nil if it is null or absent.
func valueAt(f map[string]any, path ...string) (v any) {
	v = f
	for _, name := range path {
		o, _ := v.(map[string]any)
		v = o[name]
	}
	return v
}

func truthOf(b bool) truth {
	if b {
		return yes
	}
	return no
}

// set returns the elements of an array, or the names of an object.
func set(v any) (all []any, ok bool) {
	switch v := v.(type) {
	case []any:
		return v, true
	case map[string]any:
		for name := range v {
			all = append(all, name)
		}
		return all, true
	}
	return nil, false
}

// sets is the truth of a relation of sets for two values.
func sets(a, b any, relation func(a, b []any) bool) truth {
	x, okA := set(a)
	y, okB := set(b)
	if !okA || !okB {
		return unknown
	}
	return truthOf(relation(x, y))
}

func superset(a, b []any) bool {
	return !slices.ContainsFunc(b, func(x any) bool { return !slices.Contains(a, x) })
}
func subset(a, b []any) bool { return superset(b, a) }
func equal(a, b []any) bool  { return superset(a, b) && superset(b, a) }
func share(a, b []any) bool {
	return slices.ContainsFunc(a, func(x any) bool { return slices.Contains(b, x) })
}

// Nested properties and arrays, in both forms and in CEL, agree with each other, and
// with the sets that they denote, on random features; and so do their negations.
func TestNestedAgree(t *testing.T) {
	// A property of the whole name takes precedence.
	cityOf := func(f map[string]any) any {
		if flat, ok := f["addr.city"]; ok {
			return flat
		}
		return valueAt(f, "addr", "city")
	}
	sides := []side{
		{`addr.city = 'Graz'`, `{"op":"=","args":[{"property":"addr.city"},"Graz"]}`, ``, func(f map[string]any) truth {
			if cityOf(f) == nil {
				return unknown
			}
			return truthOf(cityOf(f) == any("Graz"))
		}},
		{`addr.city IS NULL`, `{"op":"isNull","args":[{"property":"addr.city"}]}`, ``, func(f map[string]any) truth { return truthOf(cityOf(f) == nil) }},
		{`addr:city = 'Graz'`, `{"op":"=","args":[{"property":"addr:city"},"Graz"]}`, `properties["addr:city"] == "Graz"`, func(f map[string]any) truth {
			if f["addr:city"] == nil {
				return unknown
			}
			return truthOf(f["addr:city"] == any("Graz"))
		}},
	}
	functions := map[string]func(a, b []any) bool{"a_contains": superset, "a_containedBy": subset, "a_equals": equal, "a_overlaps": share}
	cels := map[string]string{
		"a_contains":    `"a" in properties.tags && "b" in properties.tags`,
		"a_containedBy": `properties.tags.all(t, t in ["a", "b"])`,
		"a_equals":      `"a" in properties.tags && "b" in properties.tags && properties.tags.all(t, t in ["a", "b"])`,
		"a_overlaps":    `properties.tags.exists(t, t in ["a", "b"])`,
	}
	for op, relation := range functions {
		name := strings.ToUpper(op)
		sides = append(sides,
			side{name + `(tags, ('a', 'b'))`, `{"op":"` + op + `","args":[{"property":"tags"},["a","b"]]}`, cels[op], func(f map[string]any) truth {
				return sets(f["tags"], []any{"a", "b"}, relation)
			}},
			side{name + `((1.0, TRUE, 'a'), addr.city)`, `{"op":"` + op + `","args":[[1.0,true,"a"],{"property":"addr.city"}]}`, ``, func(f map[string]any) truth {
				return sets([]any{1.0, true, "a"}, cityOf(f), relation)
			}},
			side{name + `(tags, addr.city)`, `{"op":"` + op + `","args":[{"property":"tags"},{"property":"addr.city"}]}`, ``, func(f map[string]any) truth {
				return sets(f["tags"], cityOf(f), relation)
			}},
			side{name + `(tags, ())`, `{"op":"` + op + `","args":[{"property":"tags"},[]]}`, ``, func(f map[string]any) truth {
				return sets(f["tags"], []any{}, relation)
			}},
			side{name + `(('a'), ('a', 'a'))`, `{"op":"` + op + `","args":[["a"],["a","a"]]}`, ``, func(map[string]any) truth { return yes }},
		)
	}
	has := schemaOf([]string{"addr"}, "tags", "addr:city", "addr.city")
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	values := []string{`null`, `"Graz"`, `"b"`, `""`, `7`, `{}`, `{"a":1}`, `{"b":1,"a":null}`, `[]`, `["a"]`, `["b","a","b"]`, `["c"]`, `[1,true,"a"]`, `[null,"a"]`, `[1]`}
	one := func() string { return values[r.IntN(len(values))] }
	for range 1000 {
		var members []string
		switch r.IntN(4) {
		case 0:
			members = append(members, `"addr":`+one())
		case 1, 2:
			members = append(members, `"addr":{"city":`+one()+`}`)
		}
		for _, name := range []string{"tags", "addr:city", "addr.city"} {
			if r.IntN(5) > 0 && (name != "addr.city" || r.IntN(3) == 0) {
				members = append(members, fmt.Sprintf("%q:%s", name, one()))
			}
		}
		text := "{" + strings.Join(members, ",") + "}"
		var f map[string]any
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Fatal(err)
		}
		found := foundOf(t, store.Feature{ID: "x", Properties: json.RawMessage(text)})
		s := sides[r.IntN(len(sides))]
		for neg, want := range map[bool]truth{false: s.is(f), true: yes - s.is(f)} {
			asText, asJSON, asCEL := s.text, s.json, s.cel
			if neg {
				asText, asJSON, asCEL = "NOT "+asText, `{"op":"not","args":[`+asJSON+`]}`, "!("+asCEL+")"
			}
			a, err := Parse(asText, has)
			if err != nil {
				t.Fatal(asText, err)
			}
			b, err := ParseJSON(asJSON, has)
			if err != nil || !reflect.DeepEqual(treeOf(asText, has), treeOf(asJSON, has)) {
				t.Fatalf("%s: %v\n%s\n%s", asJSON, err, a.Where, b.Where)
			}
			if got := matches(t, a, found); got != (want == yes) {
				t.Fatalf("%s of %s: %v, want %v\n%s", asText, text, got, want, a.Where)
			}
			// CEL's null differs from a text, and so is not equal to it.
			if s.cel != "" && (!neg || strings.HasPrefix(s.text, "A_")) && !strings.Contains(text, `:""`) {
				if got := matchesQuery(t, store.Query{Filter: asCEL}, found); got != (want == yes) {
					t.Fatalf("%s of %s: %v, want %v", asCEL, text, got, want)
				}
			}
		}
	}
}
