package feature

import "bytes"

// SameGeometry reports whether two features have the same geometry, position for
// position.
func (v *View) SameGeometry(w *View) bool {
	if v.typ != w.typ || v.typ == None {
		return v.typ == w.typ
	}
	// The bytes between the head, which has the length of the properties, and the
	// properties.
	return bytes.Equal(v.b[headBytes:v.properties], w.b[headBytes:w.properties])
}
