package policy

import (
	"math"
)

// costMean is a mean with its mean deviation, of the latest values.
type costMean struct {
	mean, dev float64
	n         int
}

func (m *costMean) add(v float64, memory int) {
	if m.n < memory {
		m.n++
	}
	d := v - m.mean
	m.mean += d / float64(m.n)
	if m.n > 1 {
		m.dev += (math.Abs(d) - m.dev) / float64(m.n)
	}
}

// uncertain is about the standard error of the mean.
func (m *costMean) uncertain() float64 {
	if m.n < 2 {
		return math.Inf(1)
	}
	return m.dev / math.Sqrt(float64(m.n-1))
}

// costWay is what a client knows of one way.
type costWay struct {
	took costMean // ns, ln
	last int64    // when it was told last
}

// random is the next of splitmix64 (Steele, Lea, Flood, OOPSLA 2014).
func (c *cost) random() uint64 {
	c.dice += 0x9e3779b97f4a7c15
	return costMix(c.dice)
}

func costMix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xbf58476d1ce4e5b9
	z = (z ^ z>>27) * 0x94d049bb133111eb
	return z ^ z>>31
}

// costLn is the logarithm of v, 1 or more, within 0.06 and rising: its
// binary one is taken as straight between powers of two. Latencies that
// differ by less are alike anyhow, and a true one takes as long as all the
// rest of a decision.
func costLn(v float64) float64 {
	b := math.Float64bits(v)
	return float64(int64(b)-1023<<52) * (math.Ln2 / (1 << 52))
}

// costInput makes a number of somebody else's finite, within 0 and most.
func costInput(v, most float64) float64 {
	if !(v > 0) { // Also if it is none.
		return 0
	}
	return min(v, most)
}
