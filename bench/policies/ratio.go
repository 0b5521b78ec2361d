package policies

import "math"

// Ratio is a geometric mean of ratios.
type Ratio struct {
	Times float64 // the mean; 0: no ratios
	Err   float64 // its standard error; only if N is 2 or more
	N     int     // ratios, or lines of the table
}

// meanOf is the geometric mean of ratios, with the standard error of their
// scatter.
func meanOf(ratios []float64) Ratio {
	n := len(ratios)
	if n == 0 {
		return Ratio{}
	}
	sum := 0.0
	for _, r := range ratios {
		sum += math.Log(r)
	}
	mean := sum / float64(n)
	r := Ratio{Times: math.Exp(mean), N: n}
	if n > 1 {
		squares := 0.0
		for _, x := range ratios {
			d := math.Log(x) - mean
			squares += d * d
		}
		r.Err = r.Times * math.Sqrt(squares/float64(n-1)/float64(n))
	}
	return r
}

// meanOfLines is the geometric mean over lines of the table, with the sum of
// their errors. A line of one ratio has none: a simulation with one seed
// counts as exact.
func meanOfLines(lines []Ratio) Ratio {
	sum, squares := 0.0, 0.0
	for _, l := range lines {
		sum += math.Log(l.Times)
		squares += (l.Err / l.Times) * (l.Err / l.Times)
	}
	n := float64(len(lines))
	if n == 0 {
		return Ratio{}
	}
	times := math.Exp(sum / n)
	return Ratio{Times: times, Err: times * math.Sqrt(squares) / n, N: len(lines)}
}

// Differs reports whether the ratio is further from 1 than twice its standard
// error, on the scale of logarithms on which both were taken.
func (r Ratio) Differs() bool {
	return r.N > 1 && math.Abs(math.Log(r.Times)) > 2*r.Err/r.Times
}
