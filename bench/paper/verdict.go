package paper

// Outcome is the outcome of a claim.
type Outcome int8

// Outcomes, in this order, so that min is the outcome of several together and
// a minus negates a claim.
const (
	Fails    Outcome = -1
	TooClose Outcome = 0
	Held     Outcome = 1
)

// margin is the least difference of two values for a claim to count. Medians
// of one build on one machine differ by as much between rounds, single runs by
// more; a model is no nearer to reality.
const margin = 0.05

// under judges whether a is below b.
func under(a, b float64) Outcome {
	switch {
	case a*(1+margin) < b:
		return Held
	case a > b*(1+margin):
		return Fails
	}
	return TooClose
}

// decided is an outcome that needs no margin.
func decided(holds bool) Outcome {
	if holds {
		return Held
	}
	return Fails
}

// Verdict is the outcome of a claim, and the reason.
type Verdict struct {
	Outcome Outcome
	Why     string
}

func (v Verdict) String() string {
	switch v.Outcome {
	case Held:
		return "holds: " + v.Why
	case Fails:
		return "does not hold: " + v.Why
	}
	return "too close to tell: " + v.Why
}

// value is the outcome in files of simulated values: 1, 0.5 or 0.
func (o Outcome) value() float64 { return float64(o+1) / 2 }

// outcomeOf is the outcome of a value in such a file.
func outcomeOf(value float64) Outcome {
	switch value {
	case Held.value():
		return Held
	case Fails.value():
		return Fails
	}
	return TooClose
}
