package policy

import "math"

// mean is a mean with its mean deviation, of the latest values.
type mean struct {
	mean, dev float64
	n         int
}

// add takes a value; memory is how many count.
func (m *mean) add(v float64, memory int) {
	if m.n < memory {
		m.n++
	}
	d := v - m.mean
	m.mean += d / float64(m.n)
	if m.n > 1 {
		m.dev += (math.Abs(d) - m.dev) / float64(m.n)
	}
}

// deviation is about the standard deviation, if values are normal.
func (m *mean) deviation() float64 { return 1.25 * m.dev }

// uncertain is about the standard error of the mean.
func (m *mean) uncertain() float64 {
	if m.n < 2 {
		return math.Inf(1)
	}
	return m.deviation() / math.Sqrt(float64(m.n-1))
}

// finite is v clamped to 0..most, also if v is not finite.
func finite(v, most float64) float64 {
	if !(v > 0) { // Also if it is not a number.
		return 0
	}
	return min(v, most)
}
