package props

import (
	"bytes"
	"encoding/json"
	"math"
	"math/big"
	"testing"

	"pgregory.net/rapid"
)

func TestParseNumber(t *testing.T) {
	for text, want := range map[string]Value{
		"0":                     {Kind: Integer},
		"-0":                    {Kind: Integer},
		"-7":                    {Kind: Integer, Num: math.MaxUint64 - 6},
		"999999999999999999":    {Kind: Integer, Num: 999999999999999999},
		"1000000000000000000":   {Kind: Integer, Num: 1000000000000000000},
		"9223372036854775807":   {Kind: Integer, Num: math.MaxInt64},
		"9223372036854775808":   {Kind: Unsigned, Num: 1 << 63},
		"9999999999999999999":   {Kind: Unsigned, Num: 9999999999999999999},
		"18446744073709551615":  {Kind: Unsigned, Num: math.MaxUint64},
		"18446744073709551616":  {Kind: Double, Num: math.Float64bits(1 << 64)},
		"-9223372036854775808":  {Kind: Integer, Num: 1 << 63},
		"-9223372036854775809":  {Kind: Double, Num: math.Float64bits(-(1 << 63))},
		"24.0":                  {Kind: Double, Num: math.Float64bits(24)},
		"2.4e1":                 {Kind: Double, Num: math.Float64bits(24)},
		"-1E-2":                 {Kind: Double, Num: math.Float64bits(-0.01)},
		"1e+2":                  {Kind: Double, Num: math.Float64bits(100)},
		"1e400":                 {Kind: Double, Num: math.Float64bits(math.Inf(1))},
		"-1e400":                {Kind: Double, Num: math.Float64bits(math.Inf(-1))},
		"1e-400":                {Kind: Double},
		"01":                    {},
		"-01":                   {},
		"-":                     {},
		"1.":                    {},
		".1":                    {},
		"1e":                    {},
		"1e+":                   {},
		"1.e1":                  {},
		"1.5.5":                 {},
		"1e5e5":                 {},
		"0x10":                  {},
		"1_000":                 {},
		"Infinity":              {},
		"-Infinity":             {},
		"+1":                    {},
		"1a":                    {},
		"99999999999999999999a": {},
	} {
		got := parse([]byte(text))
		if got.Kind != want.Kind || got.Num != want.Num {
			t.Errorf("%s: got kind %d, %#x; want %d, %#x", text, got.Kind, got.Num, want.Kind, want.Num)
		}
		if valid := json.Valid([]byte(text)); valid != (got.Kind != Missing) {
			t.Errorf("%s: encoding/json says valid is %v", text, valid)
		}
	}
}

// The cursor finds everything that encoding/json reads, with the same values.
func TestFindIsJSON(t *testing.T) {
	texts := rapid.OneOf(rapid.String(), rapid.StringOfN(rapid.RuneFrom([]rune(`ab"\/é😀`+"\n\x01")), 0, 40, -1))
	var values *rapid.Generator[any]
	leaf := rapid.OneOf(
		rapid.Map(texts, func(s string) any { return s }),
		rapid.Map(rapid.Float64Range(-1e300, 1e300), func(f float64) any { return f }),
		rapid.Map(rapid.Int64(), func(i int64) any { return i }),
		rapid.Map(rapid.Bool(), func(b bool) any { return b }),
		rapid.Just[any](nil),
	)
	values = rapid.OneOf(leaf,
		rapid.Map(rapid.SliceOfN(leaf, 0, 4), func(l []any) any { return l }),
		rapid.Map(rapid.MapOfN(texts, leaf, 0, 4), func(m map[string]any) any { return m }))
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.MapOfN(texts, values, 0, 6).Draw(t, "object")
		data, err := json.Marshal(want)
		if err != nil {
			t.Fatal(err)
		}
		if rapid.Bool().Draw(t, "indent") {
			var b bytes.Buffer
			if err := json.Indent(&b, data, " ", "\t"); err != nil {
				t.Fatal(err)
			}
			data = b.Bytes()
		}
		// Values that Marshal changes (invalid UTF-8, lists of bytes) are not under test.
		d := json.NewDecoder(bytes.NewReader(data))
		d.UseNumber()
		var read map[string]any
		if err := d.Decode(&read); err != nil {
			t.Fatal(err)
		}
		var r Reader
		r.Begin(data, 100_000, nil)
		names := make([]string, 0, 8)
		for name := range read {
			names = append(names, name)
		}
		found := make([][]byte, len(names))
		r.FindAll(names, found)
		for i, name := range names {
			one := r.Find(r.Props, name)
			if !bytes.Equal(one, found[i]) || &one[0] != &found[i][0] {
				t.Fatalf("%q of %s: find and findAll disagree: %s, %s", name, data, one, found[i])
			}
			if !same(&r, one, read[name]) {
				t.Fatalf("%q of %s: got %s, want %v", name, data, one, read[name])
			}
		}
		if r.Find(r.Props, "not there") != nil && read["not there"] == nil || r.Fault != Sound {
			t.Fatalf("%s: found what is not there, or failed: %d", data, r.Fault)
		}
	})
}

// same compares a JSON text, read by r, with the value from encoding/json.
func same(r *Reader, raw []byte, want any) bool {
	v := r.Value(raw)
	switch want := want.(type) {
	case nil:
		return v.Kind == Null
	case bool:
		return v.Kind == Boolean && (v.Num == 1) == want
	case string:
		return v.Kind == Text && string(v.S) == want
	case json.Number:
		w, _, err := big.ParseFloat(want.String(), 10, 2000, big.ToNearestEven)
		if err != nil {
			return false
		}
		f, _ := w.Float64()
		return v.Kind.IsNumber() && v.Float() == f
	case []any:
		c, ok := open(v.S, '[')
		for i := 0; ok && c.next(false); i++ {
			if i >= len(want) || !same(r, c.Val, want[i]) {
				return false
			}
			ok = len(want) > i
		}
		return ok && v.Kind == Array && !c.bad
	case map[string]any:
		n := 0
		for name, w := range want {
			if raw := r.Find(v.S, name); raw == nil || !same(r, raw, w) {
				return false
			}
			n++
		}
		c, ok := open(v.S, '{')
		for c.next(true) {
			n--
		}
		return ok && v.Kind == Object && n == 0 && !c.bad
	}
	return false
}

// No text makes the steps leave their slice or run forever.
func FuzzCursor(f *testing.F) {
	for _, s := range []string{`{"a":1}`, `{"a\"":"b\\","c":[{},[1,2]]}`, `{"a":{`, `[1,"\`, `{"a"`} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		for _, object := range []bool{true, false} {
			bracket := byte('[')
			if object {
				bracket = '{'
			}
			c, ok := open(b, bracket)
			if !ok {
				continue
			}
			last, n := c.i, 0
			for c.next(object) {
				if c.i <= last || c.i > len(b) || len(c.Val) == 0 {
					t.Fatalf("%q: at %d after %d", b, c.i, last)
				}
				last = c.i
				n++
				parse(c.Val)
			}
			if json.Valid(b) && c.bad {
				t.Fatalf("%q: malformed after %d members", b, n)
			}
		}
	})
}
