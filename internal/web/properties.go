package web

import (
	"context"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/catfish-index/catfish/internal/store"
	"github.com/catfish-index/catfish/internal/whole"
)

// reserved are the parameters of /items. A property of the same name cannot be filtered
// by as a parameter.
var reserved = []string{"f", "bbox", "datetime", "limit", "after", "numberMatched", "filter", "filter-lang", "filter-crs"}

// properties is the condition of the parameters that no handler took: each is a
// property's name and the value that it must have. It refuses properties that the
// collection's features do not have, unless they have more names than a schema keeps.
// The error lists the known parameters.
func (p *params) properties(ctx context.Context, c whole.Collection, known ...string) (string, error) {
	left := p.left()
	if len(left) == 0 {
		return "", nil
	}
	d, err := p.schema(ctx, c)
	if err != nil {
		return "", err
	}
	var and []string
	for _, a := range left {
		if !d.MoreProperties && !slices.ContainsFunc(d.Properties, func(s store.PropertySchema) bool { return s.Name == a.name }) {
			return "", &paramError{name: a.name, value: a.value, err: errUnknown,
				want: "one of " + strings.Join(known, ", ") + ", or a property of the collection's features, which its schema has"}
		}
		and = append(and, equals(a.name, a.value))
	}
	return strings.Join(and, " && "), nil
}

// equals is a condition: the property is the text, or the number, true or false that
// the text denotes.
func equals(name, text string) string {
	is := "properties[" + strconv.Quote(name) + "] == "
	or := is + strconv.Quote(text)
	switch n := numberOf(text); {
	case n != "":
		return "(" + or + " || " + is + n + ")"
	case text == "true" || text == "false":
		return "(" + or + " || " + is + text + ")"
	}
	return "(" + or + ")"
}

// numberOf is a text as a number of a filter; empty if it is not a number.
func numberOf(text string) string {
	if n, err := strconv.ParseInt(text, 10, 64); err == nil {
		return strconv.FormatInt(n, 10)
	}
	f, err := strconv.ParseFloat(text, 64)
	if err != nil || math.IsNaN(f) || math.IsInf(f, 0) || strings.ContainsAny(text, "xX_") {
		return ""
	}
	return strconv.FormatFloat(f, 'g', -1, 64)
}

// and joins conditions, of which some may be empty.
func and(conditions ...string) string {
	return strings.Join(slices.DeleteFunc(conditions, func(s string) bool { return s == "" }), " && ")
}
