package cel

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/catfish-index/catfish/internal/feature/filter"
)

var noon = time.Date(2026, 5, 1, 12, 0, 0, 0, time.UTC)

// cafe has one property of each kind.
var cafe = filter.Input{
	ID:   []byte("node/42"),
	Type: "Point",
	Properties: []byte(`{"kind":"cafe", "name": "Caf\u00e9 \"Central\"", "seats":24,
		"rating":4.5, "big":18446744073709551615, "id64": 9007199254740993,
		"open":true, "closed":false, "owner":null, "empty":"",
		"tags":{"addr:city":"Andorra la Vella","wifi":"yes","deep":{"er":{"n":-7}}},
		"list":["x","y",3,null,{"a":1}], "sums":[1,2,3], "none":[], "a.b":1,
		"huge":1e400, "exp":2e1, "neg":-0.5, "back\\slash":true, "twice":{"n":1, "n":2}, "seats":99}`),
	Revision: 7,
	Expires:  noon.Add(time.Hour),
	Now:      noon,
}

// match evaluates by the tree, if there is one, and by CEL, and requires equal answers.
func match(t *testing.T, p *filter.Program, in filter.Input) (bool, error) {
	t.Helper()
	return matchWithin(t, p, in, Options{})
}

func matchWithin(t *testing.T, p *filter.Program, in filter.Input, opts Options) (bool, error) {
	t.Helper()
	s, serr := p.Match(in)
	if !isTree(t, p.String()) {
		return s, serr
	}
	got, err := byCEL(t, p.String(), opts).Match(in)
	if s != got || (err == nil) != (serr == nil) {
		t.Errorf("%s on %s: CEL answers %v, %v; the simple filter %v, %v",
			p, in.Properties, got, err, s, serr)
	}
	return got, err
}

type failer interface{ Fatalf(string, ...any) }

// byCEL is the program of CEL, even if there is a tree.
func byCEL(t failer, expr string, opts Options) *filter.Program {
	opts = opts.withDefaults()
	checked, err := parseExpr(expr, opts)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	p, err := compileCEL(checked, expr, opts)
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	return p
}

// isTree reports whether Compile makes a tree.
func isTree(t failer, expr string) bool {
	checked, err := parseExpr(expr, Options{}.withDefaults())
	if err != nil {
		t.Fatalf("%s: %v", expr, err)
	}
	_, _, ok := compileTree(checked.NativeRep())
	return ok
}

func mustCompile(t testing.TB, expr string) *filter.Program {
	t.Helper()
	p, err := Compile(expr, Options{})
	if err != nil {
		t.Fatalf("Compile: %v", err)
	}
	return p
}

