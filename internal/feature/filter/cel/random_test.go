package cel

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/catfish-index/catfish/internal/feature/filter"
)

// The generators use few names and values, so that expressions and
// properties often meet.
var (
	fields = []string{
		"properties.a", "properties.b", `properties["c d"]`, "properties.l",
		"properties.o", "properties.o.a", `properties.o["b"]`, "properties.o.o.a",
		"properties.a.b", "properties.n", "properties.l.a",
	}
	literals = []string{
		`""`, `"a"`, `"ab"`, `"b\"é"`, "0", "1", "-1", "2", "1.0", "-1.5", "1e2", "100",
		"9007199254740992", "9007199254740993", "9223372036854775807",
		"18446744073709551615u", "1u", "9223372036854775808.0", "true", "false", "null",
	}
	jsonValues = []string{
		`""`, `"a"`, `"ab"`, `"b\"\u00e9"`, `"b\"é"`, "0", "-0", "1", "-1", "2", "1.0", "-1.5", "1E+2", "1e2", "100",
		"9007199254740992", "9007199254740993", "9223372036854775807", "9223372036854775808",
		"18446744073709551615", "18446744073709551616", "-9223372036854775809", "1e400",
		"true", "false", "null", "{}", "[]", `["a",1,null]`, `[[1],{"a":1}]`, `{"a":"ab","b":1}`,
	}
)

func drawExpr(t *rapid.T, depth int) string {
	pick := func(from []string, name string) string { return rapid.SampledFrom(from).Draw(t, name) }
	kinds := 9
	if depth == 0 {
		kinds = 6
	}
	switch field := pick(fields, "field"); rapid.IntRange(0, kinds-1).Draw(t, "kind") {
	case 0:
		op := pick([]string{"==", "!=", "<", "<=", ">", ">="}, "op")
		if rapid.Bool().Draw(t, "literal first") {
			return pick(literals, "literal") + " " + op + " " + field
		}
		return field + " " + op + " " + pick(literals, "literal")
	case 1:
		if strings.HasSuffix(field, "]") { // has wants a name
			return field
		}
		return "has(" + field + ")"
	case 2:
		in := rapid.SliceOfN(rapid.SampledFrom(literals), 1, 3).Draw(t, "in")
		return field + " in [" + strings.Join(in, ", ") + "]"
	case 3:
		return pick(literals, "literal") + " in " + field
	case 4:
		f := pick([]string{"startsWith", "endsWith", "contains"}, "function")
		return field + "." + f + "(" + pick(literals[:4], "text") + ")"
	case 5:
		return field
	case 6:
		return "!(" + drawExpr(t, depth-1) + ")"
	case 7:
		return "(" + drawExpr(t, depth-1) + ") && (" + drawExpr(t, depth-1) + ")"
	default:
		return "(" + drawExpr(t, depth-1) + ") || (" + drawExpr(t, depth-1) + ")"
	}
}

func drawObject(t *rapid.T, depth int) string {
	var b strings.Builder
	space := func() string { return rapid.SampledFrom([]string{"", "", " ", "\n\t"}).Draw(t, "space") }
	b.WriteString("{" + space())
	for i, name := range rapid.SliceOfN(rapid.SampledFrom(
		[]string{"a", "b", "c d", "l", "o", `\u0061`, "other"}), 0, 6).Draw(t, "names") {
		if i > 0 {
			b.WriteString("," + space())
		}
		v := rapid.SampledFrom(jsonValues).Draw(t, "value")
		switch {
		case name == "o" && depth > 0:
			v = drawObject(t, depth-1)
		case name == "l":
			v = "[" + strings.Join(rapid.SliceOfN(rapid.SampledFrom(jsonValues), 0, 4).Draw(t, "list"), ","+space()) + "]"
		}
		fmt.Fprintf(&b, `"%s"%s:%s%s%s`, name, space(), space(), v, space())
	}
	b.WriteString("}" + space())
	return b.String()
}

// TestSimpleIsCEL: the tree of a simple filter and CEL give the same answers.
func TestSimpleIsCEL(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		expr := drawExpr(t, 3)
		p, err := Compile(expr, Options{})
		if err != nil {
			if strings.Contains(err.Error(), "no matching overload") {
				return // true < properties.a, "a" in "b": not simple
			}
			t.Fatal(err)
		}
		if !isTree(t, expr) {
			return // orders booleans
		}
		slow := byCEL(t, expr, Options{})
		for range 4 {
			in := filter.Input{Properties: []byte(drawObject(t, 2))}
			want, err := slow.Match(in)
			if err != nil {
				t.Fatalf("%s on %s: %v", expr, in.Properties, err)
			}
			if got, err := p.Match(in); got != want || err != nil {
				t.Fatalf("%s on %s: CEL answers %v, the tree %v, %v", expr, in.Properties, want, got, err)
			}
		}
	})
}

// Any text as expression and as properties: nothing panics or runs forever,
// errors are of the documented kinds, and where neither way fails both agree.
func FuzzMatch(f *testing.F) {
	for _, expr := range []string{
		`properties.a == 1`, `properties.a in [1, "x"] || !has(properties.o.b)`,
		`"x" in properties.l && properties.l.all(x, x != null)`,
		`properties == {"a": 1} && size(properties.l) > 1`, `properties.?a.orValue(1) == 1`,
		`properties.a.matches("a+") && id < "x" && expires == null`,
		`properties.l + [1] == properties.l.filter(x, x < "a")`, `dyn(properties)[1u] == properties.l[1.0]`,
		`string(properties.a) == type && now > timestamp("2026-01-01T00:00:00Z")`,
		"true &&\n\t(", `[properties, properties.l] == [properties]`, `properties in [properties]`,
	} {
		f.Add(expr, []byte(`{"a":1,"l":["x",null,1e3],"o":{"b":"\u00e9\\"}}`))
		f.Add(expr, []byte(`{"a":[{`))
		f.Add(expr, []byte(`{"a":"x","a\"":tru}`))
	}
	f.Fuzz(func(t *testing.T, expr string, props []byte) {
		p, err := Compile(expr, Options{CostLimit: 2000, MaxLength: 500})
		if err != nil {
			var e *filter.Error
			if !errors.As(err, &e) || !errors.Is(err, filter.ErrFilter) || !utf8.ValidString(e.Message) && utf8.ValidString(expr) {
				t.Fatalf("%q: %v", expr, err)
			}
			lines := strings.Split(expr, "\n")
			if e.Column > 0 && (e.Line < 1 || e.Line > len(lines) ||
				e.Column > utf8.RuneCountInString(lines[e.Line-1])+1) {
				t.Fatalf("%q: line %d, column %d", expr, e.Line, e.Column)
			}
			return
		}
		in := filter.Input{ID: []byte("x"), Type: "Point", Properties: props, Now: noon}
		want, err := byCEL(t, expr, Options{CostLimit: 2000, MaxLength: 500}).Match(in)
		if err != nil && !errors.Is(err, filter.ErrCost) && !errors.Is(err, filter.ErrProperties) {
			t.Fatalf("%q on %q: %v", expr, props, err)
		}
		if err != nil || !isTree(t, expr) {
			return
		}
		if got, err := p.Match(in); err == nil && got != want {
			t.Fatalf("%q on %q: CEL answers %v, the tree %v", expr, props, want, got)
		}
	})
}
