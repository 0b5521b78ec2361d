package ycsb

import "math"

// exp and log that are the same on every machine
//
// datasets/random.go says what differs between platforms: fused products,
// and math.Exp, Log and Pow, which some have in assembly. So these are here
// in +, -, *, / alone, with every product that may meet a sum within
// float64(), which forbids fusing; so are arguments and results, since calls
// are inlined. math.Frexp, Ldexp and Floor are exact and may be used.
//
// Both are power series on a reduced argument, with as many terms as leave
// an error below 2^-54; rounding leaves about four units in the last place.
//
//	log x   x = m 2^e, m in [1/sqrt 2, sqrt 2): e ln 2 + log m
//	exp x   x = k ln 2 + r, |r| <= ln 2 / 2: 2^k exp r
//
// Near 1 and 0 a Zipf law needs log(1+t)/t and (exp(t)-1)/t without
// cancellation, which the series compute directly.

// ln 2 in two parts: the first has 20 trailing zero bits, so its product with
// an exponent, of 11 bits, is exact.
const (
	ln2Hi = 6.93147180369123816490e-01
	ln2Lo = 1.90821492927058770002e-10
)

// logSeries: 1/(2i+1), of atanh(z)/z in z^2. |z| <= 0.1716, and
// 0.1716^22/23 < 2^-54.
var logSeries = [...]float64{
	1. / 21, 1. / 19, 1. / 17, 1. / 15, 1. / 13, 1. / 11, 1. / 9, 1. / 7, 1. / 5, 1. / 3, 1,
}

// expSeries: 1/(i+1)!, of (exp(t)-1)/t. |t| <= 0.3466, and 0.3466^13/14! is
// less than 2^-54.
var expSeries = [...]float64{
	1. / 6227020800, 1. / 479001600, 1. / 39916800, 1. / 3628800, 1. / 362880, 1. / 40320,
	1. / 5040, 1. / 720, 1. / 120, 1. / 24, 1. / 6, 1. / 2, 1,
}

// log1pOver returns log(1+t)/t, and 1 at 0. t > -1.
func log1pOver(t float64) float64 {
	if t < 1/math.Sqrt2-1 || t > math.Sqrt2-1 {
		return log(1+t) / t
	}
	z := t / (2 + t) // log(1+t) = 2 atanh z
	w := float64(z * z)
	sum := 0.
	for _, c := range logSeries {
		sum = float64(sum*w) + c
	}
	return float64(2 / (2 + t) * sum)
}

// log returns the natural logarithm of a finite x > 0.
func log(x float64) float64 {
	m, e := math.Frexp(x) // m in [1/2, 1)
	if m < 1/math.Sqrt2 {
		m, e = 2*m, e-1
	}
	k, t := float64(e), m-1
	return float64(k*ln2Hi) + (float64(t*log1pOver(t)) + float64(k*ln2Lo))
}

// expm1Over returns (exp(t)-1)/t, and 1 at 0.
func expm1Over(t float64) float64 {
	if t < -math.Ln2/2 || t > math.Ln2/2 {
		return (exp(t) - 1) / t
	}
	sum := 0.
	for _, c := range expSeries {
		sum = float64(sum*t) + c
	}
	return sum
}

// exp returns e^x, for |x| <= 700.
func exp(x float64) float64 {
	k := math.Floor(float64(x/math.Ln2) + 0.5)
	r := (x - float64(k*ln2Hi)) - float64(k*ln2Lo)
	// Rounding of k may leave r a trifle beyond ln 2 / 2.
	r = min(max(r, -math.Ln2/2), math.Ln2/2)
	return math.Ldexp(1+float64(r*expm1Over(r)), int(k))
}
