package feature

import "encoding/binary"

// Selection says which parts of features to return. The zero value selects all.
type Selection struct {
	// Fields are names of properties; none: all. Those that a feature does not
	// have are left out.
	Fields []string
	// NoProperties and NoGeometry leave these out altogether.
	NoProperties, NoGeometry bool
}

// All reports whether all parts are selected.
func (s *Selection) All() bool { return len(s.Fields) == 0 && !s.NoProperties && !s.NoGeometry }

// AppendSelected appends the bytes of the feature with those parts alone, which
// are a feature's bytes, too. It allocates nothing but dst.
func (v *View) AppendSelected(dst []byte, s *Selection) []byte {
	p := v.Properties()
	if s.NoProperties {
		p = nil
	}
	begin := len(dst)
	switch {
	case len(v.b) == 0 || s.NoGeometry:
		dst = appendHead(dst, None, 0, false, p)
	default:
		dst = append(dst, v.b[:v.properties]...)
		dst[begin+3] &^= flagProperties
		if p != nil {
			dst[begin+3] |= flagProperties
		}
	}
	at := len(dst)
	if p != nil && len(s.Fields) > 0 {
		dst = appendFields(dst, p, s.Fields)
	} else {
		dst = append(dst, p...)
	}
	binary.LittleEndian.PutUint32(dst[begin+4:], uint32(len(dst)-at))
	return dst
}

// JSONType is a type of JSON values.
type JSONType uint8

// The types.
const (
	JSONNull JSONType = iota
	JSONBoolean
	JSONNumber
	JSONString
	JSONArray
	JSONObject

	// JSONTypes is the number of types.
	JSONTypes = 6
)

var jsonNames = [JSONTypes]string{"null", "boolean", "number", "string", "array", "object"}

// String is the type's name: "null", "boolean", "number", "string", "array" or
// "object".
func (t JSONType) String() string {
	if int(t) < len(jsonNames) {
		return jsonNames[t]
	}
	return "invalid"
}

// Members calls f with each member of the properties: its name, and the type of
// its value. A name is valid until f returns. Members does not allocate, unless
// a name is written with escapes.
func (v *View) Members(f func(name []byte, t JSONType)) {
	v.Values(func(name, _ []byte, t JSONType) { f(name, t) })
}

// Values is Members with the text of each value, which is valid as long as v is.
func (v *View) Values(f func(name, value []byte, t JSONType)) {
	if v.Properties() == nil {
		return
	}
	s := scanner{b: v.Properties(), depth: maxJSONDepth}
	if s.open('{', "an object") != nil {
		return
	}
	for n := 0; ; n++ {
		// Errors end the loop: the properties given to Append were not from Decode.
		if more, err := s.more(n, '}'); err != nil || !more {
			return
		}
		name, err := s.key()
		if err != nil {
			return
		}
		t := typeOf(s.peek())
		value, err := s.value()
		if err != nil {
			return
		}
		f(unquoted(name), value, t)
	}
}

// Unquote returns the value of a JSON string, which is a part of text unless it
// has escapes. The text must be valid, as that of Values is.
func Unquote(text []byte) []byte { return unquoted(text) }

// typeOf returns the type of a value that begins with c.
func typeOf(c byte) JSONType {
	switch c {
	case 'n':
		return JSONNull
	case 't', 'f':
		return JSONBoolean
	case '"':
		return JSONString
	case '[':
		return JSONArray
	case '{':
		return JSONObject
	}
	return JSONNumber
}

// unquoted is unquote without a copy, if there are no escapes.
func unquoted(quoted []byte) []byte {
	for _, c := range quoted {
		if c == '\\' {
			return []byte(unquote(quoted))
		}
	}
	return quoted[1 : len(quoted)-1]
}
