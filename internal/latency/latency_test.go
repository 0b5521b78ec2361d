package latency

import (
	"encoding/json"
	"testing"
	"time"
)

func TestDistribution(t *testing.T) {
	a, b := New(), New()
	for i := 1; i <= 1000; i++ {
		l := a
		if i%2 == 0 {
			l = b
		}
		l.Record(time.Duration(i) * time.Microsecond)
	}
	a.Merge(b)
	check := func(l *Distribution) {
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
	var l *Distribution
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
	if got := l.Quantile(1); got < Max || got > Max+Max/50 {
		t.Errorf("an hour counts as %v, want about %v", got, Max)
	}
	for _, junk := range []string{`{"counts":[[99999,1]]}`, `{"counts":1}`} {
		if err := json.Unmarshal([]byte(junk), l); err == nil {
			t.Errorf("decoded %s", junk)
		}
	}
}