// Most expressions are simple; cel marks those that only CEL evaluates.
func TestMatch(t *testing.T) {
	const simple, cel = true, false
	for _, c := range []struct {
		expr   string
		want   bool
		simple bool
	}{
		{`properties.kind == "cafe"`, true, simple},
		{`properties.kind == "bar"`, false, simple},
		{`properties.kind != "bar"`, true, simple},
		{`"cafe" == properties.kind`, true, simple},
		{`properties.kind == "cafe" && properties.seats > 20`, true, simple},
		{`properties.kind == "cafe" && properties.seats > 24`, false, simple},
		{`20 < properties.seats`, true, simple},
		{`24 < properties.seats`, false, simple},
		{`24 <= properties.seats && 24 >= properties.seats`, true, simple},
		{`25 > properties.seats`, true, simple},
		{`properties["kind"] == "cafe"`, true, simple},
		{`properties["a.b"] == 1`, true, simple},
		{`properties["back\\slash"]`, true, simple},
		{`properties.kind < "cafg" && properties.kind > "cafd"`, true, simple},
		{`properties.name == "Café \"Central\""`, true, simple},
		{`properties.name.startsWith("Café")`, true, simple},
		{`properties.name.endsWith("Central\"")`, true, simple},
		{`properties.name.contains("é \"C")`, true, simple},
		{`properties.name.contains("\\")`, false, simple},
		{`properties.empty == ""`, true, simple},

		// The first of two members of one name counts.
		{`properties.seats == 24`, true, simple},
		{`properties.twice == {"n": 1}`, true, cel},

		// Numbers compare, in any notation.
		{`properties.seats == 24.0`, true, simple},
		{`properties.seats == 24u`, true, simple},
		{`properties.seats < 24.5`, true, simple},
		{`properties.exp == 20`, true, simple},
		{`properties.rating >= 4`, true, simple},
		{`properties.rating == 4.5`, true, simple},
		{`properties.neg < 0 && properties.neg > -1`, true, simple},
		{`properties.big == 18446744073709551615u`, true, simple},
		{`properties.big > 9223372036854775807`, true, simple},
		{`properties.big > -1.0`, true, simple},
		{`properties.id64 == 9007199254740993`, true, simple},
		{`properties.id64 == 9007199254740992`, false, simple},
		{`properties.huge > 1e308`, true, simple},
		{`properties.seats * 2 == 48`, true, cel},
		{`properties.seats % 5 == 4`, true, cel},
		{`properties.rating * 2.0 == 9.0`, true, cel},
		{`double(properties.seats) * 1.5 == 36.0`, true, cel},
		{`properties.rating * 2 == 9`, false, cel}, // a double times an int

		// Equality of other kinds is false, not an error.
		{`properties.kind == 5`, false, simple},
		{`properties.kind != 5`, true, simple},
		{`properties.seats == "24"`, false, simple},
		{`properties.list == "x"`, false, simple},
		{`properties.tags != "x"`, true, simple},
		{`properties.open == 1`, false, simple},

		// Order of other kinds is unknown.
		{`properties.kind > 20`, false, simple},
		{`!(properties.kind > 20)`, false, simple},
		{`properties.seats < "3"`, false, simple},
		{`properties.owner < 3`, false, simple},
		{`properties.seats.startsWith("2")`, false, simple},
		{`!properties.seats.startsWith("2")`, false, simple},

		// Conditions.
		{`properties.open`, true, simple},
		{`properties["open"]`, true, simple},
		{`!properties.closed`, true, simple},
		{`!properties.open`, false, simple},
		{`properties.open == true && properties.closed == false`, true, simple},
		{`properties.kind`, false, simple}, // a string is no condition
		{`!properties.kind`, false, simple},
		{`properties.seats > 20 ? properties.open : false`, true, cel},
		{`true`, true, cel},

		// Missing: unknown, and so is the negation.
		{`properties.stars == 3`, false, simple},
		{`properties.stars != 3`, false, simple},
		{`!(properties.stars == 3)`, false, simple},
		{`properties.stars < 3 || properties.stars >= 3`, false, simple},
		{`properties.stars == 3 || properties.open`, true, simple},
		{`properties.open || properties.stars == 3`, true, simple},
		{`!(properties.stars == 3 && properties.closed)`, true, simple},
		{`!(properties.closed && properties.stars == 3)`, true, simple},
		{`properties.stars == 3 && properties.open`, false, simple},
		{`!(properties.stars == 3 || properties.closed)`, false, simple},
		{`properties.stars == null`, false, simple},
		{`properties.stars in [3]`, false, simple},
		{`!(properties.stars in [3])`, false, simple},
		{`!has(properties.stars)`, true, simple},
		{`!has(properties.stars) || properties.stars != 3`, true, simple},
		{`has(properties.stars) && properties.stars != 3`, false, simple},
		{`properties.?stars.orValue(3) == 3`, true, cel},
		{`properties.?seats.orValue(3) == 24`, true, cel},
		{`properties.?stars == optional.none()`, true, cel},
		{`properties.?tags.?wifi.orValue("no") == "yes"`, true, cel},

		// Null is a value, present and equal to null alone.
		{`properties.owner == null`, true, simple},
		{`properties.kind != null`, true, simple},
		{`has(properties.owner)`, true, simple},
		{`properties.owner == 0`, false, simple},
		{`properties.owner in [null, "x"]`, true, simple},

		// Members of members.
		{`properties.tags.wifi == "yes"`, true, simple},
		{`properties.tags["addr:city"].startsWith("An")`, true, simple},
		{`properties.tags.deep.er.n == -7`, true, simple},
		{`properties.tags.deep.no.n == -7`, false, simple},
		{`properties.kind.x == 1`, false, simple},
		{`!(properties.list.x == 1)`, false, simple},
		{`has(properties.tags.wifi)`, true, simple},
		{`!has(properties.tags.tv)`, true, simple},
		{`!has(properties.no.tv)`, false, simple},
		{`!has(properties.kind.tv)`, true, simple},
		{`!has(properties.owner.tv)`, true, simple},
		{`!has(properties.list.tv)`, false, simple},
		{`has(properties.tags.deep.er.n)`, true, simple},
		{`properties.tags == {"wifi": "yes"}`, false, cel},
		{`properties.tags.deep == {"er": {"n": -7}}`, true, cel},
		{`properties.tags.exists(k, k.startsWith("addr:"))`, true, cel},
		{`properties.tags.all(k, k != "tv")`, true, cel},
		{`size(properties.tags) == 3`, true, cel},
		{`"wifi" in properties.tags`, true, simple},
		{`"tv" in properties.tags`, false, simple},
		{`5 in properties.tags`, false, simple},

		// Lists.
		{`"x" in properties.list`, true, simple},
		{`"z" in properties.list`, false, simple},
		{`!("z" in properties.list)`, true, simple},
		{`3.0 in properties.list`, true, simple},
		{`null in properties.list`, true, simple},
		{`"x" in properties.none`, false, simple},
		{`"x" in properties.kind`, false, simple},
		{`!("x" in properties.kind)`, false, simple},
		{`properties.kind in ["bar", "cafe"]`, true, simple},
		{`properties.kind in ["bar"]`, false, simple},
		{`!(properties.kind in ["bar", 1])`, true, simple},
		{`properties.seats in [24.0, 1]`, true, simple},
		{`properties.id64 in [9007199254740991, 1.5]`, false, simple},
		{`properties.id64 in [9007199254740992.0]`, false, cel},
		{`properties.id64 in [9007199254740993]`, true, cel},
		{`properties.stars in []`, false, cel},
		{`!(properties.stars in [])`, true, cel},
		{`properties.kind in properties.list`, false, cel},
		{`properties.list[0] == "x"`, true, cel},
		{`properties.list[4].a == 1`, true, cel},
		{`properties.list[5] == 1 || !(properties.list[5] == 1)`, false, cel},
		{`properties.list[-1] == 1 || !(properties.list[-1] == 1)`, false, cel},
		{`size(properties.list) == 5`, true, cel},
		{`properties.list.size() == 5`, true, cel},
		{`properties.sums == [1, 2, 3]`, true, cel},
		{`[1, 2, 3] == properties.sums`, true, cel},
		{`properties.sums + [4] == [1, 2, 3, 4]`, true, cel},
		{`properties.sums.all(n, n > 0) && !properties.sums.exists(n, n > 3)`, true, cel},
		{`properties.sums.exists_one(n, n > 2)`, true, cel},
		{`properties.sums.filter(n, n > 1) == [2, 3]`, true, cel},
		{`"cafe" in [properties.kind, properties.tags["wifi"]]`, true, cel},
		{`properties.sums.filter(n, n > 1).size() == 2`, true, cel},

		// Patterns, conversions.
		{`properties.kind.matches("^ca.e$")`, true, cel},
		{`properties.name.matches("(?i)CENTRAL")`, true, cel},
		{`size(properties.name) == 14`, true, cel},
		{`string(properties.seats) == "24"`, true, cel},
		{`int(properties.rating) == 4`, true, cel},
		{`1 / 0 == 1 || !(1 / 0 == 1)`, false, cel},
		{`type(properties.seats) == int && type(properties.tags) == map`, true, cel},

		// The other variables.
		{`id == "node/42"`, true, simple},
		{`id.startsWith("node/")`, true, simple},
		{`id in ["node/1", "node/42"]`, true, simple},
		{`type == "Point"`, true, simple},
		{`type in ["LineString", "Polygon"]`, false, simple},
		{`revision > 6 && revision < 8 && revision == 7`, true, simple},
		{`revision != 7`, false, simple},
		{`revision < 7.5 && revision > 6u`, true, simple},
		{`expires > now`, true, cel},
		{`expires - now == duration("1h")`, true, cel},
		{`expires == null`, false, cel},
		{`now == timestamp("2026-05-01T12:00:00Z")`, true, cel},
		{`now.getHours() == 12`, true, cel},
		{`now.getHours("+02:00") == 14`, true, cel},
	} {
		p, err := Compile(c.expr, Options{})
		if err != nil {
			t.Errorf("Compile: %v", err)
			continue
		}
		got, err := match(t, p, cafe)
		if err != nil || got != c.want {
			t.Errorf("%s: got %v, %v; want %v", c.expr, got, err, c.want)
		}
		if is := isTree(t, c.expr); is != c.simple {
			t.Errorf("%s: simple is %v", c.expr, is)
		}
		if p.String() != c.expr {
			t.Errorf("%s: String is %q", c.expr, p)
		}
	}
}

