package cql2

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/catfish-index/catfish/internal/store"
)

// Of any two intervals exactly one of Allen's thirteen relations is true, and its
// converse is true of the swapped intervals. Temporal predicates agree with that, for
// literals and for properties.
func TestTemporalRelations(t *testing.T) {
	converse := map[string]string{
		"t_before": "t_after", "t_meets": "t_metBy", "t_overlaps": "t_overlappedBy", "t_starts": "t_startedBy",
		"t_during": "t_contains", "t_finishes": "t_finishedBy", "t_equals": "t_equals",
	}
	for a, b := range converse {
		converse[b] = a
	}
	if len(converse) != 13 || len(temporals) != 15 {
		t.Fatalf("%d relations, %d predicates", len(converse), len(temporals))
	}
	type span struct{ from, to int }
	var spans []span
	for from := range 4 { // Four moments suffice for all relations.
		for to := from + 1; to < 4; to++ {
			spans = append(spans, span{from, to})
		}
	}
	day := func(n int) string { return fmt.Sprintf("2024-05-0%d", n+1) }
	literal := func(s span) string { return fmt.Sprintf("INTERVAL('%s', '%s')", day(s.from), day(s.to)) }
	parse := func(format string, args ...any) *Filter {
		e, err := Parse(fmt.Sprintf(format, args...), any1)
		if err != nil {
			t.Fatal(err)
		}
		return e
	}
	properties, negated := map[string]*Filter{}, map[string]*Filter{}
	for op := range temporals {
		properties[op] = parse("%s(INTERVAL(a, b), INTERVAL(c, d))", op)
		negated[op] = parse("NOT %s(INTERVAL(a, b), INTERVAL(c, d))", op)
	}
	for _, x := range spans {
		for _, y := range spans {
			found := foundOf(t, store.Feature{ID: "x", Properties: json.RawMessage(fmt.Sprintf(
				`{"a":%q,"b":%q,"c":%q,"d":%q}`, day(x.from), day(x.to), day(y.from), day(y.to)))})
			is := map[string]bool{}
			for op := range temporals {
				is[op] = matches(t, properties[op], found)
				if matches(t, negated[op], found) == is[op] {
					t.Errorf("%v %s %v is %v, and so is its negation", x, op, y, is[op])
				}
				if got := matches(t, parse("%s(%s, %s)", op, literal(x), literal(y)), found); got != is[op] {
					t.Errorf("%v %s %v: %v of literals, %v of properties", x, op, y, got, is[op])
				}
			}
			var all []string
			for op, back := range converse {
				if is[op] {
					all = append(all, op)
					if !matches(t, parse("%s(%s, INTERVAL(a, b))", back, literal(y)), found) {
						t.Errorf("%v %s %v, but not %s the other way round", x, op, y, back)
					}
				}
			}
			if len(all) != 1 {
				t.Errorf("%v is %q to %v", x, all, y)
			}
			disjoint := slices.Contains([]string{"t_before", "t_after"}, strings.Join(all, ""))
			if is["t_disjoint"] != disjoint || is["t_intersects"] == disjoint {
				t.Errorf("%v is %q to %v, disjoint %v, intersects %v", x, all, y, is["t_disjoint"], is["t_intersects"])
			}
		}
	}
}

// An unknown time is in no relation, not even to all times, and in no negation.
func TestTemporalUnknown(t *testing.T) {
	for _, properties := range []string{`{}`, `{"a":null}`, `{"a":5}`, `{"a":"soon"}`, `{"a":["2024-05-01"]}`} {
		found := foundOf(t, store.Feature{ID: "x", Properties: json.RawMessage(properties)})
		for op, rule := range temporals {
			for _, second := range []string{"INTERVAL('..', '..')", "INTERVAL('2024-05-01', '..')", "INTERVAL('..', a)", "INTERVAL(a, '2024-05-01')", "DATE('2024-05-01')"} {
				first := "a"
				if rule.intervals {
					if first = "INTERVAL(a, a)"; second[0] == 'D' {
						continue
					}
				}
				for _, text := range []string{op + "(" + first + ", " + second + ")", "NOT " + op + "(" + first + ", " + second + ")"} {
					e, err := Parse(text, any1)
					if err != nil {
						t.Fatalf("%s: %v", text, err)
					}
					if matches(t, e, found) {
						t.Errorf("%s is true of %s", text, properties)
					}
				}
			}
		}
	}
}
