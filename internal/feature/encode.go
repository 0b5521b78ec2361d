package feature

import "unicode/utf8"

// AppendGeoJSON appends the feature as a GeoJSON Feature. If fields are given,
// of the properties only those members are written, in the order in which they
// are stored. Coordinates have as many digits as reading the same float64 again
// takes. It allocates nothing but dst.
func (v *View) AppendGeoJSON(dst []byte, id string, fields ...string) []byte {
	dst = append(dst, `{"type":"Feature","id":`...)
	return v.appendParts(appendString(dst, id), fields)
}

// AppendGeoJSONOf is AppendGeoJSON for an id in bytes.
func (v *View) AppendGeoJSONOf(dst, id []byte, fields ...string) []byte {
	dst = append(dst, `{"type":"Feature","id":`...)
	return v.appendParts(appendString(dst, id), fields)
}

// appendParts appends the members after the id.
func (v *View) appendParts(dst []byte, fields []string) []byte {
	dst = append(dst, `,"geometry":`...)
	dst = v.AppendGeometryJSON(dst)
	dst = append(dst, `,"properties":`...)
	if v.Properties() == nil {
		dst = append(dst, "null"...)
	} else {
		dst = v.AppendProperties(dst, fields...)
	}
	return append(dst, '}')
}

// AppendProperties appends the properties alone, nothing for null, and only
// those of fields if any are given.
func (v *View) AppendProperties(dst []byte, fields ...string) []byte {
	p := v.Properties()
	if p == nil || len(fields) == 0 {
		return append(dst, p...)
	}
	return appendFields(dst, p, fields)
}

// AppendGeometryJSON appends the geometry alone, null if there is none.
func (v *View) AppendGeometryJSON(dst []byte) []byte {
	switch v.typ {
	case None:
		return append(dst, "null"...)
	case Point: // the most frequent by far
		x, y := v.vertex(0)
		dst = appendNumber(append(dst, `{"type":"Point","coordinates":[`...), x)
		dst = appendNumber(append(dst, ','), y)
		return append(v.appendAltitude(dst, 0), ']', '}')
	}
	w := writer{v: v, dst: dst}
	w.geometry(v.typ, v.npaths, v.nmembers)
	return w.dst
}

// writer walks like builder.
type writer struct {
	v      *View
	dst    []byte
	path   path
	member int
}

func (w *writer) geometry(t Type, count, members int) {
	w.dst = append(append(append(w.dst, `{"type":"`...), t.String()...), '"')
	if t == GeometryCollection {
		w.dst = append(w.dst, `,"geometries":[`...)
		for n := 0; n < members && w.member < w.v.nmembers; n++ {
			if n > 0 {
				w.dst = append(w.dst, ',')
			}
			off := w.v.members + w.member*memberBytes
			w.member++
			c := u32(w.v.b, off+4)
			w.geometry(Type(u32(w.v.b, off)), c, c)
		}
		w.dst = append(w.dst, "]}"...)
		return
	}
	w.dst = append(w.dst, `,"coordinates":`...)
	switch t {
	case Point:
		w.v.next(&w.path)
		w.position(w.path.first)
	case MultiPoint, LineString:
		w.positions()
	case MultiPolygon:
		w.dst = append(w.dst, '[')
		for i := range count {
			w.v.next(&w.path)
			if w.path.kind == shell {
				if i > 0 {
					w.dst = append(w.dst, ']', ',')
				}
				w.dst = append(w.dst, '[')
			} else {
				w.dst = append(w.dst, ',')
			}
			w.run()
		}
		w.dst = append(w.dst, ']', ']')
	default: // MultiLineString, Polygon
		w.dst = append(w.dst, '[')
		for i := range count {
			if i > 0 {
				w.dst = append(w.dst, ',')
			}
			w.positions()
		}
		w.dst = append(w.dst, ']')
	}
	w.dst = append(w.dst, '}')
}

func (w *writer) positions() {
	w.v.next(&w.path)
	w.run()
}

// run writes the current path.
func (w *writer) run() {
	w.dst = append(w.dst, '[')
	for i := w.path.first; i < w.path.end; i++ {
		if i > w.path.first {
			w.dst = append(w.dst, ',')
		}
		w.position(i)
	}
	w.dst = append(w.dst, ']')
}

func (w *writer) position(i int) {
	x, y := w.v.vertex(i)
	w.dst = append(w.dst, '[')
	w.dst = appendNumber(w.dst, x)
	w.dst = append(w.dst, ',')
	w.dst = appendNumber(w.dst, y)
	w.dst = append(w.v.appendAltitude(w.dst, i), ']')
}

// appendAltitude appends the third number of position i, if it has one.
func (v *View) appendAltitude(dst []byte, i int) []byte {
	if v.altitudes == 0 {
		return dst
	}
	if z := v.altitude(i); z == z {
		dst = appendNumber(append(dst, ','), z)
	}
	return dst
}

const hexDigits = "0123456789abcdef"

// appendString appends s as a JSON string. Bytes that are not UTF-8 become U+FFFD.
func appendString[T string | []byte](dst []byte, s T) []byte {
	plain := 0
	for plain < len(s) && s[plain] >= ' ' && s[plain] < utf8.RuneSelf && s[plain] != '"' && s[plain] != '\\' {
		plain++
	}
	dst = append(append(dst, '"'), s[:plain]...)
	for _, r := range string(s[plain:]) {
		switch {
		case r == '"' || r == '\\':
			dst = append(dst, '\\', byte(r))
		case r < ' ':
			dst = append(dst, '\\', 'u', '0', '0', hexDigits[r>>4], hexDigits[r&15])
		default:
			dst = utf8.AppendRune(dst, r)
		}
	}
	return append(dst, '"')
}

// appendFields copies the members of an object whose names are in fields.
func appendFields(dst, object []byte, fields []string) []byte {
	dst = append(dst, '{')
	s := scanner{b: object, depth: maxJSONDepth}
	if s.open('{', "an object") != nil {
		return append(dst, '}')
	}
	written := 0
	for n := 0; ; n++ {
		// Errors end the object: the properties given to Append were not from Decode.
		if more, err := s.more(n, '}'); err != nil || !more {
			break
		}
		name, err := s.key()
		if err != nil {
			break
		}
		value, err := s.value()
		if err != nil {
			break
		}
		if !selected(name, fields) {
			continue
		}
		if written > 0 {
			dst = append(dst, ',')
		}
		written++
		dst = append(append(append(dst, name...), ':'), value...)
	}
	return append(dst, '}')
}

func selected(name []byte, fields []string) bool {
	for _, f := range fields {
		if sameString(name, f) {
			return true
		}
	}
	return false
}