// The table of the package's documentation, line by line: whether the condition
// passes and whether its negation does, which shows unknown.
func TestMissingAndNull(t *testing.T) {
	const (
		f = "false"
		y = "true"
		u = "unknown"
	)
	props := []string{`{}`, `{"x":null}`, `{"x":5}`, `{"x":"five"}`}
	for expr, want := range map[string][4]string{
		`properties.x == 3`:                {u, f, f, f},
		`properties.x != 3`:                {u, y, y, y},
		`properties.x > 3`:                 {u, u, y, u},
		`!(properties.x > 3)`:              {u, u, f, u},
		`properties.x == null`:             {u, y, f, f},
		`properties.x in [3, 5]`:           {u, f, y, f},
		`has(properties.x)`:                {f, y, y, y},
		`!has(properties.x)`:               {y, f, f, f},
		`properties.x`:                     {u, u, u, u},
		`properties.?x.orValue(9) > 3`:     {y, u, y, u},
		`false && properties.x > 3`:        {f, f, f, f},
		`properties.x > 3 && false`:        {f, f, f, f},
		`true || properties.x > 3`:         {y, y, y, y},
		`properties.x > 3 || true`:         {y, y, y, y},
		`properties.x > 3 && 1 == 1`:       {u, u, y, u},
		`properties.x > 3 || 1 == 2`:       {u, u, y, u},
		`1 / (properties.x - 5) == 1`:      {u, u, u, u},
		`properties.x.startsWith("f")`:     {u, u, u, y},
		`properties.x[0] == 1`:             {u, u, u, u},
		`expires == null || expires > now`: {y, y, y, y},
	} {
		p, not := mustCompile(t, expr), mustCompile(t, "!("+expr+")")
		for i, properties := range props {
			in := filter.Input{Properties: []byte(properties), Now: noon}
			yes, err := match(t, p, in)
			no, err2 := match(t, not, in)
			got := u
			if yes {
				got = y
			} else if no {
				got = f
			}
			if got != want[i] || yes && no || err != nil || err2 != nil {
				t.Errorf("%s on %s: got %s (%v, %v), %v, %v; want %s",
					expr, properties, got, yes, no, err, err2, want[i])
			}
		}
	}
}

