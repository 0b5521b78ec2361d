// Package longer is for tests of short measurements. On a busy machine a
// measurement of 200 ms may see nothing at all, which says nothing about the
// measuring code; one that is long enough does.
package longer

import (
	"testing"
	"time"
)

// doublings bound how much longer the last measurement is than the first: 200 ms
// become 13 s.
const doublings = 6

// Measure lets check measure for d and, while it returns an error, for twice
// the previous time. The last error fails the test. check returns only errors
// that a short measurement may cause, and reports others at once.
func Measure(t testing.TB, d time.Duration, check func(d time.Duration) error) {
	t.Helper()
	for n := 0; ; n++ {
		err := check(d << n)
		switch {
		case err == nil || t.Failed():
			return
		case n == doublings:
			t.Errorf("measured for %v: %v", d<<n, err)
			return
		}
		t.Logf("measured for %v, and now for longer: %v", d<<n, err)
	}
}
