package bench

import (
	"encoding/json"
	"testing"
	"time"
)

func TestLatency(t *testing.T) {
	a, b := NewLatency(), NewLatency()
	for i := 1; i <= 1000; i++ {
		l := a
		if i%2 == 0 {
			l = b
		}
		l.Record(time.Duration(i) * time.Microsecond)
	}
	a.Merge(b)
	check := func(l *Latency) {
		t.Helper()
		if l.Count() != 1000 || l.Mean() != 500500*time.Nanosecond {
			t.Errorf("count %d, mean %v", l.Count(), l.Mean())
		}
		for q, want := range map[float64]time.Duration{
			0.5: 500 * time.Microsecond, 0.99: 990 * time.Microsecond,
			0.999: 999 * time.Microsecond,
		} {
			got := l.Quantile(q)
			if off := (got - want).Abs(); off > want/100 {
				t.Errorf("quantile %v is %v, want %v within 1 %%", q, got, want)
			}
		}
	}
	check(a)
	text, err := json.Marshal(a)
	if err != nil {
		t.Fatal(err)
	}
	var l *Latency
	if err := json.Unmarshal(text, &l); err != nil {
		t.Fatal(err)
	}
	check(l)
	l.Reset()
	if l.Count() != 0 || l.Mean() != 0 || l.Quantile(0.5) != 0 {
		t.Errorf("after Reset: %d, %v, %v", l.Count(), l.Mean(), l.Quantile(0.5))
	}
	l.Record(-1)
	l.Record(time.Hour)
	if got := l.Quantile(1); got < maxLatency || got > maxLatency+maxLatency/50 {
		t.Errorf("an hour counts as %v, want about %v", got, maxLatency)
	}
	for _, junk := range []string{`{"hdr":"anVuaw=="}`, `{"hdr":1}`} {
		if err := json.Unmarshal([]byte(junk), l); err == nil {
			t.Errorf("decoded %s", junk)
		}
	}
}

// TestDoublings: each duration is below the bound of its number and not below that of
// the one before, but for the histogram's 1 %.
func TestDoublings(t *testing.T) {
	for at, ds := range map[int][]time.Duration{
		0:  {1, 999, 1000},
		1:  {1020, 1500, 2000},
		2:  {2100, 4000},
		10: {520 * time.Microsecond, 1020 * time.Microsecond},
		26: {68 * time.Second, 100 * time.Second, time.Hour},
	} {
		l := NewLatency()
		for _, d := range ds {
			l.Record(d)
		}
		for i, n := range l.Doublings() {
			want := int64(0)
			if i == at {
				want = int64(len(ds))
			}
			if n != want {
				t.Errorf("%v: %d at %d, want %d", ds, n, i, want)
			}
		}
	}
}
