// Package props reads a feature's properties in place, within a budget and in steps.
package props

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"encoding/json"
	"math"
	"math/bits"
	"strconv"
)

// Properties are read in place: a cursor steps over the members of one object,
// or the elements of one list, and parses only the values that are needed.
//
//	{ "kind" : "cafe" , "seats" : 24 }
//	   ^^^^    ^^^^^^                     name and value of the first step
//
// The cursor does not check what it steps over: it skips strings to their
// closing quote, objects and lists to their closing bracket, everything else to
// the next delimiter. So malformed JSON is found where it is read, or where a
// value does not end. No function here recurses or reads outside its slice.

// Cursor steps over the members of an object or the elements of a list.
type Cursor struct {
	b     []byte
	i     int
	begun bool
	bad   bool // the next bytes were not JSON; final
	cut   bool // b is truncated
	// counted is the position up to which Reader.Next has charged it.
	counted int

	// The current member. Both slices are parts of b.
	name    []byte // without quotes; nil in lists
	escaped bool   // the name holds escapes
	Val     []byte
}

// open returns a cursor over b, which must begin with the bracket.
func open(b []byte, bracket byte) (Cursor, bool) {
	i := skipSpace(b, 0)
	if i == len(b) || b[i] != bracket {
		return Cursor{}, false
	}
	return Cursor{b: b, i: i + 1}, true
}

// Next moves to the next member, and returns false at the end or when c.bad.
func (c *Cursor) next(object bool) bool {
	if c.bad {
		return false
	}
	b, end := c.b, byte(']')
	if object {
		end = '}'
	}
	i := skipSpace(b, c.i)
	if i < len(b) && b[i] == end {
		c.i = i // stays on the bracket, so that the next call ends, too
		return false
	}
	if c.begun {
		if i == len(b) || b[i] != ',' {
			return c.fail()
		}
		i = skipSpace(b, i+1)
	}
	c.begun = true
	if object {
		if i == len(b) || b[i] != '"' {
			return c.fail()
		}
		from := i + 1
		if i, c.escaped = skipString(b, from); i < 0 {
			return c.fail()
		}
		c.name = b[from : i-1]
		if i = skipSpace(b, i); i == len(b) || b[i] != ':' {
			return c.fail()
		}
		i = skipSpace(b, i+1)
	}
	j := skipValue(b, i)
	if j <= i {
		return c.fail()
	}
	c.Val, c.i = b[i:j], j
	return true
}

func (c *Cursor) fail() bool {
	c.bad = true
	return false
}

// is reports whether the current member has this name.
func (c *Cursor) is(name string) bool {
	if !c.escaped {
		return string(c.name) == name
	}
	s, ok := unquote(c.name)
	return ok && s == name
}

func skipSpace(b []byte, i int) int {
	for i < len(b) && (b[i] == ' ' || b[i] == '\n' || b[i] == '\t' || b[i] == '\r') {
		i++
	}
	return i
}

// skipString returns the index after the closing quote of the string whose
// content begins at i, or -1, and whether the content holds escapes.
//
// It looks at eight bytes at a time: a filter spends half of its time here. x
// below has a zero byte where w has the byte that is sought, and (x - ones) &^
// x & tops has the top bit of each zero byte. Above the lowest one, which alone
// is used, it may have false ones.
func skipString(b []byte, i int) (end int, escaped bool) {
	const (
		ones = 0x0101010101010101
		tops = 0x8080808080808080
	)
	for i < len(b) {
		if i+8 <= len(b) {
			w := binary.LittleEndian.Uint64(b[i:])
			x, y := w^('"'*ones), w^('\\'*ones)
			stop := ((x-ones)&^x | (y-ones)&^y) & tops
			if stop == 0 {
				i += 8
				continue
			}
			i += bits.TrailingZeros64(stop) / 8
		}
		switch b[i] {
		case '"':
			return i + 1, escaped
		case '\\':
			escaped = true
			i++
		}
		i++
	}
	return -1, escaped
}

// skipValue returns the index after the value that begins at i: i itself if
// there is none, -1 if it does not end.
func skipValue(b []byte, i int) int {
	depth := 0
	for i < len(b) {
		switch b[i] {
		case '"':
			if i, _ = skipString(b, i+1); i < 0 {
				return -1
			}
			if depth == 0 {
				return i
			}
			continue
		case '{', '[':
			depth++
			i++
			continue
		case '}', ']':
			if depth == 0 {
				return i
			}
			depth--
			i++
			if depth == 0 {
				return i
			}
			continue
		}
		if depth == 0 {
			for i < len(b) && !delimits[b[i]] {
				i++
			}
			return i
		}
		i++
	}
	if depth > 0 {
		return -1
	}
	return i
}

// delimits are the bytes that end a number, true, false or null.
var delimits = [256]bool{
	' ': true, '\n': true, '\t': true, '\r': true,
	',': true, ':': true, '}': true, ']': true, '{': true, '[': true, '"': true,
}

// unquote returns the string whose content, with escapes, is raw.
func unquote(raw []byte) (string, bool) {
	quoted := make([]byte, 0, len(raw)+2)
	quoted = append(append(append(quoted, '"'), raw...), '"')
	var s string
	if json.Unmarshal(quoted, &s) != nil {
		return "", false
	}
	return s, true
}

// kind is the kind of a value. The numbers are neighbours.
type kind uint8

