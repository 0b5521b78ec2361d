package longer

import (
	"errors"
	"slices"
	"testing"
	"time"
)

// recorder keeps whether a test failed.
type recorder struct {
	testing.TB
	failed bool
}

func (r *recorder) Helper()               {}
func (r *recorder) Logf(string, ...any)   {}
func (r *recorder) Errorf(string, ...any) { r.failed = true }
func (r *recorder) Failed() bool          { return r.failed }

func TestMeasure(t *testing.T) {
	short := errors.New("too short")
	for name, c := range map[string]struct {
		enough time.Duration // from here on a measurement sees something
		breaks bool          // check fails the test directly
		want   []time.Duration
		fails  bool
	}{
		"at once":       {enough: 1, want: []time.Duration{1}},
		"in the end":    {enough: 4, want: []time.Duration{1, 2, 4}},
		"never":         {enough: 1 << 20, want: []time.Duration{1, 2, 4, 8, 16, 32, 64}, fails: true},
		"another fault": {enough: 4, breaks: true, want: []time.Duration{1}, fails: true},
	} {
		r := &recorder{TB: t}
		var got []time.Duration
		Measure(r, 1, func(d time.Duration) error {
			got = append(got, d)
			if c.breaks {
				r.Errorf("broken")
			}
			if d < c.enough {
				return short
			}
			return nil
		})
		if !slices.Equal(got, c.want) || r.failed != c.fails {
			t.Errorf("%s: measured for %v, failed: %v", name, got, r.failed)
		}
	}
}
