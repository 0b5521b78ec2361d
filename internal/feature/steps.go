package feature

// Tests in steps
//
// Most tests take less than 0.1 ms, because they skip chunks that cannot
// matter. But two geometries may be made so that all their chunks meet, and
// then each edge is compared with each: 10 s for two of 65,000 positions. So
// the caller of such a test may have it divided:
//
//	MatchIn   compares | Pause | compares | Pause | compares | answer
//
// A test does all of its work by walking over paths and pieces (View.next,
// piece), and these count. After an error of Pause they return no more, so that
// all loops end, and the test's result is meaningless.

// stepUnits is how many pieces are looked at, or edges compared with those of a
// piece, between two calls of Pause: 2 us if they are skipped, up to 100 us if not.
const stepUnits = 1024

// Steps divides tests. One goroutine may use it at a time.
type Steps struct {
	// Pause is called after each 2 to 100 us of a test of large geometries, and never
	// in one of small ones; and by Step and Took. Its error ends the test, which returns
	// it.
	Pause func() error

	units int
	err   error
}

// Err returns the error of Pause that ended the last divided test.
func (s *Steps) Err() error { return s.err }

// Step calls Pause, for other work that measures its own time (filter.Stepper).
func (s *Steps) Step() error {
	s.units = 0
	s.err = s.Pause()
	return s.err
}

// Took counts other work, in units of 0.1 us.
func (s *Steps) Took(units int) error {
	s.err = nil
	s.add(units)
	return s.err
}

// count counts units, and reports whether the test continues.
func (s *Steps) count(units int) bool { return s == nil || s.add(units) }

func (s *Steps) add(units int) bool {
	if s.err != nil {
		return false
	}
	if s.units += units; s.units >= stepUnits {
		s.units = 0
		s.err = s.Pause()
	}
	return s.err == nil
}

// ended reports whether Pause has ended the test.
func (s *Steps) ended() bool { return s != nil && s.err != nil }

// small reports whether a test of v and another small View is not worth dividing.
func (v *View) small() bool { return v.nchunks == 0 && v.npaths <= chunkEdges }

// MatchIn is Match in steps; nil: in one. Tests by the library (within.go), of
// polygons that touch each other, are not divided.
func (q *Query) MatchIn(v *View, s *Steps) (bool, error) {
	if s == nil || v.small() && q.area.small() {
		return q.Match(v)
	}
	// Other goroutines may use both.
	own, view := *q, *v
	own.area.steps, view.steps = s, s
	s.units, s.err = 0, nil
	ok, err := own.Match(&view)
	if s.err != nil {
		return false, s.err
	}
	return ok, err
}

// DistanceIn is Distance in steps; nil: in one.
func (o *Origin) DistanceIn(v *View, s *Steps) (float64, error) {
	if s == nil || v.small() {
		return o.Distance(v), nil
	}
	view := *v
	view.steps = s
	s.units, s.err = 0, nil
	return o.Distance(&view), s.err
}