// A simple filter looks up any number of properties.
func TestSimpleNames(t *testing.T) {
	in := filter.Input{Properties: []byte(`{"a":1,"b":1,"c":1,"d":1,"e":1,"f":1,"g":1,"h":1,"i":1}`)}
	var expr string
	for i, name := range "abcdefghi" {
		test := fmt.Sprintf("properties.%c == 1 && properties.%c < 2", name, name)
		if i == 0 {
			expr = test
		} else {
			expr += " && " + test
		}
		p := mustCompile(t, expr)
		if !isTree(t, expr) {
			t.Errorf("%d names: not simple", i+1)
		}
		if got, err := match(t, p, in); !got || err != nil {
			t.Errorf("%d names: got %v, %v", i+1, got, err)
		}
	}
}

// A feature may be almost empty.
func TestMatchBareFeature(t *testing.T) {
	for _, props := range []string{"", " ", "{}", " { } ", "null", " null"} {
		in := filter.Input{Properties: []byte(props), Now: noon}
		for expr, want := range map[string]bool{
			`properties.kind == "cafe"`:        false,
			`has(properties.kind)`:             false,
			`!has(properties.kind)`:            true,
			`properties == {}`:                 true,
			`size(properties) == 0`:            true,
			`expires == null`:                  true,
			`expires < now`:                    false,
			`expires == null || expires > now`: true,
			`id == "" && type == ""`:           true,
			`revision == 0`:                    true,
		} {
			got, err := match(t, mustCompile(t, expr), in)
			if got != want || err != nil {
				t.Errorf("%s on %q: got %v, %v; want %v", expr, props, got, err, want)
			}
		}
	}
}

