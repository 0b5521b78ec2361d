package props

import (
	"errors"
	"fmt"
)

// Errors of package filter.
var (
	ErrSpent     = errors.New("filter: cost limit exceeded")
	ErrMalformed = errors.New("filter: malformed properties")
)

// Reader reads the properties of one feature for one evaluation. It counts the
// bytes that it scans, because a test in a loop would otherwise read a large
// object again and again at no cost. It keeps the first failure: CEL lets `true
// || error` pass, but malformed properties and a spent budget end the
// evaluation whatever the rest of the expression says.
type Reader struct {
	Props []byte
	left  int // bytes that may still be scanned
	Fault fault

	Steps  Stepper // nil: none
	passed int     // bytes since the last step
	Ended  error   // of steps
}

type fault uint8

const (
	Sound fault = iota
	malformed
	spent
	Ended
)

// BytesPerUnit is in bytes per unit of cost: CEL charges a tenth for each byte
// of a string that a function scans, so bytes of properties cost the same.
const BytesPerUnit = 10

// Begin prepares r to read p within limit units of cost. Like GeoJSON it takes
// null, and an empty text, for an object without members.
func (r *Reader) Begin(p []byte, limit uint64, steps Stepper) {
	i := skipSpace(p, 0)
	if i == len(p) || string(p[i:]) == "null" {
		p = emptyObject
	}
	*r = Reader{Props: p, left: int(limit * BytesPerUnit), Steps: steps}
}

var emptyObject = []byte("{}")

// Err returns the error of the evaluation.
func (r *Reader) Err() error {
	switch r.Fault {
	case malformed:
		return fmt.Errorf("%w: %d bytes that are no JSON object with complete members",
			ErrMalformed, len(r.Props))
	case spent:
		return ErrSpent
	case Ended:
		return r.Ended
	}
	return nil
}

// Spend counts n bytes and reports whether reading may continue.
func (r *Reader) Spend(n int) bool {
	r.left -= n
	if r.left < 0 && r.Fault == Sound {
		r.Fault = spent
	}
	return r.Step(n)
}

// Step counts n bytes only towards the next step, and reports whether the
// evaluation may continue.
func (r *Reader) Step(n int) bool {
	if r.Steps == nil || r.Fault != Sound {
		return r.Fault == Sound
	}
	if r.passed += n; r.passed >= StepBytes {
		r.passed = 0
		if r.Ended = r.Steps.Step(); r.Ended != nil {
			r.Fault = Ended
		}
	}
	return r.Fault == Sound
}

// Open returns a cursor over an object or list that scans no more than the
// budget allows: it gets one byte of the text more than that.
func (r *Reader) Open(raw []byte, bracket byte) Cursor {
	cut := len(raw) > r.left+1
	if cut {
		raw = raw[:max(r.left, 0)+1]
	}
	c, ok := open(raw, bracket)
	c.cut, c.bad = cut, !ok
	return c
}

// failed records that c did not find JSON, or that the budget ended the text.
func (r *Reader) failed(c *Cursor) {
	switch {
	case !c.bad || r.Fault != Sound:
	case c.cut:
		r.Fault = spent
	default:
		r.Fault = malformed
	}
}

// Next moves to the next member, and charges its bytes: no loop continues when the budget
// is spent.
func (r *Reader) Next(c *Cursor, object bool) bool {
	more := c.next(object)
	r.failed(c)
	from := c.counted
	c.counted = c.i
	return r.Spend(c.i-from) && more
}

// Name is the name of the current member.
func (r *Reader) Name(c *Cursor) string {
	if !c.escaped {
		return string(c.name)
	}
	s, ok := unquote(c.name)
	if !ok {
		r.Fault = max(r.Fault, malformed)
	}
	return s
}

// close counts the bytes that c scanned and reports whether they were JSON.
func (r *Reader) close(c *Cursor) bool {
	r.failed(c)
	return r.Spend(c.i)
}

// Find returns the text of a member of the object raw, nil if there is none
// or if reading failed. The first of several members of one name counts.
func (r *Reader) Find(raw []byte, name string) []byte {
	if r.Fault != Sound {
		return nil
	}
	c := r.Open(raw, '{')
	var val []byte
	for c.next(true) {
		if c.is(name) {
			val = c.Val
			break
		}
	}
	if !r.close(&c) {
		return nil
	}
	return val
}

// FindAll is find for several names of the properties in one pass. It sets
// the values in found, which has the length of names.
func (r *Reader) FindAll(names []string, found [][]byte) {
	c := r.Open(r.Props, '{')
	left := len(names)
	for left > 0 && c.next(true) {
		for i, name := range names {
			if found[i] == nil && c.is(name) {
				found[i] = c.Val
				left--
				break
			}
		}
	}
	r.close(&c)
}

// Value parses raw, and records when it is not JSON.
func (r *Reader) Value(raw []byte) Value {
	if raw == nil || r.Fault != Sound {
		return Value{}
	}
	v := parse(raw)
	if v.Kind == Missing {
		r.Fault = malformed
	}
	return v
}
