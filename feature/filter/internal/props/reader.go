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
	Malformed
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
	case Malformed:
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
func (r *Reader) Open(raw []byte, bracket byte) (c Cursor, ok bool) {
	cut := len(raw) > r.left+1
	if cut {
		raw = raw[:max(r.left, 0)+1]
	}
	c, ok = open(raw, bracket)
	c.cut = cut
	return c, ok
}

// Failed records that c did not find JSON, or that the budget ended the text.
func (r *Reader) Failed(c *Cursor) {
	switch {
	case !c.Bad || r.Fault != Sound:
	case c.cut:
		r.Fault = spent
	default:
		r.Fault = Malformed
	}
}

// Close counts the bytes that c scanned and reports whether they were JSON.
func (r *Reader) Close(c *Cursor) bool {
	r.Failed(c)
	return r.Spend(c.I)
}

// Find returns the text of a member of the object raw, nil if there is none
// or if reading failed. The first of several members of one name counts.
func (r *Reader) Find(raw []byte, name string) []byte {
	if r.Fault != Sound {
		return nil
	}
	c, ok := r.Open(raw, '{')
	if !ok {
		r.Fault = Malformed
		return nil
	}
	var val []byte
	for c.Next(true) {
		if c.is(name) {
			val = c.Val
			break
		}
	}
	if !r.Close(&c) {
		return nil
	}
	return val
}

// FindAll is find for several names of the properties in one pass. It sets
// the values in found, which has the length of names.
func (r *Reader) FindAll(names []string, found [][]byte) {
	c, ok := r.Open(r.Props, '{')
	if !ok {
		r.Fault = Malformed
		return
	}
	left := len(names)
	for left > 0 && c.Next(true) {
		for i, name := range names {
			if found[i] == nil && c.is(name) {
				found[i] = c.Val
				left--
				break
			}
		}
	}
	r.Close(&c)
}

// Value parses raw, and records when it is not JSON.
func (r *Reader) Value(raw []byte) Value {
	if raw == nil || r.Fault != Sound {
		return Value{}
	}
	v := parse(raw)
	if v.Kind == Missing {
		r.Fault = Malformed
	}
	return v
}