// Malformed JSON is an error where it is read, whatever else the expression
// says of it.
func TestMatchMalformed(t *testing.T) {
	for _, props := range []string{
		`[]`, `"x"`, `1`, `nul`, `{`, `{"a"`, `{"a":`, `{"a":1`, `{"a":}`, `{"a" 1}`,
		`{"a":1 "b":2}`, `{"a":1,}`, `{a:1}`, `{"a":tru}`, `{"a":01}`, `{"a":1.}`,
		`{"a":-}`, `{"a":1e}`, `{"a":.5}`, `{"a":+1}`, `{"a":"x`, `{"a":"x\`, `{"a":"\q"}`,
		`{"a":{`, `{"a":[1`, `{,}`, `{"z":1,,"a":1}`, `{"a":NaN}`, "\x00", `{"a":"\ud8"}`,
	} {
		in := filter.Input{Properties: []byte(props)}
		for _, expr := range []string{
			`properties.a == 2 || properties.b == 2`, `properties.a == 2 || has(properties.b) || true`,
			`properties.a == 2 || size(properties) == 3`,
		} {
			got, err := match(t, mustCompile(t, expr), in)
			if !errors.Is(err, filter.ErrProperties) || got {
				t.Errorf("%s on %s: got %v, %v", expr, props, got, err)
			}
		}
	}
	// The same within a value that is read.
	for _, props := range []string{`{"a":[1,]}`, `{"a":[,1]}`, `{"a":[1 2]}`, `{"a":[x]}`} {
		in := filter.Input{Properties: []byte(props)}
		for _, expr := range []string{
			`7 in properties.a`, `properties.a.exists(x, x == 7) || true`,
			`properties.a == [1]`, `size(properties.a.filter(x, true)) == 0`,
		} {
			if _, err := match(t, mustCompile(t, expr), in); !errors.Is(err, filter.ErrProperties) {
				t.Errorf("%s on %s: got %v", expr, props, err)
			}
		}
	}
}

func TestCompileErrors(t *testing.T) {
	for _, c := range []struct {
		expr         string
		line, column int
		message      string
	}{
		{``, 0, 0, "is empty"},
		{" \n", 0, 0, "is empty"},
		{`properties.kind ==`, 1, 19, "ends too early"},
		{`properties.kind == "caf`, 1, 20, "token recognition error"},
		{`kind == "cafe"`, 1, 1, "a property is properties.kind"},
		{"true &&\n\t foo", 2, 3, "undeclared reference to 'foo'"},
		{`id == "é" && foo`, 1, 14, "undeclared reference to 'foo'"},
		{`id == 5`, 1, 4, "no matching overload"},
		{`id`, 1, 1, "is a condition (bool), this is string"},
		{`properties`, 1, 1, "is a condition (bool), this is map"},
		{`properties.a.matches("(")`, 1, 22, "missing closing )"},
		{`properties.a.matches("(x{100}){100}")`, 1, 22, "repeat"},
		{`properties.a.matches("x{240}") && id == ""`, 0, 0, ""},
		{`properties.a.matches("x{240}") && id.matches("x{100}")`, 1, 46, "at most 250"},
		{`properties.a.matches("[a-z]{240}[0-9]{20}")`, 1, 22, "at most 250"},
		{`properties.a.matches(properties.b)`, 1, 32, "literal string"},
		{`matches(properties.a, id)`, 1, 23, "literal string"},
		{`now > timestamp("x")`, 1, 17, "invalid timestamp"},
		{`has(id)`, 1, 5, "has()"},
		{strings.Repeat("(", 100) + "true" + strings.Repeat(")", 100), 0, 0, "recursion"},
		{strings.Repeat("x", 4097), 0, 0, "4097 bytes, at most 4096"},
		{"id == \"\xff\"", 0, 0, "UTF-8"},
		{"properties.a.b(1)", 1, 15, "there is no function 'b'"},
		{`properties.l.map(x, x) == []`, 1, 17, "there is no function 'map'"},
		{`properties.l.exists(x, [x, x] == x)`, 1, 25, "literals and fields only"},
		{`properties.l.exists(x, {"a": [1, x]} == x)`, 1, 34, "literals and fields only"},
		{`properties.l.filter(x, [x] == x) == []`, 1, 25, "literals and fields only"},
		{`[properties.a + 1] == []`, 1, 15, "literals and fields only"},
	} {
		_, err := Compile(c.expr, Options{})
		if c.message == "" && err == nil {
			continue
		}
		var e *filter.Error
		if !errors.As(err, &e) || !errors.Is(err, filter.ErrFilter) {
			t.Errorf("%s: got %v", c.expr, err)
			continue
		}
		if e.Line != c.line || e.Column != c.column || !strings.Contains(e.Message, c.message) {
			t.Errorf("%s: got line %d, column %d, %q", c.expr, e.Line, e.Column, e.Message)
		}
	}
}

func TestErrorShowsCaret(t *testing.T) {
	for expr, want := range map[string]string{
		`properties.a == 1 && foo`: "column 22: undeclared reference to 'foo'",
		"true &&\r\n\tfoo\r\n":     "line 2, column 2: undeclared reference to 'foo'",
	} {
		_, err := Compile(expr, Options{})
		lines := strings.Split(err.Error(), "\n")
		if len(lines) != 3 || !strings.Contains(lines[0], want) {
			t.Errorf("%q: got %q", expr, err)
			continue
		}
		if at := len(lines[2]) - 1; !strings.HasPrefix(lines[1][at:], "foo") || lines[2][at] != '^' {
			t.Errorf("%q: the caret is elsewhere:\n%v", expr, err)
		}
		if strings.Contains(lines[1], "\t") != strings.Contains(lines[2], "\t") {
			t.Errorf("%q: tabs move the caret:\n%v", expr, err)
		}
	}
	// The caret is under a single =, and the message says what it should be.
	for expr, column := range map[string]int{`properties.kind = "cafe"`: 17, `id == "=" && properties.kind="x"`: 29, "1=": 2} {
		_, err := Compile(expr, Options{})
		lines := strings.Split(err.Error(), "\n")
		if !strings.Contains(lines[0], fmt.Sprintf("column %d: equality is ==", column)) ||
			lines[1] != "  "+expr || len(lines[2]) != 2+column || lines[1][len(lines[2])-1] != '=' {
			t.Errorf("%s: got\n%v", expr, err)
		}
	}
	// Of a long line the part around the caret is shown.
	_, err := Compile(strings.Repeat(`id == "a" || `, 100)+"foo"+strings.Repeat(` || id == "a"`, 100), Options{})
	for _, l := range strings.Split(err.Error(), "\n")[1:] {
		if len(l) > 2+72 {
			t.Errorf("%d characters: %s", len(l), l)
		}
	}
	if lines := strings.Split(err.Error(), "\n"); !strings.HasPrefix(lines[1][len(lines[2])-1:], "foo") {
		t.Errorf("the caret is elsewhere:\n%v", err)
	}
}

func TestMatchContext(t *testing.T) {
	ctx, cancel := context.WithCancel(context.Background())
	for _, expr := range []string{`properties.open`, `size(properties) > 0`} {
		p := mustCompile(t, expr)
		if got, err := p.MatchContext(ctx, cafe); !got || err != nil {
			t.Errorf("%s: got %v, %v", expr, got, err)
		}
	}
	cancel()
	for _, expr := range []string{`properties.open`, `size(properties) > 0`} {
		got, err := mustCompile(t, expr).MatchContext(ctx, cafe)
		if got || !errors.Is(err, context.Canceled) {
			t.Errorf("%s: got %v, %v", expr, got, err)
		}
	}
}