const (
	Missing kind = iota // absent, or not JSON: unknown to every test
	Null
	Boolean
	Integer  // num is an int64
	Unsigned // num is a uint64 above the largest int64
	Double   // num is a float64
	Text
	Object
	Array
)

// Value is one JSON value, a literal of an expression, or another variable.
type Value struct {
	Kind kind
	Num  uint64 // boolean: 0 or 1; numbers: see kind
	S    []byte // text: the string; object and array: the JSON text
}

// parse reads one value that a cursor stepped over. The kind missing means that
// it is not JSON. Only a string with escapes allocates.
func parse(raw []byte) Value {
	if len(raw) == 0 {
		return Value{}
	}
	switch raw[0] {
	case '"':
		end, escaped := skipString(raw, 1)
		if end != len(raw) {
			return Value{}
		}
		s := raw[1 : end-1]
		if escaped {
			u, ok := unquote(s)
			if !ok {
				return Value{}
			}
			s = []byte(u)
		}
		return Value{Kind: Text, S: s}
	case '{':
		return Value{Kind: Object, S: raw}
	case '[':
		return Value{Kind: Array, S: raw}
	case 't':
		if string(raw) == "true" {
			return Value{Kind: Boolean, Num: 1}
		}
	case 'f':
		if string(raw) == "false" {
			return Value{Kind: Boolean}
		}
	case 'n':
		if string(raw) == "null" {
			return Value{Kind: Null}
		}
	default:
		return parseNumber(raw)
	}
	return Value{}
}

// parseNumber reads a number by JSON's grammar. Without point and exponent it is an
// integer if it fits one. A number too large for a double becomes infinite.
func parseNumber(raw []byte) Value {
	digits, neg := raw, false
	if digits[0] == '-' {
		digits, neg = digits[1:], true
	}
	n := 0
	var u uint64
	for n < len(digits) && digits[n]-'0' <= 9 {
		u = u*10 + uint64(digits[n]-'0')
		n++
	}
	if n == 0 || n > 1 && digits[0] == '0' {
		return Value{}
	}
	if n == len(digits) {
		if n <= 18 { // below 10^18, so it fits an int64
			if neg {
				return Value{Kind: Integer, Num: -u}
			}
			return Value{Kind: Integer, Num: u}
		}
		if i, err := strconv.ParseInt(string(raw), 10, 64); err == nil {
			return Value{Kind: Integer, Num: uint64(i)}
		}
		if u, err := strconv.ParseUint(string(raw), 10, 64); err == nil {
			return Value{Kind: Unsigned, Num: u}
		}
	} else if !isFraction(digits[n:]) {
		return Value{}
	}
	// Only a number out of range is an error here: f is infinite then.
	f, _ := strconv.ParseFloat(string(raw), 64)
	return Value{Kind: Double, Num: math.Float64bits(f)}
}

// isFraction reports whether b may follow the digits of a number: a point with
// digits, an exponent, or both.
func isFraction(b []byte) bool {
	digits := func() bool {
		n := 0
		for n < len(b) && b[n]-'0' <= 9 {
			n++
		}
		b = b[n:]
		return n > 0
	}
	if b[0] == '.' {
		if b = b[1:]; !digits() {
			return false
		}
	}
	if len(b) > 0 && (b[0] == 'e' || b[0] == 'E') {
		b = b[1:]
		if len(b) > 0 && (b[0] == '+' || b[0] == '-') {
			b = b[1:]
		}
		if !digits() {
			return false
		}
	}
	return len(b) == 0
}

func (k kind) IsNumber() bool { return k >= Integer && k <= Double }

// UnsignedValue preserves that an unsigned value is above all integers.
func UnsignedValue(u uint64) Value {
	if u <= math.MaxInt64 {
		return Value{Kind: Integer, Num: u}
	}
	return Value{Kind: Unsigned, Num: u}
}

// Equal is CEL's equality: numbers of all kinds compare, other values of
// different kinds differ.
func (v *Value) Equal(l *Value) bool {
	if v.Kind.IsNumber() && l.Kind.IsNumber() {
		return compareNumbers(v, l) == 0
	}
	if v.Kind != l.Kind {
		return false
	}
	return v.Num == l.Num && bytes.Equal(v.S, l.S)
}

// Compare orders numbers, or strings by their bytes.
func (v *Value) Compare(l *Value) (int, bool) {
	if v.Kind.IsNumber() && l.Kind.IsNumber() {
		return compareNumbers(v, l), true
	}
	if v.Kind == Text && l.Kind == Text {
		return bytes.Compare(v.S, l.S), true
	}
	return 0, false
}

// compareNumbers orders as CEL does: integers exactly, integers with doubles
// as doubles. A double is never NaN, because JSON and CEL cannot write it.
func compareNumbers(a, b *Value) int {
	if a.Kind == Double || b.Kind == Double {
		return cmp.Compare(a.Float(), b.Float())
	}
	if a.Kind != b.Kind { // one is above all integers
		return cmp.Compare(a.Kind, b.Kind)
	}
	if a.Kind == Unsigned {
		return cmp.Compare(a.Num, b.Num)
	}
	return cmp.Compare(int64(a.Num), int64(b.Num))
}

// Float is a number.
func (v *Value) Float() float64 {
	switch v.Kind {
	case Integer:
		return float64(int64(v.Num))
	case Unsigned:
		return float64(v.Num)
	}
	return math.Float64frombits(v.Num)
}
