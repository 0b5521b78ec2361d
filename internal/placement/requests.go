package placement

import "time"

// Requests are those for the ids of each slot, as a group has counted them: one in Of.
type Requests struct {
	Over    time.Duration // the time in which they came
	Of      uint32
	Counted [Slots]uint32
}

// Sum is how many were counted.
func (r *Requests) Sum() (n uint64) {
	for _, c := range r.Counted {
		n += uint64(c)
	}
	return n
}

// Rate is how many came in a second.
func (r *Requests) Rate() float64 {
	if r.Over <= 0 {
		return 0
	}
	return float64(r.Sum()) * float64(r.Of) / r.Over.Seconds()
}
