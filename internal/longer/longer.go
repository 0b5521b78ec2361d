// Package longer is for tests of what measures for a short time. While the
// machine does something else a measurement of 200 ms may see nothing at all,
// which says nothing about who measured; one that is long enough does.
package longer

import (
	"testing"
	"time"
)

// doublings bound how much longer the last measurement is than the first: 200 ms
// become 13 s.
const doublings = 6

// Measure has check measure for d and, as long as it returns an error, for twice as
// long as before. The last error fails the test. Only what a short measurement may
// get wrong belongs into the error: the rest is for check to report at once.
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
