package paper

import "testing"

// Values within the margin of each other decide nothing, in either order.
func TestMargin(t *testing.T) {
	for _, c := range []struct {
		a, b float64
		want Outcome
	}{
		{1, 1, TooClose}, {0.16, 0.17, Held}, {2.664, 2.665, TooClose}, {990, 1083, Held}, {1083, 990, Fails},
		{357.1, 357.2, TooClose}, {0, 1, Held}, {0, 0, TooClose},
	} {
		if got := under(c.a, c.b); got != c.want {
			t.Errorf("%v below %v: %v, want %v", c.a, c.b, got, c.want)
		}
		if got := under(c.b, c.a); got != -c.want {
			t.Errorf("%v below %v: %v, want %v", c.b, c.a, got, -c.want)
		}
	}
	for _, o := range []Outcome{Fails, TooClose, Held} {
		if got := outcomeOf(o.value()); got != o {
			t.Errorf("%v is read back as %v", o, got)
		}
	}
	if got := (Verdict{TooClose, "1 and 1"}).String(); got != "too close to tell: 1 and 1" {
		t.Error(got)
	}
}

// Each marked claim exists, and no claim has both marks.
func TestMarkedClaims(t *testing.T) {
	found := 0
	for _, c := range Claims {
		if fittedClaims[c.Name] && seenClaims[c.Name] {
			t.Errorf("%s is fitted and seen", c.Name)
		}
		if fittedClaims[c.Name] || seenClaims[c.Name] {
			found++
		}
	}
	if found != len(fittedClaims)+len(seenClaims) {
		t.Errorf("%d marked claims, want %d", found, len(fittedClaims)+len(seenClaims))
	}
}
