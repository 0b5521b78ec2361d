package filter

import "fmt"

// reader reads the properties of one feature for one evaluation. It counts the
// bytes that it scans, because a test in a loop would otherwise read a large
// object again and again at no cost. It keeps the first failure: CEL lets `true
// || error` pass, but malformed properties and a spent budget end the
// evaluation whatever the rest of the expression says.
type reader struct {
	props []byte
	left  int // bytes that may still be scanned
	fault fault

	steps  Stepper // nil: none
	passed int     // bytes since the last step
	ended  error   // of steps
}

type fault uint8

const (
	sound fault = iota
	malformed
	spent
	ended
)

// bytesPerUnit is in bytes per unit of cost: CEL charges a tenth for each byte
// of a string that a function scans, so bytes of properties cost the same.
const bytesPerUnit = 10

// begin prepares r to read p within limit units of cost. Like GeoJSON it takes
// null, and an empty text, for an object without members.
func (r *reader) begin(p []byte, limit uint64, steps Stepper) {
	i := skipSpace(p, 0)
	if i == len(p) || string(p[i:]) == "null" {
		p = emptyObject
	}
	*r = reader{props: p, left: int(limit * bytesPerUnit), steps: steps}
}

var emptyObject = []byte("{}")

// err returns the error of an evaluation of p.
func (r *reader) err(p *Program) error {
	switch r.fault {
	case malformed:
		return fmt.Errorf("%w: %d bytes that are no JSON object with complete members",
			ErrProperties, len(r.props))
	case spent:
		return p.costError()
	case ended:
		return r.ended
	}
	return nil
}

// spend counts n bytes and reports whether reading may continue.
func (r *reader) spend(n int) bool {
	r.left -= n
	if r.left < 0 && r.fault == sound {
		r.fault = spent
	}
	return r.step(n)
}

// step counts n bytes only towards the next step, and reports whether the
// evaluation may continue.
func (r *reader) step(n int) bool {
	if r.steps == nil || r.fault != sound {
		return r.fault == sound
	}
	if r.passed += n; r.passed >= stepBytes {
		r.passed = 0
		if r.ended = r.steps.Step(); r.ended != nil {
			r.fault = ended
		}
	}
	return r.fault == sound
}

// open returns a cursor over an object or list that scans no more than the
// budget allows: it gets one byte of the text more than that.
func (r *reader) open(raw []byte, bracket byte) (c cursor, ok bool) {
	cut := len(raw) > r.left+1
	if cut {
		raw = raw[:max(r.left, 0)+1]
	}
	c, ok = open(raw, bracket)
	c.cut = cut
	return c, ok
}

// failed records that c did not find JSON, or that the budget ended the text.
func (r *reader) failed(c *cursor) {
	switch {
	case !c.bad || r.fault != sound:
	case c.cut:
		r.fault = spent
	default:
		r.fault = malformed
	}
}

// close counts the bytes that c scanned and reports whether they were JSON.
func (r *reader) close(c *cursor) bool {
	r.failed(c)
	return r.spend(c.i)
}

// find returns the text of a member of the object raw, nil if there is none
// or if reading failed. The first of several members of one name counts.
func (r *reader) find(raw []byte, name string) []byte {
	if r.fault != sound {
		return nil
	}
	c, ok := r.open(raw, '{')
	if !ok {
		r.fault = malformed
		return nil
	}
	var val []byte
	for c.next(true) {
		if c.is(name) {
			val = c.val
			break
		}
	}
	if !r.close(&c) {
		return nil
	}
	return val
}

// findAll is find for several names of the properties in one pass. It sets
// the values in found, which has the length of names.
func (r *reader) findAll(names []string, found [][]byte) {
	c, ok := r.open(r.props, '{')
	if !ok {
		r.fault = malformed
		return
	}
	left := len(names)
	for left > 0 && c.next(true) {
		for i, name := range names {
			if found[i] == nil && c.is(name) {
				found[i] = c.val
				left--
				break
			}
		}
	}
	r.close(&c)
}

// value parses raw, and records when it is not JSON.
func (r *reader) value(raw []byte) value {
	if raw == nil || r.fault != sound {
		return value{}
	}
	v := parse(raw)
	if v.kind == missing {
		r.fault = malformed
	}
	return v
}
